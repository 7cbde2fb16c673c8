"""Floats → the exact numbers people meant: 0.1 is 1/10, `math.sqrt(2)` is √2, `math.pi` is π.

`families.py` finds the members p/q of families that lie near a float; here the first becomes a value whose float it is: the
nearest to it, or for roots and their like the one that a usual spelling computes (`spellings.py`). 0.1 + 0.2 is not the
nearest to 3/10, so it stays what it is. Only members are remembered: values nobody uses are swept.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from weakref import WeakValueDictionary

from flint import fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.value import HALF, INF, NAN, NEG_INF, ONE, Value, constant, rational
from workings.exact.reading.families import FAMILIES, FORMATS, Member, dyadic, round_to_format
from workings.exact.reading.spellings import SPELLINGS


def recover(x: float, dtype: str = "float64") -> Value | None:
    """The exact number that a float of this format was meant to be; None where none is recognised.

    x is the float nearest to that number, or the float of a usual spelling of it, such as 1/math.sqrt(2).

    >>> recover(0.1) is rational(fmpq(1, 10))
    True
    >>> recover(1 / math.sqrt(2)) is algebra.power(rational(2), -HALF)
    True
    >>> recover(0.3333333432674408, "float32") is rational(fmpq(1, 3))
    True
    >>> recover(0.1 + 0.2) is recover(0.123456789012345) is None
    True
    """
    if x == 0 or not math.isfinite(x):
        return as_is(x)
    member = _recognise(abs(x), dtype)
    return None if member is None else _signed(member, x)


_CLOSE = 4
"""Steps of a double that a few roundings may have cost."""


def nearly(x: float) -> Value | None:
    """A simple number that the double x is close to, without being the double nearest to it: 3/10 for 0.1 + 0.2."""
    if x == 0 or not math.isfinite(x):
        return None
    near = (_signed(member, x) for member in _candidates(abs(x), "float64"))
    return next((v for v in near if abs(to_float(v) - x) <= _CLOSE * math.ulp(x)), None)


def is_simple(x: float, dtype: str = "float64") -> bool:
    """Whether a float is itself the number that was meant: whole numbers, halves, quarters, …"""
    return x == 0 or not math.isfinite(x) or (dtype in FORMATS and dyadic(abs(x), FORMATS[dtype]) is not None)


def _signed(member: Member, x: float) -> Value:
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
    """How to build x > 0: the first member of a family that x is the float of."""
    return next((member for member in _candidates(x, dtype) if _is_meant(x, member, dtype)), None)


def _candidates(x: float, dtype: str) -> Iterator[Member]:
    form = FORMATS.get(dtype)
    if form is None:  # an 8-bit format and the like: nothing is recognised in so few bits
        return
    for family in FAMILIES:
        found = family(x, form)
        if found is not None:
            yield found


def _is_meant(x: float, member: Member, dtype: str) -> bool:
    family, p, q = member
    form = FORMATS[dtype]
    value = _BUILD[family](fmpq(p, q))
    if round_to_format(to_float(value), form) == x:
        return True
    return value.rational is None and any(round_to_format(y, form) == x for y in SPELLINGS[family](p, q))


_KNOWN: WeakValueDictionary[float, Value] = WeakValueDictionary()


class _Taken(threading.local):
    """Doubles that the running call of PyTorch took from exact numbers it was given where it takes plain ones."""

    def __init__(self) -> None:
        self.values: dict[float, Value] = {}


TAKEN = _Taken()


def remember(x: float, v: Value) -> None:
    """x is the double nearest to v, with which somebody computes: should it come back, v was meant."""
    _KNOWN[x] = v


def remembered(x: float) -> Value | None:
    """The value that is remembered for x, as long as it is in use."""
    return _KNOWN.get(x)


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
    **_multiples("log 2πe", lambda: algebra.add(algebra.log(_two_pi()), ONE)),
}
"""The value of a member's family at p/q."""
