"""Assumptions: everything an exact result rests on that was not proved.

While a tensor operation runs, `assume` notes what it had to take for granted; the operation's results carry the notes on
(`x.assumptions`), and so does everything computed from them. `recording` collects all notes of a block, including those
behind a Python `if`, which no tensor can carry.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workings.exact.numbers.value import Value


@dataclass(frozen=True)
class Assumption:
    """One thing taken for granted.

    Kinds: `recovered` (a float read as the number it is the float of), `rounded` (a float kept as the fraction it is),
    `order` (a comparison decided at sample values), `zero` (a value too small to tell from 0), `random` (a random draw),
    `mask` (a huge float read as −∞). What compares or is read also says so as data: `expression` `relation` `value`.
    """

    kind: str
    text: str
    expression: Value | None = field(default=None, compare=False, repr=False)
    relation: str = field(default="", compare=False, repr=False)
    """<, =, > or ≠, between the expression and the value; ≈ where the expression was taken as a float."""
    value: Value | None = field(default=None, compare=False, repr=False)
    where: str = field(default="", compare=False)
    """The line of the program that made it: model.py:12."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"

    def __lt__(self, other: Assumption) -> bool:
        return (self.kind, self.text) < (other.kind, other.text)


Notes = frozenset[Assumption]
NONE: Notes = frozenset()


class _Local(threading.local):
    def __init__(self) -> None:
        self.open: list[set[Assumption]] = []


_local = _Local()
_MOST = 50
"""A result names at most this many assumptions of one kind; one more stands for the rest."""
_MORE = "… and more of this kind"


def assume(kind: str, text: str, expression: Value | None = None, relation: str = "", value: Value | None = None) -> None:
    """Note an assumption of the operation that is running, in every open recording."""
    if not _local.open:
        return
    pass_on([Assumption(kind, text, expression, relation, value, _line_of_program())])


def pass_on(made: Iterable[Assumption]) -> None:
    """Put notes that were made before into every open recording."""
    for notes in _local.open:
        notes.update(made)


_PACKAGE = Path(__file__).parents[2]


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of PyTorch and of exact tensors: what runs there, somebody else called."""
    torch = sys.modules.get("torch")
    folders = [_PACKAGE / "exact", *([Path(torch.__file__).parent] if torch and torch.__file__ else [])]
    return tuple(f"{folder}{os.sep}" for folder in folders)


def _line_of_program() -> str:
    """The file and line of the code that called PyTorch or exact tensors."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        passing = file.startswith((*_libraries(), "<frozen")) or file == contextlib.__file__
        if not passing and os.path.dirname(file) != str(_PACKAGE):  # the front door of the package calls, too
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


@contextlib.contextmanager
def recording(*, outwards: bool = True) -> Iterator[set[Assumption]]:
    """Collect the assumptions made inside the block; those outside collect them too, unless `outwards` is false.

    >>> from workings import exact
    >>> w = exact.symbols(w=0.3)
    >>> with exact.recording() as notes:
    ...     positive = bool(w > 0)
    >>> [str(note) for note in notes]
    ['order: w > 0 (decided at w = 3/10)']
    """
    notes: set[Assumption] = set()
    around = _local.open
    _local.open = [*around, notes] if outwards else [notes]
    try:
        yield notes
    finally:
        _local.open = around if not outwards else [n for n in _local.open if n is not notes]


def merge(parts: list[Notes]) -> Notes:
    """The union of what several operands rest on, kept short."""
    longest = max(parts, key=len)
    if all(part is longest or part <= longest for part in parts):
        return longest if isinstance(longest, frozenset) else frozenset(longest)
    union: set[Assumption] = set().union(*parts)
    if len(union) <= _MOST:
        return frozenset(union)
    kept: list[Assumption] = []
    for kind in sorted({note.kind for note in union}):
        of_kind = sorted(note for note in union if note.kind == kind)
        kept += of_kind[:_MOST]
        if len(of_kind) > _MOST:
            kept.append(Assumption(kind, _MORE))
    return frozenset(kept)


def is_cut(note: Assumption) -> bool:
    """Whether this note stands for others that are not kept."""
    return note.text == _MORE
