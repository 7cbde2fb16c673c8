"""Functions of exact values: how each is enclosed, its value at 0, where it is real, and its symmetry.

One row a function. `build` makes the node (with the identities that hold everywhere); a function not in this table does
not exist in the exact domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.value import LARGE, ONE, ZERO, Value, constant, node, rational


@dataclass(frozen=True)
class Function:
    """`ball` encloses it; `at_zero` is its value at 0; `parity` is 1 for even, −1 for odd functions."""

    ball: Callable[..., arb]
    at_zero: Value | None = None
    parity: int = 0
    sympy: str | None = None
    takes: int = 1


def _gamma_logarithm(x: arb) -> arb:
    """log |Γ(x)|, for negative x too."""
    return x.lgamma() if x > 0 else abs(x.gamma()).log()


def _zeta(s: arb, a: arb) -> arb:
    """The Hurwitz zeta function Σ (a + k)^−s; for negative a the first terms are added by hand (s is an integer there)."""
    out = arb(0)
    exponent = s.unique_fmpz()
    while not a > 0:
        out = out + (1 / a) ** (int(exponent) if exponent is not None else s)
        a = a + 1
    return out + s.zeta(a)


def _between(f: Callable[[arb], arb], low: float, high: float) -> Callable[[arb], arb]:
    """A monotone function whose argument was found to lie between `low` and `high`: what its ball holds beyond is
    cut off."""

    def ball(x: arb) -> arb:
        bottom, top = x.lower(), x.upper()
        if x.is_nan() or (bottom >= low and top <= high) or not (bottom <= high and top >= low):
            return f(x)
        return f(bottom if bottom >= low else arb(low)).union(f(top if top <= high else arb(high)))

    return ball


FUNCTIONS: dict[str, Function] = {
    "exp": Function(arb.exp, ONE),
    "log": Function(arb.log),
    "sin": Function(arb.sin, ZERO, -1),
    "cos": Function(arb.cos, ONE, 1),
    "tan": Function(arb.tan, ZERO, -1),
    "asin": Function(_between(arb.asin, -1, 1), ZERO, -1),
    "acos": Function(_between(arb.acos, -1, 1)),
    "atan": Function(arb.atan, ZERO, -1),
    "sinh": Function(arb.sinh, ZERO, -1),
    "cosh": Function(arb.cosh, ONE, 1),
    "tanh": Function(arb.tanh, ZERO, -1),
    "asinh": Function(arb.asinh, ZERO, -1),
    "acosh": Function(_between(arb.acosh, 1, math.inf)),
    "atanh": Function(arb.atanh, ZERO, -1),
    "erf": Function(arb.erf, ZERO, -1),
    "erfc": Function(arb.erfc, ONE),
    "erfinv": Function(arb.erfinv, ZERO, -1),
    "lgamma": Function(_gamma_logarithm, sympy="loggamma"),
    "digamma": Function(arb.digamma),
    "airy_ai": Function(arb.airy_ai, sympy="airyai"),
    "abs": Function(abs, ZERO, 1, sympy="Abs"),
    # of two values
    "pow": Function(lambda b, x: b**x, sympy="Pow", takes=2),
    "atan2": Function(arb.atan2, takes=2),
    "zeta": Function(_zeta, takes=2),
    "bessel_j": Function(lambda n, x: x.bessel_j(n), sympy="besselj", takes=2),
    "bessel_y": Function(lambda n, x: x.bessel_y(n), sympy="bessely", takes=2),
    "bessel_i": Function(lambda n, x: x.bessel_i(n), sympy="besseli", takes=2),
    "bessel_k": Function(lambda n, x: x.bessel_k(n), sympy="besselk", takes=2),
    "gamma_lower": Function(lambda s, x: x.gamma_lower(s, 1), takes=2),
}


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
