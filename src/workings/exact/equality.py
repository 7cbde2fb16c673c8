"""Equality that proves."""

from __future__ import annotations

from typing import Any, NamedTuple

from workings.exact.arena import ARENA
from workings.exact.ball import LAST_BITS, enclosure
from workings.exact.make import exact
from workings.exact.proof import proved_zero
from workings.exact.value import Value


class Proof(NamedTuple):
    """`equal`, and how that is known: `proved`, `different` (proved too), or `to 4096 bits` (not proved)."""

    equal: bool
    how: str

    def __bool__(self) -> bool:
        return self.equal


def equal(a: Any, b: Any) -> Proof:
    """Whether two exact tensors hold the same values, and how that is known.

    >>> from workings import exact
    >>> exact.equal(exact("(w + 1)^2"), exact("w^2 + 2w + 1"))
    Proof(equal=True, how='proved')
    >>> exact.equal(exact("e^(pi sqrt(163))"), exact("262537412640768744"))
    Proof(equal=False, how='different')
    """
    x, y = exact(a), exact(b)
    if x.shape != y.shape:
        return Proof(False, "different")
    with ARENA.working():
        found = {_equal(p, q) for p, q in zip(x.elements(), y.elements(), strict=True)}
    for how in ("different", f"to {LAST_BITS} bits"):
        if how in found:
            return Proof(how != "different", how)
    return Proof(True, "proved")


def _equal(a: Value, b: Value) -> str:
    if a is b:
        return "proved"
    if a.special or b.special:
        return "different"
    difference = a - b
    if difference.free:
        return "proved" if proved_zero(difference) else "different"
    for bits in (128, 512, LAST_BITS):
        ball = enclosure(difference, bits)
        if ball > 0 or ball < 0:
            return "different"
        if bits == 128 and proved_zero(difference):
            return "proved"
    return f"to {LAST_BITS} bits"
