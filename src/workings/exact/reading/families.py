"""Families of numbers people write, recognised in floats: decimals, fractions, roots, multiples of π.

A family is a function under which its members become fractions: x itself, x² for √(p/q), e^x for
log(p/q), x/π for multiples of π. What they give are candidates: `recover.py` takes one only if the float is
the one that is meant by it. A random float lies within t steps of its grid of some p/q with p·q ≤
H with a probability of about 0.6·t·H·2^(1−bits), so a bound H on the height p·q keeps false readings
rare; shorter floats get lower bounds. A fraction is found where its continued fraction ends: a few
divisions of floats show that it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

Member = tuple[str, int, int]
"""A family and the fraction p/q that picks its member: ("root", 1, 2) is √(1/2)."""


class Format(NamedTuple):
    """A float format: its significant bits, the least exponent of its grid, and what is recognised in it."""

    bits: int
    least: int
    steps: float
    """How many steps of the grid rounding may have cost."""
    plain: int
    """Significant digits of a decimal that is preferred to every other reading."""
    digits: int
    """Significant digits of a decimal that is recognised at all: all such decimals survive this format."""
    dyadic: int
    """Bits after the binary point that a number is given on purpose."""
    heights: dict[str, int]
    """The bound on p·q for each family."""


_BINARY64 = {"rational": 10**10, "root": 10**9, "log": 10**6, "exp": 1000, "ten": 2**23}
_BINARY32 = {"rational": 1000, "root": 4096, "log": 50, "exp": 10, "ten": 2**11}
FORMATS = {
    "float64": Format(53, -1074, 2, 9, 9, 24, {**_BINARY64, "multiple": 160_000, "rare multiple": 2500}),
    "float32": Format(24, -149, 1, 4, 6, 8, {**_BINARY32, "multiple": 200, "rare multiple": 10}),
    "float16": Format(11, -24, 0.5, 3, 3, 4, {"rational": 12, "root": 8}),
    "bfloat16": Format(8, -133, 0.5, 2, 2, 3, {"rational": 12, "root": 3}),
}
Family = Callable[[float, Format], Member | None]


def grid(x: float, form: Format) -> float:
    """The distance between neighbouring floats of this format at x."""
    return math.ldexp(1.0, max(math.frexp(x)[1] - form.bits, form.least))


def round_to_format(x: float, form: Format) -> float:
    """x rounded to this format."""
    if form.bits == 53:
        return x
    step = grid(x, form)
    return round(x / step) * step


# ---- rational numbers
def _plain_decimal(x: float, form: Format) -> Member | None:
    return _decimal(x, form, form.plain)


def _long_decimal(x: float, form: Format) -> Member | None:
    return _decimal(x, form, form.digits) if form.digits > form.plain else None


def _decimal(x: float, form: Format, digits: int) -> Member | None:
    if x < 2.0 ** (form.least + form.bits):  # below this the grid no longer gets finer
        digits = min(digits, int(math.log10(x / grid(x, form))))
    if digits < 1:
        return None
    text = f"{x:.{digits - 1}e}"
    return ("rational", *Fraction(text).as_integer_ratio()) if round_to_format(float(text), form) == x else None


def dyadic(x: float, form: Format) -> Member | None:
    """Whole numbers; halves, quarters, … that need at most 5/8 of the float's bits; all powers of two."""
    whole = x % 1.0 == 0 and x < 2.0**form.bits
    short = x < 2.0 ** (form.bits * 5 / 8 - form.dyadic) and math.ldexp(x, form.dyadic) % 1.0 == 0
    return ("rational", *x.as_integer_ratio()) if whole or short or math.frexp(x)[0] == 0.5 else None


# ---- numbers that a function turns into fractions
def _fraction(y: float, height: int, noise: float) -> tuple[int, int] | None:
    """The p/q with p·q ≤ height that y > 0 is, up to this relative noise: its continued fraction ends."""
    rest, q, end, last = y % 1.0, 1.0, 4 * noise * height, (height / y) ** 0.5
    while rest > end:
        q /= rest
        if q > last:
            return None
        rest = 1.0 / rest % 1.0
    found = Fraction(y).limit_denominator(int(last) + 1)
    return found.as_integer_ratio() if 0 < found.numerator * found.denominator <= height else None


class _Row(NamedTuple):
    """Numbers that `ratio` turns into p/q."""

    ratio: Callable[[float], float]
    noise: Callable[[float], float] = lambda y: 1
    """The relative error of the ratio y, for one of x."""


_ROWS = {
    "rational": _Row(lambda x: x),
    "root": _Row(lambda x: x * x, lambda y: 2),
    "log": _Row(lambda x: math.exp(min(x, 700)), lambda y: 1 + math.log(y)),
    "exp": _Row(math.log, lambda y: 1 + 1 / y),
    "ten": _Row(math.log10, lambda y: 1 + 1 / y),
}


def _recogniser(name: str) -> Family:
    ratio, noise = _ROWS[name]

    def recognise(x: float, form: Format) -> Member | None:
        height, y = form.heights.get(name, 0), ratio(x)
        size = abs(y)
        if not 1 <= size * height <= height * height:
            return None
        found = _fraction(size, height, form.steps * 2.0 ** (1 - form.bits) * noise(size))
        if found is None:
            return None
        p, q = found if y > 0 else (-found[0], found[1])
        return (name, p, q)

    return recognise


CONSTANTS = {
    "multiple": {"π": math.pi, "e": math.e, "log 2": math.log(2), "log 10": math.log(10)},
    "rare multiple": {
        "√π": math.sqrt(math.pi),
        "√2π": math.sqrt(2 * math.pi),
        "log π": math.log(math.pi),
        "log 2π": math.log(2 * math.pi),
        "log 2πe": math.log(2 * math.pi) + 1,
    },
}
"""Numbers whose multiples, and multiples of whose inverses, are recognised, by the name of their bound."""


def _multiple(x: float, form: Format) -> Member | None:
    if not 1e-9 < x < 1e9:
        return None
    noise = form.steps * 2.0 ** (1 - form.bits)
    for inverse, height, name in _multiples(form.bits):
        found = _fraction(x * inverse, height, noise)
        if found:
            return (name, *found)
    return None


@cache
def _multiples(bits: int) -> list[tuple[float, int, str]]:
    heights = next(form for form in FORMATS.values() if form.bits == bits).heights
    rows = [(heights[h], name, c) for h in CONSTANTS if h in heights for name, c in CONSTANTS[h].items()]
    return [row for height, name, c in rows for row in ((1 / c, height, name), (c, height, f"1/{name}"))]


FAMILIES: list[Family] = [
    dyadic,
    _plain_decimal,
    _recogniser("rational"),
    _recogniser("root"),
    _multiple,
    _recogniser("log"),
    _recogniser("exp"),
    _recogniser("ten"),
    _long_decimal,
]
"""In order of preference."""
