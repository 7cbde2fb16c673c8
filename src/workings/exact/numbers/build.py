"""Functions of exact values in normal form: f(0), even and odd functions, sin, cos and tan of multiples of π/6 and π/4."""

from __future__ import annotations

from flint import fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.value import HALF, LARGE, ONE, ZERO, Rational, Value, constant, node, rational


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
        if row.parity and x.size <= LARGE and looks_negative(x):
            out = build(name, algebra.scale(x, -1))
            return out if row.parity == 1 else algebra.scale(out, -1)
        if name in ("sin", "cos", "tan"):
            angle = _trigonometric(name, x)
            if angle is not None:
                return angle
        if (name, x) in _PARTS_OF_PI:
            return algebra.scale(constant("pi"), _PARTS_OF_PI[name, x])
    return node((name, *[x.serial for x in args]), name, args, args)


def looks_negative(x: Value) -> bool:
    """Whether it is written with a minus in front: a negative rational, or a sum whose coefficients all are."""
    if x.kind == "q":
        return bool(x.args[0] < 0)
    return x.kind == "add" and all(c < 0 for c, _ in x.args)


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
        return None if bottom is ZERO else _cosine(HALF - turn) / bottom
    return _cosine(turn if name == "cos" else HALF - turn)


def _cosine(turn: fmpq) -> Value:
    """cos(π·turn)"""
    turn = abs(turn - 2 * (turn / 2 + HALF).floor())  # in [0, 1]
    if turn > HALF:
        return algebra.scale(_cosine(1 - turn), -1)
    root = {1: 4, 2: 0, 3: 1, 4: 2, 6: 3}[int(turn.q)]  # cos = √root / 2
    return ONE if turn == 0 else algebra.scale(algebra.power(rational(root), HALF), HALF) if root else ZERO


_PARTS_OF_PI: dict[tuple[str, Value], Rational] = {
    ("acos", ONE): 0,
    ("acos", ZERO): HALF,
    ("acos", rational(-1)): 1,
    ("asin", ONE): HALF,
    ("atan", ONE): fmpq(1, 4),
    ("acosh", ONE): 0,
    ("lgamma", ONE): 0,
}
"""A few values that read better than the function: these multiples of π."""
