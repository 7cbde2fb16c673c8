"""Edges of the arithmetic: powers of balls around 0, roots near 0, functions with another number of arguments."""

from fractions import Fraction

import pytest
from flint import arb

from workings import exact
from workings.errors import WorkingsError
from workings.exact.numbers.algebra import power
from workings.exact.numbers.ball import _power
from workings.exact.numbers.digits import round_fraction
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


@pytest.mark.parametrize("name", "atan2 bessel_i bessel_j bessel_k bessel_y gamma_lower pow zeta".split())
def test_functions_of_two_numbers_take_two(name):
    assert exact(f"{name}(2, 3)").item() > -1
    for given in ("2", "2, 3, 4"):
        with pytest.raises(WorkingsError, match=rf"^{name} takes 2 arguments, found {given.count(',') + 1}\."):
            exact(f"{name}({given})")


@pytest.mark.parametrize("name", "cosh digamma erf log sin tanh".split())
def test_functions_of_one_number_take_one(name):
    assert exact(f"{name}(2)").item() > -1
    with pytest.raises(WorkingsError, match=rf"^{name} takes 1 argument, found 2\."):
        exact(f"{name}(2, 3)")


@pytest.mark.parametrize(
    ("x", "digits", "text"),
    [
        (0, 3, "0"), (-1, 3, "-1"), (1, 1, "1"), (Fraction(1, 2), 1, "0.5"), (Fraction(5, 2), 1, "2"),
        (Fraction(7, 2), 1, "4"),
        (Fraction(-2, 3), 4, "-0.6667"), (Fraction(999, 10), 2, "100"), (Fraction(1, 3), 2, "0.33"), (12345, 3, "12300"),
    ],
)  # fmt: skip
def test_digits(x, digits, text):
    assert round_fraction(Fraction(x), digits) == text
