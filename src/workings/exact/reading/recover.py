"""Floats → the exact numbers people meant: 0.1 is 1/10, `math.sqrt(2)` is √2, 0.9**3 is 729/1000.

`families.py` recognises a float as the member p/q of a family; here the member becomes a value. Only members are remembered:
values nobody uses are swept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from flint import fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.value import HALF, INF, NAN, NEG_INF, ONE, Value, constant, rational
from workings.exact.reading.families import FAMILIES, FORMATS, Member


def recover(x: float, dtype: str = "float64") -> Value | None:
    """The exact number that a float of this format was meant to be, or None where nothing is recognised.

    >>> recover(0.1 + 0.2) is rational(fmpq(3, 10))
    True
    >>> recover(2 / math.sqrt(8)) is algebra.power(rational(2), -HALF)
    True
    >>> recover(0.3333333432674408, "float32") is rational(fmpq(1, 3))
    True
    >>> recover(0.123456789012345) is None
    True
    """
    if x == 0 or not math.isfinite(x):
        return as_is(x)
    member = _recognise(abs(x), dtype)
    if member is None:
        return None
    family, p, q = member
    if x > 0:
        return _BUILD[family](fmpq(p, q))
    return _BUILD["log"](fmpq(q, p)) if family == "log" else algebra.scale(_BUILD[family](fmpq(p, q)), -1)


def as_is(x: float) -> Value:
    """The fraction that the float `x` is.

    >>> as_is(0.75) is rational(fmpq(3, 4))
    True
    """
    if math.isfinite(x):
        return rational(fmpq(*x.as_integer_ratio()))
    return NAN if math.isnan(x) else INF if x > 0 else NEG_INF


@lru_cache(maxsize=100_000)
def _recognise(x: float, dtype: str) -> Member | None:
    """How to build x > 0: the first family that recognises it."""
    form = FORMATS.get(dtype)
    if form is None:  # an 8-bit format and the like: nothing is recognised in so few bits
        return None
    for family in FAMILIES:
        found = family(x, form)
        if found is not None:
            return found
    return None


_Build = Callable[[fmpq], Value]


def _multiples(name: str, value: Callable[[], Value]) -> dict[str, _Build]:
    """Rational multiples of a constant and of its inverse."""
    return {
        name: lambda q: algebra.scale(value(), q),
        f"1/{name}": lambda q: algebra.scale(algebra.power(value(), -1), q),
    }


def _two_pi() -> Value:
    return algebra.scale(constant("pi"), 2)


_BUILD: dict[str, _Build] = {
    "rational": rational,
    "root": lambda q: algebra.power(rational(q), HALF),
    "log": lambda q: algebra.log(rational(q)),
    "exp": lambda q: algebra.exp(rational(q)),
    "ten": lambda q: algebra.power(rational(10), q),
    **_multiples("π", lambda: constant("pi")),
    **_multiples("e", lambda: algebra.exp(ONE)),
    **_multiples("log 2", lambda: algebra.log(rational(2))),
    **_multiples("log 10", lambda: algebra.log(rational(10))),
    **_multiples("√π", lambda: algebra.power(constant("pi"), HALF)),
    **_multiples("√2π", lambda: algebra.power(_two_pi(), HALF)),
    **_multiples("log π", lambda: algebra.log(constant("pi"))),
    **_multiples("log 2π", lambda: algebra.log(_two_pi())),
}
"""The value of a member's family at p/q."""
