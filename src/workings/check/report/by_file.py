"""One row for each file: its claims, how many were decided, its findings by level, and why it was not checked."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from workings.check.document.finding import LEVELS
from workings.check.document.report_data import ReportData


@dataclass(frozen=True)
class Row:
    """A file in figures."""

    file: str
    formulas: int
    unread: int
    claims: int
    decided: int
    right: int
    wrong: int
    follows: int
    findings: dict[str, int]
    """By level."""
    problem: str
    """Why it was not checked, or not to its end."""


def rows(results: Sequence[ReportData], level: str = "possible") -> list[Row]:
    """A row for each file, in their order; findings below `level` are not counted."""
    return [_row(result, level) for result in results]


def _row(result: ReportData, level: str) -> Row:
    counts = result.coverage
    listed = [found.level for found in result.findings(level)]
    return Row(
        result.name,
        counts.formulas,
        counts.unread,
        counts.claims,
        counts.decided,
        counts.right,
        counts.wrong,
        counts.follows,
        {name: listed.count(name) for name in LEVELS},
        result.failure or result.unfinished,
    )


_COLUMNS = ("formulas", "unread", "claims", "decided", "right", "wrong", "follows")


def csv_form(results: Sequence[ReportData]) -> str:
    """The rows as CSV with a header, for a spreadsheet. A name that a spreadsheet would compute gets a ' before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", *_COLUMNS, *LEVELS, "problem"])
    for row in rows(results):
        figures = [getattr(row, name) for name in _COLUMNS]
        writer.writerow([_cell(row.file), *figures, *(row.findings[name] for name in LEVELS), _cell(row.problem)])
    return out.getvalue().encode("utf-8", "backslashreplace").decode()


def _cell(words: str) -> str:
    """
    >>> _cell("=1+1.md"), _cell("a.md")
    ("'=1+1.md", 'a.md')
    """
    return f"'{words}" if words.startswith(("=", "+", "-", "@", "\t", "\r")) else words
