"""How one line was read: each relation with its formula, its role and why, the values put in, what came of it and why.

notes.md:14
  so $b = 2a = 12$

  1         b = 2a
  role      definition: a name beside a formula
  outcome   no claim
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workings.check.document.report_data import Part, ReportData
from workings.check.report.excerpt import plain
from workings.check.report.formulas import formula_of, readable
from workings.check.report.links import Links
from workings.check.report.text import BOLD, Style, labelled, outcome_text
from workings.errors import WorkingsError

_NEAREST = 3
"""Lines that are named where a line has nothing to explain."""


@dataclass(frozen=True)
class Line:
    """A line of a file; in a notebook, of a cell."""

    file: str
    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.cell is None else f"{self.file}:{self.cell}:{self.line}"


def read_line(asked: str) -> Line:
    """`notes.md:12`; in a notebook `book.ipynb:3:2`, line 2 of cell 3.

    >>> read_line("notes.md:12"), str(read_line("book.ipynb:3:2"))
    (Line(file='notes.md', line=12, cell=None), 'book.ipynb:3:2')
    """
    found = re.fullmatch(r"(.+?)(?::(?:cell )?(\d+))?:(\d+)", asked, re.DOTALL)
    if found is None or not int(found[3]):
        raise WorkingsError(
            f"--explain needs FILE:LINE, for example notes.md:12 (in a notebook FILE:CELL:LINE); it got {asked!r}."
        )
    return Line(found[1], int(found[3]), int(found[2]) if found[2] else None)


def explain(result: ReportData, asked: Line, style: Style) -> str:
    """The relations and unread formulas on a line, and what was found there."""
    asked = _in_document(result, asked)
    links = Links(result)
    here = [relation for relation in result.relations if _is_on(result, relation, asked)]
    head = [style.paint(plain(str(asked)), BOLD), f"  {plain(_source(result, asked))}"]
    blocks = ["\n".join(head)]
    for at, relation in enumerate(here, 1):
        facts = [(str(at), readable(*formula_of(result, links, relation)))]
        facts += [("role", f"{relation.role}: {relation.evidence}" if relation.evidence else relation.role)]
        facts += [("values", relation.values or "none put in"), ("outcome", outcome_text(result, links, relation))]
        facts += [(found.level, found.why) for found in result.findings("possible") if links.relation_of(found) is relation]
        blocks.append("\n".join(labelled(label, words, style) for label, words in facts))
    blocks += [labelled("unread", part.why, style) for part in result.results.unread if _is_on(result, part, asked)]
    if len(blocks) == 1:
        blocks.append(labelled("nothing", f"No relation of a formula stands on this line.{_nearest(result, asked)}", style))
    return "\n\n".join(blocks)


def _in_document(result: ReportData, asked: Line) -> Line:
    """The line as asked, if the document has it."""
    cells = [number for _, number in result.document.cells]
    if cells and asked.cell is None:
        raise WorkingsError(
            f"{asked.file} is a notebook: name the cell and its line, FILE:CELL:LINE ({asked.file}:{cells[0]}:1)."
        )
    if not cells and asked.cell is not None:
        asked = Line(asked.file, asked.cell)  # FILE:LINE:COLUMN, as reports write it
    last = result.document.place(len(result.document.text)).line
    if (not cells and asked.line > last) or (cells and asked.cell not in cells):
        what = f"cells with text are {', '.join(map(str, cells))}" if cells else f"it has {last} lines"
        raise WorkingsError(f"There is no {asked}: {what}.")
    return asked


def _is_on(result: ReportData, part: Part, asked: Line) -> bool:
    first, last = result.span(part)
    return first.line <= asked.line <= last.line and first.cell == asked.cell


def _source(result: ReportData, asked: Line) -> str:
    """The text of the line."""
    lines = result.document.text.split("\n")
    start = next((start for start, number in result.document.cells if number == asked.cell), 0)
    at = result.document.text.count("\n", 0, start) + asked.line - 1
    return lines[at] if at < len(lines) else ""


def _nearest(result: ReportData, asked: Line) -> str:
    """The lines nearby that have something to explain."""
    places = {result.document.place(relation.start) for relation in result.relations}
    lines = sorted({place.line for place in places if place.cell == asked.cell}, key=lambda line: abs(line - asked.line))
    named = ", ".join(map(str, sorted(lines[:_NEAREST])))
    return f" The nearest lines that have one: {named}." if named else ""
