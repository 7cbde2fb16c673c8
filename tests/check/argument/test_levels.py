"""How sure a finding is: by judged findings, by what supports it, and by what the whole document shows of its notation."""

import pytest

from tests.check.said import report
from workings.check.argument import levels
from workings.check.argument.levels import ENOUGH, NEEDED, cautious_level, interval, judged, measured_level
from workings.check.argument.notation import features
from workings.check.argument.support import support_text, supports_in
from workings.check.document.finding import LEVELS
from workings.check.latex.parse import parse


def test_levels_are_what_judged_findings_earned():
    for (basis, kind, support), (count, real) in judged().items():
        assert 0 <= real <= count
        if count >= ENOUGH:
            level = measured_level(kind, basis, supports_in(support))
            assert level == "possible" or interval(real, count)[1] >= NEEDED[level]


@pytest.mark.parametrize(
    "rows, level",
    [
        ({("closed", "number", "usual"): (200, 200)}, "error"),  # proved
        ({("closed", "number", "usual"): (30, 30)}, "likely"),  # not enough to prove 97 %
        ({("closed", "number", "usual"): (30, 27)}, "likely"),
        ({("closed", "number", "usual"): (30, 20)}, "note"),  # 85 % is contradicted
        ({("closed", "number", "usual"): (30, 8)}, "possible"),
        ({("closed", "number", "usual"): (10, 2)}, "likely"),  # too few: what is expected
        ({("closed", "number", "usual"): (19, 19), ("closed", "rounding", "usual"): (10, 0)}, "likely"),  # another kind
        ({("letters", "number", "usual"): (30, 10)}, "likely"),  # another basis
        ({("closed", "number", "slip"): (30, 10)}, "likely"),  # another support
    ],
)
def test_a_class_earns_its_level(monkeypatch, rows, level):
    monkeypatch.setattr(levels, "judged", lambda: rows)
    assert measured_level("number", "closed", {"usual"}) == level


def test_the_less_sure_level_counts():
    assert cautious_level("note", "number", "closed", {"arithmetic"}) == "note"
    assert LEVELS.index(cautious_level("error", "number", "an equation alone", {"slip"})) > LEVELS.index("likely")


def test_supports_come_back_as_they_went():
    assert support_text(supports_in("arithmetic, slip, document")) == "arithmetic, slip, document"
    assert supports_in(support_text(set())) == set()


@pytest.mark.parametrize(
    "text, found",
    [
        (r"2 + 3 \cdot (4 - 1)^2 - \sqrt{\frac{1}{2}} 10\%", {"something beside something"}),
        (r"-4^{-2} + (-1)^3", set()),
        (r"(1) + (2)", {"a number alone in brackets"}),
        (r"3 \cdot (4)", set()),
        (r"3(4)", {"a number beside a bracket"}),
        (r"[3] + [4]", {"[ ]"}),
        (r"\sum_{k=1}^{3} k", {"operator ∑"}),
        (r"\int_0^1 x \mathrm{d}x", {"operator ∫", "something beside something"}),
        (r"a_1 + B", {"letters", "an index", "capitals"}),
        (r"x^2", {"letters", "a power of a letter"}),
        (r"e^{-2}", {"e as a number"}),
        (r"5 \text{ km}", {"units", "words", "a number beside something"}),
        (r"\log 8", {"function log"}),
    ],
)
def test_the_notation_of_a_formula(text, found):
    assert features(parse(text)) == found


def supports(text: str) -> list[tuple[str, str]]:
    """The level and the support of each finding."""
    return [(found.level, found.support) for found in report(text).findings]


def test_numbers_alone_need_nothing():
    assert supports("$12 \\cdot 13 = 150$") == [("error", "arithmetic")]
    assert supports("$12 \\cdot 13 = 165$") == [("error", "arithmetic, slip")]
    assert supports("$12 \\cdot 13 = 150 = 156$") == [("error", "arithmetic, chain")]


def test_other_notation_is_confirmed_by_claims_that_are_right():
    wrong = "$[7] + [9] = [12]$"
    assert supports(wrong) == [("note", "")]
    assert supports(f"{wrong} and $[12] + [13] = [25]$") == [("likely", "notation")]
    assert supports(f"{wrong} and $[1] + [1] = [2]$") == [("note", "")]  # which may be an accident


def test_notation_that_is_wrong_again_and_again_is_not_understood():
    right = "$[12] + [13] = [25]$ and $[14] + [15] = [29]$."
    assert supports(f"{right} Then $[3] + [4] = [2]$.") == [("likely", "notation")]
    assert supports(f"{right} Then $[3] + [4] = [2]$ and $[4] + [4] = [3]$.") == [("note", "notation")] * 2


def test_what_looks_like_arithmetic_and_is_none():
    assert [level for level, _ in supports("$1 + 1 = 1$")] == ["note"]
    assert [level for level, _ in supports("This gives $1 = 3$.")] == ["note"]
    assert [level for level, _ in supports("$(1) + (2) = 0.125$")] == ["note"]


def test_a_document_full_of_errors_is_misread_but_for_plain_arithmetic():
    rows = [rf"$\log {n} = 7$" for n in (11, 12, 13, 14)]
    assert [level for level, _ in supports(rows[0])] == ["likely"]
    assert [level for level, _ in supports("\n\n".join(rows))] == ["note"] * 4
    assert [level for level, _ in supports("\n\n".join([*rows, "$11 + 12 = 27$"]))] == ["note"] * 4 + ["error"]
