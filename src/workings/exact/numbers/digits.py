"""Numbers in decimals: a fraction rounded to significant digits, and whole numbers of any length as text."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, fmpz


def fraction(x: arb) -> Fraction:
    """The midpoint of a ball, exactly."""
    mantissa, exponent = x.mid().man_exp()
    m, e = int(mantissa), int(exponent)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def round_fraction(x: Fraction, digits: int) -> str:
    """Round half to even at `digits` significant digits; trailing zeros only where the number was cut."""
    if x == 0:
        return "0"
    minus = "-" if x < 0 else ""
    x = abs(x)
    place = digits - 1 - _exponent_of_ten(x)
    n = round(x * Fraction(10) ** place)
    if n == 10**digits:
        n, place = n // 10, place - 1
    exact = Fraction(n) == x * Fraction(10) ** place
    return minus + _positional(whole_digits(n), place, digits, exact)


def whole_digits(n: int) -> str:
    """`str(n)` for any length: Python refuses more than 4,300 digits."""
    return str(fmpz(n))


def _exponent_of_ten(x: Fraction) -> int:
    """⌊log₁₀ x⌋ for x > 0."""
    guess = math.floor((x.numerator.bit_length() - x.denominator.bit_length()) * math.log10(2))
    while Fraction(10) ** guess > x:
        guess -= 1
    while Fraction(10) ** (guess + 1) <= x:
        guess += 1
    return guess


def _positional(n: str, place: int, digits: int, exact: bool) -> str:
    exponent = len(n) - 1 - place
    if exact:
        n = n.rstrip("0") or "0"
    if exponent < -5 or exponent >= max(digits, 16):
        mantissa = n[0] + ("." + n[1:] if n[1:] else "")
        return f"{mantissa}e{exponent}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + n
    n = n.ljust(exponent + 1, "0")
    whole, rest = n[: exponent + 1], n[exponent + 1 :]
    return whole + ("." + rest if rest else "")
