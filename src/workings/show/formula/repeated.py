"""A term that repeats gets a name: with u = e^{1/√2} ≈ 2.028, where the values of one line say it again and again.

Only long lines are shortened: what fits is written in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workings.errors import WorkingsError
from workings.exact.numbers.rounding import decimals
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value, bottom_up, letters
from workings.exact.tensor.arena import ARENA
from workings.exact.typeset.elision import elision
from workings.exact.typeset.layout import Layout
from workings.exact.typeset.value_layout import lay_out

OFTEN = 3
_LONG = 60
"""Signs of all values of a line together, from which on a name is worth it."""
_SMALLEST = 4
"""Signs of a term that a name is shorter than."""
_LETTERS = "uvwtrs"
MOST_NODES = 200
"""Nodes of a value that is written out."""


@dataclass(frozen=True)
class NamedTerm:
    """A letter, the layout of the term that it stands for, and its decimals if there are any."""

    letter: str
    layout: Layout
    decimals: str

    @property
    def key(self) -> str:
        return self.layout.key


def repeated_term(values: Iterable[Value], taken: frozenset[str], digits: int = 4) -> NamedTerm | None:
    """The term whose name shortens these values most; None where they are short, or no term comes three times.

    >>> from workings import exact
    >>> found = repeated_term(exact("exp(sqrt(2))/(1+exp(sqrt(2)))^2 " * 9).elements(), frozenset("u"))
    >>> found.letter, found.decimals
    ('v', '0.1573')
    """
    with ARENA.working():
        shown = [simplest(v) for v in values]
        shown = [v for v in shown if elision(v, MOST_NODES) is None]
        parts = [part for v in shown for part in _walk(lay_out(v))]
        counts = Counter(part.key for part in parts)
        sizes = {part.key: sum(1 for _ in _walk(part)) for part in {part.key: part for part in parts}.values()}
        used = taken | {letter for v in shown for letter in letters(v)}
        letter = next((letter for letter in _LETTERS if letter not in used), "")
        often = [key for key, n in counts.items() if n >= OFTEN and sizes[key] >= _SMALLEST]
        if len(parts) < _LONG or not often or not letter:
            return None
        best = max(often, key=lambda key: (counts[key] - 1) * (sizes[key] - 1))
        layout = next(part for part in parts if part.key == best)
        return NamedTerm(letter, layout, _decimals(shown, best, digits))


def _walk(layout: Layout) -> Iterator[Layout]:
    yield layout
    for part in layout.parts:
        yield from _walk(part)


def _decimals(values: list[Value], key: str, digits: int) -> str:
    """The decimals of the part of a value that is written so."""
    for v in dict.fromkeys(part for value in values for part in bottom_up(value)):
        if lay_out(v).key == key and not letters(v):
            try:
                return decimals(v, digits).replace("-", "−")
            except WorkingsError:
                return ""
    return ""
