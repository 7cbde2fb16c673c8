"""Tighter and tighter enclosures of a value, and what is said where even the tightest does not decide."""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb, fmpq

from workings.errors import BudgetError, DomainError, UndecidedError, WorkingsError
from workings.exact.numbers.ball import FIRST_BITS, enclosure
from workings.exact.numbers.names import MOST_NAMED, spelling
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value, bottom_up, letter_nodes

LAST_BITS = 4096
"""Where the search for a sign stops: a value that is still indistinguishable from zero needs a proof, or is assumed zero."""
_LADDER = (FIRST_BITS, 512, 2048, LAST_BITS)
_MOST_BITS = 4 * LAST_BITS
_SHORT = 200
"""Formulas of up to this many nodes are also looked at with `_MOST_BITS`, and in their simplest form."""


def refinements(v: Value) -> Iterator[arb]:
    """Enclosures of `v`, tighter and tighter; of a short formula also those of its simplest form, where less cancels."""
    for bits in _LADDER:
        yield enclosure(v, bits)
    if v.size > _SHORT:
        return
    if not v.free:  # after the ladder: simplifying takes longer than most enclosures, and most signs need none
        short = simplest(v)
        for bits in _LADDER if short is not v else ():
            yield enclosure(short, bits)
    yield enclosure(v, _MOST_BITS)


def certification_error(v: Value, what: str) -> WorkingsError:
    """Why `v` cannot be enclosed: a part of it has no real value, or is too large, or too much cancels."""
    enclosure(v, LAST_BITS)
    part = next((x for x in bottom_up(v) if not x.ball.is_finite()), None)
    if part is None or not part.ball.is_nan():
        why = f"{LAST_BITS:,} bits are too few" if part is None else "a part of it is too large or too small to be enclosed"
        return BudgetError(f"{what} of a formula of {v.size:,} nodes cannot be certified: {why}.")
    if part.free:
        return UndecidedError(f"{part.text()} has no real value at {samples_of(part)}. Give other sample values.")
    return DomainError(f"{part.text()} has no real value, or is too close to a pole to be enclosed.")


def samples_of(v: Value) -> str:
    """The sample values of its letters: w = 3/10."""
    found = sorted(letter_nodes(v), key=lambda x: x.args[0])
    shown = [f"{spelling(x.args[0])} = {fmpq(x.sample or 0)}" for x in found[:MOST_NAMED]]
    return ", ".join(shown + ["…"] * (len(found) > MOST_NAMED))
