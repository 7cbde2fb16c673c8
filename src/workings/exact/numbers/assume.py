"""Assumptions: everything an exact result rests on that was not proved.

While a tensor operation runs, `assume` notes what it had to take for granted; the operation's results carry the notes on
(`x.assumptions`), and so does everything computed from them. `recording` collects all notes of a block, including those
behind a Python `if`, which no tensor can carry.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import NamedTuple


class Assumption(NamedTuple):
    """One thing taken for granted.

    Kinds: `rounded` (a float that was kept as the fraction it is), `order` (a comparison decided at sample values),
    `zero` (a value too small to tell from 0), `random` (a random draw), `mask` (a huge float read as −∞).
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


Notes = frozenset[Assumption]
NONE: Notes = frozenset()


class _Local(threading.local):
    def __init__(self) -> None:
        self.open: list[set[Assumption]] = []


_local = _Local()
_MOST = 50
"""A result names at most this many assumptions of one kind; one more stands for the rest."""


def assume(kind: str, text: str) -> None:
    """Note an assumption of the operation that is running, in every open recording."""
    note = Assumption(kind, text)
    for notes in _local.open:
        notes.add(note)


@contextlib.contextmanager
def recording() -> Iterator[set[Assumption]]:
    """Collect the assumptions made inside the block.

    >>> from workings import exact
    >>> w = exact.symbols(w=0.3)
    >>> with exact.recording() as notes:
    ...     positive = bool(w > 0)
    >>> [str(note) for note in notes]
    ['order: w > 0 (decided at w = 3/10)']
    """
    notes: set[Assumption] = set()
    _local.open.append(notes)
    try:
        yield notes
    finally:
        _local.open = [n for n in _local.open if n is not notes]


def merge(parts: list[Notes]) -> Notes:
    """The union of what several operands rest on, kept short."""
    union: set[Assumption] = set().union(*parts)
    if len(union) <= _MOST:
        return frozenset(union)
    kept: list[Assumption] = []
    for kind in sorted({note.kind for note in union}):
        of_kind = sorted(note for note in union if note.kind == kind)
        kept += of_kind[:_MOST]
        if len(of_kind) > _MOST:
            kept.append(Assumption(kind, "… and more of this kind"))
    return frozenset(kept)
