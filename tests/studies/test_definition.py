"""What registers as a study, and what is refused, in full words."""

import re
from typing import Annotated, Literal

import pytest

from workings.errors import WorkingsError
from workings.studies import Part, Range, Seed, Study, proved, run, study
from workings.studies.claim import Verdict

Whole = Annotated[int, Range(1, 9, "a digit")]


def _refused(function, message):
    with pytest.raises(WorkingsError, match=re.escape(message)):
        study()(function)


def test_a_study_needs_a_way_to_be_broken():
    def no_seed(broken: Literal["", "x"] = "") -> list[Part]:
        """About nothing."""

    def no_broken(seed: Seed = 0) -> list[Part]:
        """About nothing."""

    def no_way(seed: Seed = 0, broken: Literal[""] = "") -> list[Part]:
        """About nothing."""
        return [proved("a", not broken, "")]

    def broken_from_the_start(seed: Seed = 0, broken: Literal["", "x"] = "x") -> list[Part]:
        """About nothing."""
        return [proved("a", not broken, "")]

    def looks_away(seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About nothing."""
        return [proved("a", True, "")]

    _refused(no_seed, "A study has the parameters seed and broken; no_seed has no seed.")
    _refused(no_broken, "A study has the parameters seed and broken; no_broken has no broken.")
    _refused(no_way, "A study needs a way to be broken, in which its claims fail, such as")
    _refused(
        broken_from_the_start, 'A study is whole unless it is told otherwise: write broken = "" in broken_from_the_start.'
    )
    _refused(looks_away, "looks_away never looks at its parameter broken, so that breaking it would change nothing.")


def test_what_a_study_says_and_takes():
    def silent(seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        return [proved("a", not broken, "")]

    def endless(n: int = 3, seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About a number without a range."""
        return [proved("a", not broken, "")]

    def odd(n: list[int] = [1], seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:  # noqa: B006
        """About a list."""
        return [proved("a", not broken, "")]

    def needy(n: Whole, seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About a number without a default."""
        return [proved("a", not broken, "")]

    _refused(silent, "A study says what it is about: silent has no docstring.")
    _refused(
        endless,
        "A number needs a range, with the reason for it: write `n: Annotated[int, Range(low, high, why)]` in endless.",
    )
    _refused(odd, "A parameter is one of int, float, bool, str or a Literal of texts; n of odd is list[int].")
    _refused(needy, "Every parameter of a study has a type and a default; n of needy has not a default.")


@study(rows=("A1",), thorough={"n": 9})
def _squares(
    n: Whole = 3, even: bool = False, seed: Seed = 0, broken: Literal["", "cubes", "nothing at all"] = ""
) -> list[Part]:
    """Squares are squares.

    And more.
    """
    power = 3 if broken == "cubes" else 2
    return [proved("n times n is n squared", n * n == n**power, f"{n * n} and {n**power}"), proved("1 = 1", True, "")]


def test_values_out_of_range_get_the_range_and_why():
    with pytest.raises(WorkingsError, match=r"^n goes from 1 to 9: a digit; got 12\.$"):
        run(_squares, {"n": 12})
    with pytest.raises(WorkingsError, match=r"^n is a whole number; got 2\.5\.$"):
        run(_squares, {"n": 2.5})
    with pytest.raises(WorkingsError, match=r"^even is true or false; got 1\.$"):
        run(_squares, {"even": 1})
    with pytest.raises(WorkingsError, match=r"^broken is one of '', 'cubes', 'nothing at all'; got 'all'\.$"):
        run(_squares, {"broken": "all"})
    with pytest.raises(WorkingsError, match=r"^The study has no parameter 'm'\. It has: n, even, seed, broken\.$"):
        run(_squares, {"m": 1})


def test_a_claim_that_no_control_breaks_is_undecided():
    result = run(_squares)
    assert [claim.verdict for claim in result.claims] == [Verdict.HOLDS, Verdict.UNDECIDED]
    assert result.failing_controls(result.claims[0]) == ["cubes"]
    assert result.claims[1].evidence.endswith("but it does not fail in any control")
    assert result.verdict is Verdict.UNDECIDED


def test_without_controls_nothing_is_said_of_them():
    result = run(_squares, controls=False)
    assert result.controls == () and result.verdict is Verdict.HOLDS
    assert "its negative control was not run" in result.text()


def test_what_a_study_is_called_and_carries():
    assert isinstance(_squares, Study)
    assert (_squares.name, _squares.title, _squares.about) == ("-squares", "Squares are squares", "And more.")
    assert _squares.controls == ("cubes", "nothing at all")
    result = run(_squares, {"seed": 7}, thorough=True)
    assert result.settings == {"n": 9, "even": False, "seed": 7, "broken": ""}
    assert {*result.versions} == {"workings", "python", "torch", "numpy"} and re.fullmatch("[0-9a-f]{64}", result.code)


def test_what_a_study_returns():
    @study()
    def wordy(seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About words."""
        return ["words", broken]  # type: ignore[list-item]

    @study()
    def mute(seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About nothing."""
        return [] if broken else list(range(0))

    @study()
    def twice(seed: Seed = 0, broken: Literal["", "x"] = "") -> list[Part]:
        """About the same."""
        return [proved("a", not broken, "")] * 2

    for made, message in (
        (wordy, "wordy returned a str."),
        (mute, "A study makes a claim; mute returned none."),
        (twice, "Each claim of a study has a sentence of its own; twice has one twice."),
    ):
        with pytest.raises(WorkingsError, match=re.escape(message)):
            run(made)
