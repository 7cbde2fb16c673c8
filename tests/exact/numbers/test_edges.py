"""Edges of the arithmetic that a sample of mistakes showed to be untested."""

import pytest
from flint import arb

from workings import exact
from workings.exact.numbers.algebra import power
from workings.exact.numbers.ball import _power
from workings.exact.numbers.value import ONE, rational


@pytest.mark.parametrize("radius", [0.5, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_powers_of_a_ball_around_0_hold_all_powers_and_little_else(radius, n):
    ball = _power(arb(0, radius), n)
    assert ball.contains(radius**n) and ball.contains((-radius) ** n) and ball.contains(0)
    assert abs(ball).upper() < radius**n * 1.0001


def test_roots_are_taken_apart_around_small_numbers():
    # (1/2 + √2/2)² = 1/4 + 1/2 + √2/2
    assert exact.equal(exact("sqrt(3/4 + sqrt(2)/2)"), exact("1/2 + sqrt(2)/2"))
    assert exact("sqrt(3/4 + sqrt(2)/2)").text() == exact("1/2 + sqrt(2)/2").text()


def test_powers_of_one_are_worked_out_whatever_the_exponent():
    assert power(ONE, 10**15) is ONE
    assert power(rational(-1), 10**15) is ONE and power(rational(-1), 10**15 + 1) is rational(-1)
