"""Orthogonal polynomials P_n(x), by the three-term recurrences that define them.

    Chebyshev   P₊ = 2x P − P₋               T, U, V, W differ in P₁: x, 2x, 2x − 1, 2x + 1
    Hermite     H₊ = 2(x H − k H₋),          He₊ = x He − k He₋
    Laguerre    L₊ = ((2k + 1 − x) L − k L₋)/(k + 1)
    Legendre    P₊ = ((2k + 1) x P − k P₋)/(k + 1)

Each starts from P₀ = 1 and P₁; P₊, P and P₋ stand for P_{k+1}, P_k and P_{k−1}. Shifted polynomials take 2x − 1 for x.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq

from workings.exact.dispatch.scalar import RULES, Build, Rule, integer_part
from workings.exact.numbers.algebra import scale
from workings.exact.numbers.value import ONE, ZERO, Value, rational

_First = Callable[[Value], Value]
_Step = Callable[[int, Value, Value, Value], Value]
"""P_{k+1} from k, x, P_k and P_{k−1}."""


def _recurrence(first: _First, step: _Step) -> Build:
    """The rule (x, n) ↦ P_n(x). A fraction n is cut to an integer and P_n = 0 for negative n, as in PyTorch."""

    def rule(x: Value, n: Value) -> Value:
        count = integer_part(n)
        if count <= 0:
            return ONE if count == 0 else ZERO
        before, now = ONE, first(x)
        for k in range(1, count):
            before, now = now, step(k, x, now, before)
        return now

    return rule


def _double(x: Value) -> Value:
    return scale(x, 2)


def _chebyshev(k: int, x: Value, P: Value, before: Value) -> Value:
    return scale(x * P, 2) - before


def _hermite(k: int, x: Value, H: Value, before: Value) -> Value:
    return scale(x * H - scale(before, k), 2)


def _probabilists_hermite(k: int, x: Value, H: Value, before: Value) -> Value:
    return x * H - scale(before, k)


def _laguerre(k: int, x: Value, L: Value, before: Value) -> Value:
    return scale((rational(2 * k + 1) - x) * L - scale(before, k), fmpq(1, k + 1))


def _legendre(k: int, x: Value, P: Value, before: Value) -> Value:
    return scale(scale(x * P, 2 * k + 1) - scale(before, k), fmpq(1, k + 1))


_POLYNOMIALS: dict[str, Build] = {
    "chebyshev_polynomial_t": _recurrence(lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": _recurrence(_double, _chebyshev),
    "chebyshev_polynomial_v": _recurrence(lambda x: _double(x) - ONE, _chebyshev),
    "chebyshev_polynomial_w": _recurrence(lambda x: _double(x) + ONE, _chebyshev),
    "hermite_polynomial_h": _recurrence(_double, _hermite),
    "hermite_polynomial_he": _recurrence(lambda x: x, _probabilists_hermite),
    "laguerre_polynomial_l": _recurrence(lambda x: ONE - x, _laguerre),
    "legendre_polynomial_p": _recurrence(lambda x: x, _legendre),
}


def _shift(rule: Build) -> Build:
    return lambda x, n: rule(_double(x) - ONE, n)


for _name, _rule in _POLYNOMIALS.items():
    RULES[f"special_{_name}"] = Rule(_rule)
    if _name.startswith("chebyshev"):
        RULES[f"special_shifted_{_name}"] = Rule(_shift(_rule))
