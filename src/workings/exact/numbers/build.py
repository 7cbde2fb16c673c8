"""Functions of exact values in normal form: f(0), even and odd functions, sin, cos and tan of multiples of π/6 and π/4."""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.value import LARGE, ONE, ZERO, Value, constant, node, rational


def build(name: str, *args: Value) -> Value:
    """The function `name` of these values, in normal form."""
    if name == "exp":
        return algebra.exp(*args)
    if name == "log":
        return algebra.log(*args)
    row = FUNCTIONS[name]
    if len(args) == 1:
        x = args[0]
        if x is ZERO and row.at_zero is not None:
            return row.at_zero
        if row.parity and _looks_negative(x):
            out = build(name, algebra.scale(x, -1))
            return out if row.parity == 1 else algebra.scale(out, -1)
        if name in ("sin", "cos", "tan"):
            angle = _trigonometric(name, x)
            if angle is not None:
                return angle
        known = _AT.get((name, x))
        if known is not None:
            return known()
    return node((name, *[x.serial for x in args]), name, args, args)


def _looks_negative(x: Value) -> bool:
    """Whether to write f(−y) for odd and even f: the rational is negative, or every coefficient is."""
    if x.kind == "q":
        return bool(x.args[0] < 0)
    return x.kind == "add" and x.size <= LARGE and all(c < 0 for c, _ in x.args)


def _trigonometric(name: str, x: Value) -> Value | None:
    """sin, cos and tan of multiples of π/6 and π/4; `None` elsewhere."""
    if x.kind == "const" and x.args[0] == "pi":
        turn = fmpq(1)
    elif x.kind == "add" and len(x.args) == 1 and x.args[0][1] is constant("pi"):
        turn = fmpq(x.args[0][0])
    else:
        return None
    if int(turn.q) not in (1, 2, 3, 4, 6):
        return None
    if name == "tan":
        bottom = _cosine(turn)
        return None if bottom is ZERO else _cosine(fmpq(1, 2) - turn) / bottom
    return _cosine(turn if name == "cos" else fmpq(1, 2) - turn)


def _cosine(turn: fmpq) -> Value:
    """cos(π·turn)"""
    turn = abs(turn - 2 * (turn / 2 + fmpq(1, 2)).floor())  # in [0, 1]
    if turn > fmpq(1, 2):
        return algebra.scale(_cosine(1 - turn), -1)
    half, root = fmpq(1, 2), {1: 4, 2: 0, 3: 1, 4: 2, 6: 3}[int(turn.q)]  # cos = √root / 2
    return ONE if turn == 0 else algebra.scale(algebra.power(rational(root), half), half) if root else ZERO


def _pi_over(n: int) -> Callable[[], Value]:
    return lambda: algebra.scale(constant("pi"), fmpq(1, n))


_AT: dict[tuple[str, Value], Callable[[], Value]] = {
    ("acos", ONE): lambda: ZERO,
    ("acos", ZERO): _pi_over(2),
    ("acos", rational(-1)): _pi_over(1),
    ("asin", ONE): _pi_over(2),
    ("atan", ONE): _pi_over(4),
    ("acosh", ONE): lambda: ZERO,
    ("lgamma", ONE): lambda: ZERO,
}
"""A few values that read better than the function."""
