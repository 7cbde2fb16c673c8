"""Values as integers, doubles and decimals, rounded correctly: enclosures are refined until both ends agree."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, fmpq

from workings.errors import DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.ball import FIRST_BITS, enclosure, exponent_of, precision
from workings.exact.numbers.digits import fraction, round_fraction
from workings.exact.numbers.proof import rational_value
from workings.exact.numbers.refine import LAST_BITS, certification_error, refinements
from workings.exact.numbers.sign import compare, sign
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import ZERO, Rational, Value, rational

_LONGEST_INTEGER = 2**24
"""The bits of the longest integer that a number is rounded to."""


def _nearest_integer(v: Value) -> int:
    """The integer nearest to `v`, or next to the nearest."""
    ball = enclosure(v, LAST_BITS)
    if ball.is_finite() and LAST_BITS < exponent_of(ball) + 64 <= _LONGEST_INTEGER:
        ball = enclosure(v, exponent_of(ball) + 64)
    if not ball.rad() < 1:
        raise certification_error(v, "The nearest integer")
    return round(fraction(ball))


def floor_of(x: Value) -> int:
    """⌊x⌋"""
    if x.kind == "q":
        q = x.args[0]
        return q if type(q) is int else int(q.floor())
    bits = 128
    while True:
        found = enclosure(x, bits).floor().unique_fmpz()
        if found is not None:
            n = int(found)
            if x.free:
                sign(x - rational(n)), sign(x - rational(n + 1))  # notes what the sample values decided
            return n
        if bits >= LAST_BITS:
            n = _nearest_integer(x)
            return n if compare(x, rational(n)) >= 0 else n - 1
        bits *= 4


def to_float(v: Value) -> float:
    """The nearest double (the enclosure is refined until it is tighter than a double's spacing)."""
    if v.kind == "q":
        return _rational_to_float(v.args[0])
    if v.special:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[v.kind]
    for ball in refinements(v):
        if ball.is_finite() and ball.rel_accuracy_bits() >= 60:
            return float(ball.mid())
        if abs(ball) < _TINY:
            return 0.0
    return _float_of_form(v)


def _float_of_form(v: Value) -> float:
    """A long rational; e^x where x itself is beyond every double; 0 where that is proved, or assumed and noted."""
    q = rational_value(v)
    if q is not None:
        return _rational_to_float(q)
    c, u = algebra.split(v)
    if u.kind == "exp" and not enclosure(u).is_finite():
        return math.copysign(math.inf if sign(u.args[0]) > 0 else 0.0, c)
    if sign(v) == 0:
        return 0.0
    raise certification_error(v, "The nearest double")


_TINY = arb(2) ** -1200
"""Far below the least positive double: such a value is 0.0 as a float, whatever its sign."""


def _rational_to_float(q: Rational) -> float:
    try:
        return float(q) if isinstance(q, int) else int(q.p) / int(q.q)
    except OverflowError:
        return math.inf if q > 0 else -math.inf


def decimals(v: Value, digits: int = 6) -> str:
    """`v` rounded to this many significant digits, each of them certified."""
    if digits < 1:
        raise DomainError(f"Decimals need at least 1 significant digit; {digits} were asked for.")
    if v.special:
        return {"inf": "∞", "-inf": "−∞", "nan": "nan"}[v.kind]
    if v is ZERO:
        return "0"
    if v.kind == "q":
        return round_fraction(Fraction(int(fmpq(v.args[0]).p), int(fmpq(v.args[0]).q)), digits)
    bits = max(FIRST_BITS, int(digits * 3.33) + 64)
    while bits <= 2 * max(LAST_BITS, 8 * digits):
        low, high = _rounded_ends(enclosure(v, bits), digits, bits)
        if low == high:
            return low
        bits *= 2
    short = v if v.free else simplest(v)
    if short is not v:
        return decimals(short, digits)
    if enclosure(v, LAST_BITS).is_finite() and sign(v) == 0:
        return "0"
    written = _halfway(v, digits)
    if written is not None:
        return written
    raise certification_error(v, f"{digits} digits" if digits > 1 else "1 digit")


def _rounded_ends(ball: arb, digits: int, bits: int) -> tuple[str, str]:
    """Both ends of the enclosure, rounded: when they agree, so does the value."""
    if ball.is_zero():
        return "0", "0"
    if not ball.is_finite() or ball.contains(0):
        return "", "?"
    if abs(int(ball.mid().man_exp()[1])) > 100_000:
        return _scientific_ends(ball, digits, bits)
    with precision(bits + 64):
        ends = ball.lower(), ball.upper()
    low, high = (round_fraction(fraction(end), digits) for end in ends)
    return low, high


def _halfway(v: Value, digits: int) -> str | None:
    """15·10^(10^6) to one digit: both ends of no enclosure agree on a number halfway between two roundings. Its mantissa,
    a short fraction, is rounded to even."""
    ball = enclosure(v, LAST_BITS)
    if not ball.is_finite() or ball.contains(0):
        return None
    exponent = _exponent_of_ten(ball, LAST_BITS)
    mantissa = algebra.multiply(v, algebra.power(rational(10), -exponent)).rational
    return None if mantissa is None else _scientific(Fraction(str(fmpq(mantissa))), exponent, digits)


def _scientific_ends(ball: arb, digits: int, bits: int) -> tuple[str, str]:
    """The same for numbers such as 10^(10^18): through the logarithm, their digits written out would fill the memory."""
    with precision(bits):
        exponent = _exponent_of_ten(ball, bits)
        mantissa = arb(10) ** (abs(ball).log() / arb.const_log10() - exponent)
        ends = mantissa.lower(), mantissa.upper()
    minus = "-" if ball < 0 else ""
    low, high = (minus + _scientific(fraction(end), exponent, digits) for end in ends)
    return low, high


def _exponent_of_ten(ball: arb, bits: int) -> int:
    """⌊log₁₀ |v|⌋; next to a power of ten, where that is not known, the exponent of that power."""
    with precision(bits):
        logarithm = abs(ball).log() / arb.const_log10()
        below = logarithm.floor().unique_fmpz()
    return round(fraction(logarithm)) if below is None else int(below)


def _scientific(mantissa: Fraction, exponent: int, digits: int) -> str:
    """A mantissa of about 1 to 10 in its rounding, with the exponent that belongs to it."""
    shift = math.floor(math.log10(abs(Fraction(round_fraction(mantissa, digits)))))
    return f"{round_fraction(mantissa / Fraction(10) ** shift, digits)}e{exponent + shift}"
