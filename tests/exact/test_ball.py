"""Certified numbers."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import mpmath
import pytest
from flint import fmpq
from hypothesis import given

from workings import exact
from workings.errors import WorkingsError
from workings.exact.numbers.rounding import decimals, to_float
from workings.exact.numbers.sign import sign
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


def test_cancellation_is_seen_through():
    # e^(10^-30) − 1 = 10^-30 + …: hundreds of bits cancel, the digits are right all the same.
    assert decimals(parse("e^(10^(-30)) - 1"), 5) == "1.0000e-30"
    assert sign(parse("e^(10^(-300)) - 1 - 10^(-300)")) == 1


def test_extremes_as_floats():
    assert to_float(parse("e^1000")) == math.inf
    assert to_float(parse("-e^1000")) == -math.inf
    assert to_float(parse("e^(-1000)")) == 0.0
    assert to_float(parse("e^(-740)")) == math.exp(-740)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_a_power_of_letters_that_cancel_at_their_sample_values(k):
    # 1/3 has no exact ball, so w − v is a ball around 0, and FLINT has no powers of such a one
    v, w = exact.symbols(v="1/3", w="1/3")
    assert (1 + (w - v) ** k).float64().item() == 1
    assert (2 + (w - v) ** k).decimals() == "2.00000"
    assert (3 + ((w - v) ** 2 + (w - v) ** 4).sqrt()).decimals() == "3.00000"


def test_a_negative_power_of_letters_that_cancel_has_no_value():
    v, w = exact.symbols(v="1/3", w="1/3")
    with pytest.raises(WorkingsError, match=r"v = 1/3, w = 1/3\. Give other sample values"):
        (1 + 1 / (w - v)).decimals()
