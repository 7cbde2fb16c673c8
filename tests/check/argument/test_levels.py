"""How sure a finding is: by judged findings, by what supports it, and by what the whole document shows of its notation."""

import pytest

from tests.check.said import report
from tools.calibrate import fit, learnable, rows
from workings.check.argument import levels
from workings.check.argument.levels import NEEDED, cautious_level, log_odds, measured_level, weights
from workings.check.argument.notation import features, form
from workings.check.argument.printed import digits
from workings.check.argument.support import support_text, supports_in
from workings.check.document.finding import LEVELS
from workings.check.latex.parse import parse

TABLE = {
    "intercept": -1.0,
    "kind": {"number": 0.5},
    "basis": {"closed": 1.0, "letters": -3.0},
    "support": {"slip": 1.5, "notation": 0.25},
    "numbers": {"slip": 0.5},
    "letters": {"slip": -0.5},
}


@pytest.mark.parametrize(
    "kind, basis, support, odds, level",
    [
        ("number", "closed", {"slip"}, 2.5, "error"),  # p = 0.92
        ("number", "closed", {"notation"}, 0.75, "likely"),
        ("number", "closed", set(), 0.5, "likely"),
        ("matrix", "identity", set(), -1.0, "note"),  # a kind and a basis that nobody judged are average ones
        ("number", "letters", set(), -3.5, "possible"),
        ("number", "letters", {"slip"}, -2.5, "note"),  # a slip weighs less between letters
        ("number", "course", set(), -0.5, "error"),  # rules that know their notation say themselves how sure they are
        ("number", "an equation alone", {"slip"}, 0.5, "possible"),  # it may be no claim at all
    ],
)
def test_a_finding_earns_its_level(monkeypatch, kind, basis, support, odds, level):
    monkeypatch.setattr(levels, "weights", lambda: TABLE)
    assert log_odds(kind, basis, support) == odds
    assert measured_level(kind, basis, support) == level


def test_the_levels_go_down():
    assert list(NEEDED) == list(LEVELS[:3]) and sorted(NEEDED.values(), reverse=True) == list(NEEDED.values())


def test_the_weights_are_those_of_judged_findings():
    judged = learnable(rows())
    learnt = fit(judged)
    assert weights()["judged"] == len(judged)
    for row in judged:
        if not row.is_old:
            assert log_odds(row.kind, row.basis, row.supports) == pytest.approx(learnt.score(row), abs=0.2)


def test_what_explains_a_finding_weighs():
    for basis in ("closed", "identity", "letters"):
        assert log_odds("number", basis, {"slip"}) > log_odds("number", basis) + 0.5
    assert log_odds("number", "closed", {"arithmetic"}) > log_odds("number", "letters", {"usual"}) + 1


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


@pytest.mark.parametrize("text, count", [("0.0250", 3), ("1200", 2), ("7", 1), ("-3.14", 3), ("x", 0), ("(1, 2, 30)", 3)])
def test_digits_that_matter(text, count):
    assert digits(parse(text)) == count


@pytest.mark.parametrize(
    "one, other, same",
    [
        (r"1 - 0.9^3 / 2", r"1 - 0.75^2 / 5", True),
        (r"\sum_{i=0}^{10} \frac{\lambda_2^i}{i!}", r"\sum_{i=0}^{10} \frac{\lambda_3^i}{i!}", True),
        (r"1 - 0.9^3 / 2", r"1 + 0.75^2 / 5", False),
        (r"3 \cdot (4 + 1)", r"3 \cdot (4 - 1)", False),
    ],
)
def test_the_form_of_a_calculation(one, other, same):
    assert (form(parse(one)) == form(parse(other))) is same


@pytest.mark.parametrize(
    "text, support",
    [
        (r"$12 \cdot 13 = 151$", "computed"),
        (r"$12 \cdot 13 = 150$", "near"),
        (r"$12.5 \cdot 13.5 = 18$. The area is $A = 168.75$.", "elsewhere"),
        (r"So $12 \cdot 13 = 150$.", "concluded"),
        (r"$1 - 0.9^3 / 2 = 0.6355$ and $1 - 0.75^2 / 5 = 0.6$", "form"),
        (r"Given $n = 40$, we have $3n = 150$.", "fixed"),
    ],
)
def test_reasons_to_believe_a_finding(text, support):
    [found] = report(text).findings
    assert support in supports_in(found.support)


@pytest.mark.parametrize(
    "text, support",
    [
        (r"$12 \cdot 13 = 1200$", "computed"),
        (r"$12 \cdot 13 = 70$", "near"),
        (r"$2 \cdot 3 = 18$. The area is $A = 6.00$.", "elsewhere"),  # small whole numbers are everywhere
        (r"$12 \cdot 13 = 150$", "concluded"),
        (r"$1 - 0.9^3 / 2 = 0.6$ and $1 - 0.75^2 / 5 = 0.6$", "form"),  # neither is right
        (r"Given $n = 40$, we have $3n = 150$; $\sum_{n=1}^3 n = 6$.", "fixed"),
        (r"$12 \cdot 13 = 150$", "fixed"),
    ],
)
def test_no_reasons_to_believe_a_finding(text, support):
    assert all(support not in supports_in(found.support) for found in report(text).findings)


def test_numbers_alone_need_nothing():
    assert supports("$12 \\cdot 13 = 20$") == [("likely", "arithmetic")]
    assert supports("$12 \\cdot 13 = 150$") == [("error", "arithmetic, near")]
    assert supports("$12 \\cdot 13 = 165$") == [("error", "arithmetic, slip, computed, near")]
    assert supports("$12 \\cdot 13 = 150 = 156$") == [("error", "arithmetic, chain, near")]


def test_other_notation_is_confirmed_by_claims_that_are_right():
    wrong = "$[7] + [9] = [12]$"
    assert supports(wrong) == [("note", "")]
    assert supports(f"{wrong} and $[12] + [13] = [25]$") == [("note", "form, notation")]
    assert supports(f"{wrong} and $[1] + [1] = [2]$") == [("note", "")]  # which may be an accident


def test_notation_that_is_wrong_again_and_again_is_not_understood():
    right = "$[12] + [13] = [25]$ and $[14] + [15] = [29]$."
    assert supports(f"{right} Also $[3] + [4] = [2]$.") == [("likely", "concluded, form, notation")]
    doubted = [("note", "concluded, form, notation, contradicted")] * 2
    assert supports(f"{right} Also $[3] + [4] = [2]$ and $[4] + [4] = [3]$.") == doubted


def test_what_looks_like_arithmetic_and_is_none():
    assert [level for level, _ in supports("$1 + 1 = 1$")] == ["note"]
    assert [level for level, _ in supports("This gives $1 = 3$.")] == ["note"]
    assert [level for level, _ in supports("$(1) + (2) = 0.125$")] == ["note"]


def test_a_document_full_of_errors_is_misread_but_for_plain_arithmetic():
    rows = [rf"$\log {n} = 7$" for n in (11, 12, 13, 14)]
    assert supports(rows[0]) == [("note", "usual")]
    assert supports("\n\n".join(rows)) == [("note", "usual, contradicted")] * 4
    assert supports("\n\n".join([*rows, "$11 + 12 = 27$"]))[4] == ("error", "arithmetic, near")
