"""Equality that proves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from flint import arb, fmpq

from workings.exact.numbers.ball import enclosure_at
from workings.exact.numbers.proof import is_proved_zero
from workings.exact.numbers.refine import LAST_BITS
from workings.exact.numbers.sign import certified_sign
from workings.exact.numbers.value import Rational, Value, letters
from workings.exact.tensor.arena import ARENA
from workings.exact.tensor.make import exact

_REACHES = (1, 1, 4, 4, 20, 20, 1000, 1000, 10**6, 10**6)
_TRIES = 4 * len(_REACHES)
"""Points where formulas in letters that are not proved equal are compared, close to 0 and far out."""
_AGREEMENT = 256
"""The bits to which they are compared."""
_NOWHERE = "no point found where both have a value"


class Proof(NamedTuple):
    """`equal` is True or False only with a proof, and None where it is not decided; `how` says what was tried then.

    In an `if` only what is proved equal is true.
    """

    equal: bool | None
    how: str

    def __bool__(self) -> bool:
        return self.equal is True


def equal(a: Any, b: Any) -> Proof:
    """Whether two exact tensors hold the same values, and how that is known.

    >>> from workings import exact
    >>> exact.equal(exact("(w + 1)^2"), exact("w^2 + 2w + 1"))
    Proof(equal=True, how='proved')
    >>> exact.equal(exact("e^(pi sqrt(163))"), exact("262537412640768744"))
    Proof(equal=False, how='different')
    >>> exact.equal(exact("sin(2w)"), exact("2*sin(w)*cos(w)"))
    Proof(equal=None, how='not decided: no proof was found; at 40 points they agree to 256 bits')
    """
    x, y = exact(a), exact(b)
    if x.shape != y.shape:
        return Proof(False, f"different shapes {[*x.shape]} and {[*y.shape]}")
    found = set()
    with ARENA.working():
        for p, q in zip(x.elements(), y.elements(), strict=True):
            found.add(_equal(p, q))
            if "different" in found:
                return Proof(False, "different")
    unproved = sorted(found - {"proved"}, key=lambda how: (how != _NOWHERE, how))
    return Proof(None, f"not decided: {unproved[0]}") if unproved else Proof(True, "proved")


def _equal(a: Value, b: Value) -> str:
    if a is b:
        return "proved"
    if a.special or b.special:
        return "different"
    difference = a - b
    if difference.free:
        return "proved" if is_proved_zero(difference) else _at_points(a, b)
    s = certified_sign(difference)
    if s is None:
        return f"no proof was found; the difference is smaller than any number of {LAST_BITS:,} bits shows"
    return "different" if s else "proved"


def _at_points(a: Value, b: Value) -> str:
    """Whether enclosures at some point exclude each other, or agree wherever both formulas have a value."""
    agreed = 0
    for point in _points(sorted(letters(a) | letters(b))):
        x, y = (enclosure_at(v, point, 2 * _AGREEMENT) for v in (a, b))
        if not x.is_finite() or not y.is_finite():
            continue
        if not x.overlaps(y):
            return "different"
        agreed += bool(abs(x - y) < (1 + abs(x)) * arb(2) ** -_AGREEMENT)
    points = f"at {agreed} point{'s' * (agreed > 1)} they agree to {_AGREEMENT} bits"
    return f"no proof was found; {points}" if agreed else _NOWHERE


def _points(names: list[str]) -> Iterator[dict[str, Rational]]:
    """Rational points, always the same: close to 0 and farther out, every other one positive."""
    draw = random.Random(0)
    for k in range(_TRIES):
        reach = _REACHES[k % len(_REACHES)]
        signs = (1, -1) if k % 2 else (1,)
        yield {name: fmpq(draw.choice(signs) * draw.randint(1, 996 * reach), 997) for name in names}
