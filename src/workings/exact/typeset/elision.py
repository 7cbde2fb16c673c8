"""Formulas too long to print: what stands in their place.

The formula of a value is a shared graph; written out it may have a billion nodes. Whether it is printed is
decided by its counted size, before anything walks over it.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import arb, fmpq

from workings.errors import BudgetError, DomainError, UndecidedError
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.names import MOST_NAMED, name_list
from workings.exact.numbers.rounding import decimals
from workings.exact.numbers.value import CAP, Rational, Value, bottom_up, letter_nodes

_DIGITS_A_NODE = 5
"""A formula allowed `most` nodes is allowed this many times as many digits in its numbers."""
_TRIES = (128, 1024)
"""Bits of the enclosures that may show decimals; after these two evaluations they are given up."""
_FARTHEST = 10_000
"""Decimals are written for numbers between 2^−FARTHEST and 2^FARTHEST."""


class Elided(NamedTuple):
    """What is said instead of the formula: decimals (at the sample values), how long it is, the first of its letters."""

    decimals: str | None
    measure: str
    letters: list[str]
    samples: list[tuple[str, Rational]]


def elision(v: Value, most: int) -> Elided | None:
    """What stands in for `v`, or `None` where its formula is short enough to print."""
    if v.size <= most:
        digits = sum(_digits(x) for x in bottom_up(v))
        if digits <= most * _DIGITS_A_NODE:
            return None
        return _stand_in(v, f"{'number' if v.kind == 'q' else 'formula'} of {digits:,} digits")
    return _stand_in(v, f"formula of {'over ' if v.size == CAP else ''}{v.size:,} nodes")


def _stand_in(v: Value, measure: str) -> Elided:
    found = sorted(letter_nodes(v), key=lambda x: x.args[0])
    names = [x.args[0] for x in found]
    samples = [(x.args[0], x.sample) for x in found]
    known = [(name, sample) for name, sample in samples if sample is not None]
    return Elided(_decimals(v) if len(known) == len(names) else None, measure, name_list(names), known[:MOST_NAMED])


def _digits(v: Value) -> int:
    """The decimal digits of the rational numbers in one node."""
    if v.kind == "q":
        numbers = [v.args[0]]
    elif v.kind == "add":
        numbers = [c for c, _ in v.args]
    else:
        numbers = [r for _, r in v.args] if v.kind == "mul" else []
    return sum(len(str(abs(fmpq(c).p))) + (len(str(fmpq(c).q)) if fmpq(c).q != 1 else 0) for c in numbers)


def _decimals(v: Value) -> str | None:
    """Six certified digits; `None` for a number too far out to write, or not enclosed.

    Where the enclosure holds 0 and is narrow, they are 0.000000: whether the number is 0 would need a proof, and
    printing looks for none.
    """
    try:
        if any(_within_reach(enclosure(v, bits)) for bits in _TRIES):
            return decimals(v)
        return "0.000000" if abs(enclosure(v, _TRIES[-1])) < arb(2) ** -64 else None
    except (UndecidedError, BudgetError, DomainError):
        return None


def _within_reach(ball: arb) -> bool:
    """Whether the digits of the number can be written: it is finite, not 0, and neither huge nor tiny."""
    return bool(ball.is_finite()) and bool(arb(2) ** -_FARTHEST < abs(ball)) and bool(abs(ball) < arb(2) ** _FARTHEST)
