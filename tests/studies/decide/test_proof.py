"""Claims by exact arithmetic, closed forms, certified intervals and signs."""

from math import nan, pi, sqrt

import pytest
from flint import acb, arb

from workings import exact
from workings.studies.claim import Bounds, Verdict
from workings.studies.decide.certified import certified, ends, integral, normal_mean
from workings.studies.decide.proof import agrees, compared, equal, proved
from workings.studies.decide.trials import most_trials


def test_exact_tensors_are_compared_by_proof():
    assert equal("a", exact("sqrt(8)"), 2 * exact("sqrt(2)")).verdict is Verdict.HOLDS
    assert equal("a", exact("sqrt(8)"), exact("2.8284271247461903")).verdict is Verdict.FAILS
    different = equal("a", exact("1 2"), exact("1 2 3"))
    assert different.verdict is Verdict.FAILS and different.evidence == "sizes [2] and [3] differ"


def test_what_is_not_known_is_undecided():
    assert proved("a", None, "").verdict is Verdict.UNDECIDED


def test_numbers_against_bounds():
    assert compared("a", 2.0, Bounds(low=2)).verdict is Verdict.HOLDS
    assert compared("a", 1.999, Bounds(low=2)).verdict is Verdict.FAILS
    assert compared("a", nan, Bounds(low=2)).verdict is Verdict.FAILS
    assert agrees("a", 0.1 + 0.2, 0.3, 1e-15).verdict is Verdict.HOLDS
    assert agrees("a", nan, 0.3, 1).verdict is Verdict.FAILS


def test_integrals_hold_their_values():
    low, high = ends(integral(lambda x: x.sin(), 0, pi))
    assert low <= 2 <= high + 1e-15 and high - low < 1e-12
    low, high = ends(normal_mean(lambda x: (-x * x).exp(), 0.5))  # E exp(−γ²) = 1/√(1 + 2·½)
    assert low <= 1 / sqrt(2) <= high and high - low < 1e-12
    low, high = ends(normal_mean(lambda x: acb(1), 2.0, above=1.0))
    assert low <= 1 <= high


def test_a_ball_across_the_bound_is_undecided():
    assert certified("a", arb("1 +/- 0.5"), Bounds(low=1)).verdict is Verdict.UNDECIDED
    assert certified("a", arb("nan"), Bounds(low=1)).verdict is Verdict.UNDECIDED
    assert certified("a", arb("0.4 +/- 0.1"), Bounds(low=1)).verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("signs", "verdict"),
    [
        ("+++++++", "holds"),
        ("++++++", "undecided"),
        ("++++++-", "undecided"),
        ("-------", "fails"),
        ("+++++++++-", "undecided"),
        ("++++++++++-", "holds"),
    ],
)
def test_signs(signs, verdict):
    # 7 of 7 by chance: 1/128 < 0.01; 6 of 6: 1/64; 9 of 10: 11/1024 > 0.01; 10 of 11: 12/2048 < 0.01
    assert most_trials("a", [1.0 if sign == "+" else -1.0 for sign in signs]).verdict == verdict
