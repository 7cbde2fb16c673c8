"""Certified numbers."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import mpmath
import pytest
import torch
from flint import fmpq
from hypothesis import given

from workings import exact
from workings.errors import BudgetError, DomainError
from workings.exact.numbers.rounding import decimals, to_float
from workings.exact.numbers.value import rational
from workings.exact.reading.parse import parse


@pytest.mark.parametrize(
    ("text", "digits", "expected"),
    [
        ("1/3", 4, "0.3333"),
        ("2/3", 4, "0.6667"),
        ("1/8", 6, "0.125"),
        ("0", 6, "0"),
        ("-5/2", 6, "-2.5"),
        ("1000000", 3, "1000000"),
        ("123456789", 4, "123500000"),
        ("sqrt(2)", 30, "1.41421356237309504880168872421"),
        ("e^(-40)", 5, "4.2484e-18"),
        ("10^20 + 1/3", 25, "100000000000000000000.3333"),
        ("999999.5", 6, "1000000"),
        ("pi - 3.14159265358979", 3, "3.24e-15"),
        ("inf", 6, "∞"),
    ],
)
def test_decimals(text, digits, expected):
    assert decimals(parse(text), digits) == expected


@given(st.fractions(), st.integers(1, 40))
def test_decimals_of_rationals_are_within_half_a_unit(q, digits):
    shown = Fraction(decimals(rational(fmpq(q.numerator, q.denominator)), digits))
    if q == 0:
        assert shown == 0
    else:
        unit = Fraction(10) ** (math.floor(mpmath.log10(abs(mpmath.mpf(q.numerator)) / q.denominator)) + 1 - digits)
        assert abs(shown - q) <= unit


@given(st.fractions())
def test_floats_of_rationals_are_the_nearest(q):
    assert to_float(rational(fmpq(q.numerator, q.denominator))) == q.numerator / q.denominator


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_floats_of_roots_are_the_nearest(p, q):
    found = to_float(parse(f"sqrt({p}/{q})"))
    with mpmath.workprec(200):
        assert found == float(mpmath.sqrt(mpmath.mpf(p) / q))


def test_extremes_as_floats():
    assert to_float(parse("e^1000")) == math.inf
    assert to_float(parse("-e^1000")) == -math.inf
    assert to_float(parse("e^(-1000)")) == 0.0
    assert to_float(parse("e^(-740)")) == math.exp(-740)


UNPROVED = ("sin(2)", "2*sin(1)*cos(1)")
"""Equal numbers that no identity here proves equal."""


def unproved_zero():
    a, b = UNPROVED
    return exact(a) - exact(b)


def test_the_floor_of_a_large_unproved_integer():
    one = 1 + unproved_zero()
    assert torch.floor(exact("1e30") * one).text() == "1" + 30 * "0"
    with pytest.raises(BudgetError, match="The nearest integer of a formula of 3 nodes cannot be certified"):
        torch.floor(exact("e^e^30"))


def test_thousands_of_digits():
    with mpmath.workdps(5020):
        pi = str(int(mpmath.floor(mpmath.pi * mpmath.mpf(10) ** 4000)))
    assert exact("pi").decimals(5000)[:4002].replace(".", "") == pi
    assert exact("1/3").decimals(6000) == "0." + 6000 * "3"
    x = exact("7^8000")  # of 6,761 digits
    assert x.decimals(6761)[-10:] == f"{7**8000 % 10**10:010}"
    assert exact.equal(exact.from_json(x.to_json()), x)


@pytest.mark.parametrize("digits", [0, -1])
def test_no_digits_are_refused(digits):
    with pytest.raises(DomainError, match=f"at least 1 significant digit; {digits} were asked for"):
        exact("pi").decimals(digits)


def test_decimals_of_a_chaotic_sequence():
    x = exact("1/3")
    for _ in range(400):
        x = exact("37/10") * x * (1 - x)
    assert x.decimals() == "0.808839"


@pytest.mark.parametrize(
    ("number", "digits", "written"),
    [
        ("10^(10^6)", 5, "1.0000e1000000"),
        ("1 − 10^(10^6)", 3, "-1.00e1000000"),
        ("1/(10^(10^6) + 1)", 3, "1.00e-1000000"),
        ("99999999999 * 10^(10^6)", 5, "1.0000e1000011"),
        ("1.5 * 10^(10^6)", 1, "2e1000000"),
        ("2.5 * 10^(10^6)", 1, "2e1000000"),
        ("-2^(10^6)", 6, "-9.90066e301029"),
    ],
)
def test_decimals_next_to_a_power_of_ten_and_halfway_between_two(number, digits, written):
    assert exact(number).decimals(digits) == written


def test_what_is_too_small_for_decimals_says_so():
    with pytest.raises(BudgetError, match="4 digits of a formula of 5 nodes cannot be certified"):
        exact("exp(-exp(exp(10)))").decimals(4)
    assert exact("exp(-exp(exp(10)))").float64() == 0
