"""Functions of exact values: how each is enclosed, its value at 0, where it is real, and its symmetry.

One row a function; one that is not in this table does not exist in the exact domain. `build.py` makes values of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from workings.exact.numbers.value import ONE, ZERO, Value


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
