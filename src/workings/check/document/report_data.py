"""One document with what was found in it, or why it could not be checked: what the printers print and the cache keeps.

As a row of JSON it carries the places and words but not the formulas. The text goes along only where it is not simply the
file's own (a notebook's is put together from its cells).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self, TypeVar

from workings.check.document.coverage import Coverage, coverage
from workings.check.document.document import Document, Place
from workings.check.document.finding import LEVELS, Counts, Finding, Results, Unread
from workings.check.document.relation import Relation

T = TypeVar("T")
Part = Finding | Unread | Relation
"""What has a place in the text."""


@dataclass(frozen=True)
class ReportData:
    """A document and what was found in it; `failure` says why there is nothing, `unfinished` why it is not all."""

    name: str
    document: Document = field(default_factory=lambda: Document("", "", "text"))
    results: Results = field(default_factory=Results)
    failure: str = ""
    unfinished: str = ""

    @property
    def relations(self) -> list[Relation]:
        """Every relation of the document with its role and what came of it, in the order of the text."""
        return self.results.relations

    @property
    def coverage(self) -> Coverage:
        """How much was read and decided; printed, it is a sentence."""
        return coverage(self.results)

    def span(self, part: Part) -> tuple[Place, Place]:
        """Where a claim begins, and the place right behind its last character."""
        first = self.document.place(part.start)
        last = self.document.place(max(part.start, part.end - 1))
        return first, Place(last.line, last.column + (part.end > part.start), last.cell)

    def findings(self, level: str = "likely") -> list[Finding]:
        """The findings at a level or above (`error`, `likely`, `note`, `possible`), in the order of the text."""
        wanted = LEVELS[: LEVELS.index(level) + 1]
        return sorted((found for found in self.results.findings if found.level in wanted), key=lambda found: found.start)

    @classmethod
    def from_row(cls, name: str, row: dict[str, Any], source: str = "") -> Self:
        """Read what `to_row` wrote; a ValueError, KeyError or TypeError says that it is something else."""
        text = source if row["text"] is None else row["text"]
        words = (text, row["kind"], row["failure"], row["unfinished"])
        if not all(isinstance(word, str) for word in words):
            raise ValueError("a row without text, kind or failure")
        cells = [(int(start), int(number)) for start, number in row["cells"]]
        found = Results(
            [_from_dict(Finding, part) for part in row["findings"]],
            [_from_dict(Unread, part) for part in row["unread"]],
            [_from_dict(Relation, part) for part in row["relations"]],
            _from_dict(Counts, row["counts"]),
        )
        if any(part.level not in LEVELS for part in found.findings):
            raise ValueError("a finding with an unknown level")
        parts: list[Part] = [*found.findings, *found.unread, *found.relations]
        if any(not 0 <= part.start <= part.end <= len(text) for part in parts):
            raise ValueError("a place outside the text")
        return cls(name, Document(name, text, row["kind"], cells=cells), found, row["failure"], row["unfinished"])


def to_row(result: ReportData, source: str = "") -> dict[str, Any]:
    """As JSON has it; `source` is the file's own text, which is left out when it is the document's.

    >>> to_row(ReportData("a.md", Document("a.md", "one", "markdown")), "one")["text"] is None
    True
    """
    document, found = result.document, result.results
    return {
        "failure": result.failure,
        "unfinished": result.unfinished,
        "kind": document.kind,
        "text": None if document.text == source else document.text,
        "cells": [list(cell) for cell in document.cells],
        "findings": [asdict(part) for part in found.findings],
        "unread": [asdict(part) for part in found.unread],
        "relations": [asdict(part) for part in found.relations],
        "counts": asdict(found.counts),
    }


def _from_dict(kind: type[T], row: dict[str, Any]) -> T:
    """A dataclass of whole numbers and words, from a row that has exactly these."""
    types = {f.name: int if f.type in ("int", int) else str for f in fields(kind)}  # type: ignore[arg-type]
    if set(row) != set(types) or any(type(row[name]) is not types[name] for name in types):
        raise ValueError(f"a row that is no {kind.__name__}")
    return kind(**row)
