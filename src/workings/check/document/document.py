"""A document as the checker sees it: its text, the formulas in it, listings, prose, headings; every part at its place."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from workings.check.document.finding import Unread


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both counted from 1; in a notebook, of that cell (counted from 1)."""

    line: int
    column: int
    cell: int | None = None

    def __str__(self) -> str:
        where = f"{self.line}:{self.column}"
        return where if self.cell is None else f"cell {self.cell}:{where}"


@dataclass(frozen=True)
class Formula:
    """The source of one formula, with its macros expanded, and where each of its characters comes from."""

    text: str
    start: int
    """Where its first character stands in the document's text."""
    end: int
    display: bool
    origins: tuple[int, ...] | None = None
    """For each character of `text` its position in the document's text; none where that is `start` + i."""
    before: str = ""
    """The prose before it in its paragraph (at most 200 characters), formulas included as they are written."""
    after: str = ""

    def position(self, index: int) -> int:
        """Where character `index` of the formula stands in the document's text."""
        if self.origins is None:
            return self.start + index
        return self.origins[index] if index < len(self.origins) else self.end


@dataclass(frozen=True)
class Listing:
    """A block of code: its language (if it says so), its text and its position."""

    language: str
    text: str
    start: int


@dataclass(frozen=True)
class Prose:
    """A paragraph as it is written, formulas included, and its position."""

    text: str
    start: int


@dataclass(frozen=True)
class Heading:
    """Where a new part of the document begins (a section, a problem, an exercise), and how deep it is: 1 is the widest."""

    text: str
    start: int
    depth: int


@dataclass
class Document:
    """A text and its parts, each list in the order of the text."""

    name: str
    text: str
    kind: str
    """`markdown`, `latex`, `text` or `notebook`."""
    formulas: list[Formula] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    prose: list[Prose] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    cells: list[tuple[int, int]] = field(default_factory=list)
    """For a notebook: where each kept cell begins in `text`, and its number in the notebook."""
    unread: list[Unread] = field(default_factory=list)
    """What could not be taken apart: an environment that never ends, a macro that never stops growing."""

    @cached_property
    def _lines(self) -> list[int]:
        """Where each line begins."""
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def place(self, position: int) -> Place:
        """The line and column of a position in the text."""
        line = bisect_right(self._lines, position)
        column = position - self._lines[line - 1] + 1
        if not self.cells:
            return Place(line, column)
        start, number = self.cells[max(0, bisect_right(self.cells, (position, 1 << 60)) - 1)]
        return Place(line - bisect_right(self._lines, start) + 1, column, number)
