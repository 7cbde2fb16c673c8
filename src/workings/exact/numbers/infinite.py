"""Arithmetic with ∞ and NaN: what IEEE 754 says, by the signs of the other operands.

∞ + x = ∞,  ∞ · x = ±∞ by the sign of x,  x/∞ = 0,  log(e^−∞ + e^x) = x: no size of x matters, so x may be 10⁴⁰⁰ or a letter.
"""

from __future__ import annotations

from collections.abc import Callable

from workings.exact.numbers import algebra
from workings.exact.numbers.sign import sign
from workings.exact.numbers.value import INF, NAN, NEG_INF, ZERO, Value


def opposite(x: Value) -> Value:
    """−x"""
    return NEG_INF if x is INF else INF if x is NEG_INF else x if x is NAN else algebra.scale(x, -1)


def _add(a: Value, b: Value) -> Value:
    if a.special and b.special:
        return a if a is b else NAN
    return a if a.special else b


def _multiply(a: Value, b: Value) -> Value:
    return {1: INF, -1: NEG_INF, 0: NAN}[sign(a) * sign(b)]


def _divide(a: Value, b: Value) -> Value:
    if b.special:
        return NAN if a.special else ZERO
    return a if sign(b) >= 0 else opposite(a)


def _log_of_sum(a: Value, b: Value) -> Value:
    return INF if INF in (a, b) else b if a is NEG_INF else a


def _with_sign(a: Value, b: Value) -> Value:
    return a if (sign(a) < 0) == (sign(b) < 0) else opposite(a)


def _remainder(a: Value, b: Value) -> Value:
    """a mod ±∞ has the sign of ±∞."""
    return NAN if a.special else a if sign(a) * sign(b) >= 0 else b


ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "add": _add,
    "sub": lambda a, b: _add(a, opposite(b)),
    "mul": _multiply,
    "div": _divide,
    "copysign": _with_sign,
    "fmod": lambda a, b: NAN if a.special else a,
    "remainder": _remainder,
    "logaddexp": _log_of_sum,
    "logaddexp2": _log_of_sum,
}


def arithmetic(name: str, a: Value, b: Value) -> Value:
    """The operation on a pair with ∞ or NaN in it."""
    return NAN if a is NAN or b is NAN else ARITHMETIC[name](a, b)
