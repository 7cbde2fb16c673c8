"""A document being checked: its formulas read into lines, and the report that grows."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from workings.check.claims.around import has_scale, is_denied, is_supposed
from workings.check.claims.lines import Line, lines
from workings.check.claims.words import source
from workings.check.document.document import Document, Formula
from workings.check.document.finding import Finding, Report, Unread
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.pieces import read_pieces
from workings.check.latex.superscripts import as_indices, layer_bases
from workings.check.latex.syntax import Node, Symbol

STEP = re.compile(r"(?:step|part|solution|answer|proof|hint|remark)\b|\(?[a-z]\)", re.I)
"""Headings that go on with the part they stand in."""
DEEPEST_PART = 5
"""Headings down to this depth begin a new part: definitions of another part count for less."""


@dataclass
class Argument:
    """The document, its lines in order, and what was found so far."""

    document: Document
    lines: list[Line] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    lone_letters: set[Node] = field(default_factory=set)
    """The letters that stand alone as a formula, as when a letter is introduced."""
    decided: list[tuple[Line, int]] = field(default_factory=list)
    """The sides that took part in a decided claim."""

    def __post_init__(self) -> None:
        wide = [h for h in self.document.headings if h.depth <= DEEPEST_PART and not STEP.match(h.text.strip(" #*"))]
        self._parts = [heading.start for heading in wide]
        self._depths = [0, *(heading.depth for heading in wide)]
        formulas = [formula for formula in self.document.formulas if any(map(str.isalnum, formula.text))]
        trees = [(formula, self._read(formula)) for formula in formulas]
        bases: set[Node] = set().union(*(layer_bases(tree) for _, tree in trees if tree is not None))
        self.lone_letters = {tree for _, tree in trees if isinstance(tree, Symbol)}
        before: tuple[Formula, Line] | None = None
        for formula, tree in trees:
            if tree is None:
                before = None
                continue
            continued = before[1] if before is not None and self._follows(before[0], formula) else None
            found = lines(as_indices(tree, bases), formula, continued)
            self.lines += [line for line in found if line is not continued]
            last = found[-1] if found else None
            if last is not None and has_scale(formula.after):
                last.units.add(len(last.sides) - 1)
            before = (formula, last) if last is not None and formula.display else None

    def _read(self, formula: Formula) -> Node | None:
        """The tree of a formula, whole or what can be read of it."""
        counts = self.report.counts
        counts.formulas += 1
        try:
            return parse(formula.text)
        except ParseError as error:
            pieces = read_pieces(formula.text) if len(formula.text) < 20_000 else None
            if pieces is not None and pieces[1] == 0:
                return pieces[0]
            counts.unread += 1
            self.report.unread.append(Unread(formula.start, formula.end, error.reason))
            return pieces[0] if pieces is not None else None

    def _follows(self, one: Formula, other: Formula) -> bool:
        """Whether nothing but blanks stands between two displayed formulas."""
        between = self.document.text[one.end : other.start]
        return (
            other.display and len(between) < 60 and not re.sub(r"[\s$.,;]|\\[\[\]]|\\(?:begin|end)\{\w+\*?\}", "", between)
        )

    def count(self, right: bool) -> None:
        """One more claim is decided."""
        counts = self.report.counts
        counts.claims += 1
        counts.decided += 1
        counts.right += right
        counts.wrong += not right

    def give_up(self, line: Line, error: Exception) -> None:
        """A line that cannot be computed is unread."""
        formula = line.formulas[0]
        self.report.counts.unread += 1
        self.report.unread.append(Unread(formula.start, formula.end, f"It could not be computed: {error}"))

    def part(self, line: Line) -> int:
        """The part of the document (problem, section) that a line stands in."""
        return bisect_right(self._parts, line.formulas[0].start)

    def holds(self, given: int, part: int) -> bool:
        """Whether what is given in one part holds in another: in itself, and in the parts of its own."""
        if given > part:
            return False
        deepest = min(self._depths[given + 1 : part + 1], default=99)
        return given == part or given == 0 or self._depths[given] < deepest

    def is_supposed(self, line: Line) -> bool:
        """Whether the words before a line make it an assumption, or an equation to be solved."""
        return is_supposed(line.formulas[0].before)

    def is_denied(self, line: Line) -> bool:
        """Whether the words around a line say that it is wrong, assumed, or somebody else's."""
        return is_denied(line.formulas[0].before, line.formulas[-1].after)

    def in_doubt(self, line: Line) -> bool:
        """Whether the words around a line make it an assumption, or say that it is wrong."""
        return self.is_supposed(line) or self.is_denied(line)

    def window(self, line: Line, before: int = 1500, after: int = 300) -> str:
        """The text around a line, formulas included."""
        return self.document.text[max(0, line.start - before) : line.start + after]

    def has_finding(self, line: Line, index: int) -> bool:
        """Whether something sure was already found in a side."""
        formula, (first, last) = line.formulas[index], line.sides[index].span
        start, end = formula.position(first), formula.position(max(first, last - 1))
        return any(start <= f.start <= end and f.level in ("error", "likely") for f in self.report.findings)

    def add_at(self, start: int, end: int, level: str, kind: str, truth: str, why: str, reading: str = "") -> None:
        """Report a place of the text that is no side of a line."""
        says = " ".join(self.document.text[start:end].split())[:160]
        self.report.findings.append(Finding(start, end, level, kind, says, truth, why, reading))

    def add(
        self,
        line: Line,
        first: int,
        last: int,
        level: str,
        kind: str,
        truth: str,
        why: str,
        reading: str = "",
        at: Node | None = None,
    ) -> None:
        """Report what sides `first` … `last` of a line say; `at` is the very part that is wrong."""
        node = at if at is not None else line.sides[last]
        formula = line.formulas[last]
        start = formula.position(node.span[0])
        end = max(start + 1, formula.position(node.span[1] - 1) + 1) if node.span[1] > node.span[0] else start + 1
        self.report.findings.append(
            Finding(
                start, min(end, len(self.document.text)), level, kind, self.quote(line, first, last), truth, why, reading
            )
        )

    def quote(self, line: Line, first: int, last: int) -> str:
        """A part of a chain as it is written."""
        texts = [self.text(line, index) for index in (first, last)]
        if first == last:
            return texts[0]
        relation = line.relations[last - 1] if last > 0 else "="
        return f"{texts[0]} {relation} {texts[1]}"

    def text(self, line: Line, index: int) -> str:
        """The source of one side."""
        return source(line.formulas[index], *line.sides[index].span)
