"""Claims decided by interval arithmetic: integrals and values with a certified error (python-flint)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from workings.studies.claim import Bounds, Claim, Method

_BITS = 128


def certified(sentence: str, found: Any, wanted: Bounds, what: str = "", reference: str = "") -> Claim:
    """A ball of interval arithmetic (`flint.arb`) lies wholly where the claim wants it, or wholly elsewhere.

    >>> from flint import arb
    >>> certified("π is above 3", arb.pi(), Bounds(low=3), "π").evidence
    'π from 3.141593 to 3.141593, certified (wanted: at least 3)'
    """
    low, high = ends(found)
    evidence = f"{what} from {low:.7g} to {high:.7g}, certified (wanted: {wanted})".strip()
    return Claim(sentence, wanted.judge(low, high), Method.CERTIFIED, evidence, wanted, (low, high), reference=reference)


def ends(ball: Any) -> tuple[float, float]:
    """A float below and a float above everything in a ball."""
    from math import nextafter

    middle, radius = float(ball.mid()), float(ball.rad())
    if not (abs(middle) < inf and radius < inf):
        return -inf, inf
    return nextafter(middle - radius, -inf), nextafter(middle + radius, inf)


def integral(f: Callable[[Any], Any], low: float, high: float) -> Any:
    """∫ f from low to high as a ball that holds it (Johansson 2018); f maps `flint.acb` to `flint.acb` and is analytic.

    >>> low, high = ends(integral(lambda x: x * x, 0, 3))
    >>> low <= 9 <= high
    True
    """
    from flint import acb, ctx

    bits, ctx.prec = ctx.prec, _BITS
    try:
        return acb.integral(lambda x, _: f(x), acb(low), acb(high)).real
    finally:
        ctx.prec = bits


def normal_mean(f: Callable[[Any], Any], variance: float, largest: float = 1.0, above: float = -inf) -> Any:
    """E[f(γ)] for γ ~ N(0, variance) as a ball, |f| ≤ `largest`; given γ > `above`, if that is said.

    The integral runs over ±12 standard deviations; what lies beyond weighs less than 1e−31 and is added to the ball.

    >>> low, high = ends(normal_mean(lambda x: x * x / 2, 0.5, largest=40))  # half the variance
    >>> low <= 0.25 <= high and high - low < 1e-9
    True
    """
    from flint import acb, arb

    deviation = variance**0.5
    start = max(above, -12 * deviation)

    def density(x: Any) -> Any:
        return (-(x * x) / (2 * acb(variance))).exp()

    mass = integral(density, start, 12 * deviation)
    weighted = integral(lambda x: f(x) * density(x), start, 12 * deviation)
    return weighted / mass + arb(0, largest * 1e-30)
