"""What `check` gives: a document, what was found in it, and every form in which that can be printed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

from workings.check.document.finding import LEVELS
from workings.check.document.report_data import ReportData
from workings.errors import WorkingsError


@dataclass(frozen=True, repr=False)
class Report(ReportData):
    """The report on one document.

    `findings(level)` is what is wrong, `relations` how everything was read, `coverage` how much was decided. It prints
    itself in a terminal and in a notebook; `text`, `html`, `json` and `csv` give it as a string.
    """

    def text(self, level: str = "likely", *, width: int = 100, colour: bool = False, undecided: bool = False) -> str:
        """The findings and the summary as `workings check` prints them; with `undecided`, what was left open, too."""
        from workings.check.report.text import Style, failures, text

        style = Style(width, colour, _check_level(level), undecided=undecided)
        return "\n".join(filter(None, [text([self], style), failures([self])]))

    def html(self, level: str = "likely") -> str:
        """A self-contained page: the lines of the document, each finding below the line it is about."""
        from workings.check.report.html import html

        return html([self], _check_level(level))

    def json(self, level: str = "likely") -> str:
        """Everything as JSON; docs/check.md has the fields."""
        from workings.check.report.json_form import json_form

        return json_form([self], _check_level(level))

    def csv(self) -> str:
        """The document in figures, for a spreadsheet: the table that `workings check --csv` writes, with one row."""
        from workings.check.report.by_file import csv_form

        return csv_form([self])

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from workings.check.report.notebook import of_report

        return of_report(self, str(self))


def _check_level(level: str) -> str:
    if level not in LEVELS:
        raise WorkingsError(f"A level is one of {', '.join(LEVELS)}, not {level!r}.")
    return level
