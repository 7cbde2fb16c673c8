"""Findings about wrong equations between values: which side is wrong, where in it, what is true, and why.

`FindingWriter` turns a claim and its verdict into a finding. Whether the claim is wrong, and how surely, was decided before.
"""

from __future__ import annotations

from dataclasses import dataclass

from workings.check.claims.argument import Argument
from workings.check.claims.lines import Line
from workings.check.claims.words import decimal, sign, source, where
from workings.check.latex.latex import latex
from workings.check.latex.syntax import Group, Matrix, Node, Number, Quotient
from workings.check.value.brackets import with_brackets
from workings.check.value.compare import Side, Verdict, certainly_none, compare_as, value_of
from workings.check.value.names import is_number
from workings.check.value.reading import choices_text
from workings.check.value.rounding import Grade, Judgement, max_unit, units
from workings.check.value.scope import Scope
from workings.check.value.value import Table, entries, size

GRADES = {
    Grade.ROUNDED: "{you} wrote {printed}; the numbers as written give {truth}: rounded inputs explain the difference",
    Grade.LAST_DIGIT: "{you} wrote {printed}; correct is {truth}: the last digit is off",
    Grade.IMPRECISE: "{you} wrote {printed}; correct is {truth}: the last digits are off",
    Grade.WRONG: "{you} wrote {printed}; correct is {truth}",
}
"""The sentence for each grade."""


@dataclass(frozen=True)
class Known:
    """A side that has a value: closed, or by the definitions of the names in it."""

    index: int
    side: Side
    used: frozenset[Node] = frozenset()
    called: frozenset[Node] = frozenset()
    """The declared functions in it."""


@dataclass(frozen=True)
class Claim:
    """One side of a line is equal to a later one."""

    line: Line
    one: Known
    other: Known

    @property
    def used(self) -> frozenset[Node]:
        """The names whose definitions give the sides their values."""
        return self.one.used | self.other.used

    @property
    def indices(self) -> tuple[int, int]:
        """Which sides of the line they are."""
        return self.one.index, self.other.index

    def read_as(self, verdict: Verdict) -> str:
        """The reading under which the sides were compared, in words."""
        return choices_text(verdict.reading, (self.one.side.node, self.other.side.node))


def side_at(line: Line, index: int) -> Side:
    """One side of a line with its source."""
    node = line.sides[index]
    return Side(node, line.formulas[index].text[node.span[0] : node.span[1]])


def entry_node(node: Node, entry: int) -> Node:
    """The printed number of an entry, counted row by row; the whole side if it is not printed as a table."""
    match node:
        case Matrix(rows=rows):
            cells = [cell for row in rows for cell in row]
            return cells[entry] if entry < len(cells) else node
        case Group(open="(" | "[", items=items) if len(items) > 1:
            return items[entry] if entry < len(items) else node
    return node


def digits(node: Node) -> int:
    """The most digits that a printed number in it has."""
    return max((len(part.text.replace(".", "").lstrip("0")) for part in node.walk() if isinstance(part, Number)), default=0)


def count(argument: Argument, line: Line, sides: tuple[int, int], right: bool) -> None:
    """One more claim is decided."""
    argument.decided += [(line, index) for index in sides]
    argument.count(right)


@dataclass(frozen=True)
class FindingWriter:
    """Findings about the equations of a document."""

    argument: Argument
    scope: Scope
    nothing: Scope
    """The scope of closed sides, in which no name has a value."""

    def write(self, claim: Claim, verdict: Verdict, level: str, confirmed: bool) -> None:
        """Report a claim that is not right. If it is `confirmed`, its first side is equal to the one before it."""
        if verdict.mismatch.startswith("rows of"):
            return  # `check_tables` reports it
        if verdict.mismatch:
            self.write_mismatch(claim, verdict, level)
            return
        assert verdict.judgement is not None
        if verdict.judgement.shapes:
            self.write_shapes(claim, verdict, verdict.judgement, level)
        else:
            self.write_number(claim, verdict, verdict.judgement, level, confirmed)

    def write_mismatch(self, claim: Claim, verdict: Verdict, level: str) -> None:
        """Within one side the shapes do not fit together."""
        wrong = (claim.one, claim.other)[verdict.side].side.node
        why = f"The shapes do not fit: {verdict.mismatch}.{self.origins(claim.used)}"
        self.argument.add(claim.line, *claim.indices, level, "shape", "no value", why, claim.read_as(verdict), wrong)

    def write_shapes(self, claim: Claim, verdict: Verdict, judgement: Judgement, level: str) -> None:
        """The sides have two shapes."""
        truth = f"{size(judgement.left)} on the left, {size(judgement.right)} on the right"
        why = f"Both sides must have one shape.{self.origins(claim.used)}"
        self.argument.add(claim.line, *claim.indices, level, "shape", truth, why, claim.read_as(verdict))

    def write_number(self, claim: Claim, verdict: Verdict, judgement: Judgement, level: str, confirmed: bool) -> None:
        """The sides, or an entry of them, are two numbers. The printed side is the wrong one, otherwise the later one."""
        one, other = claim.one, claim.other
        if level == "error" and self.is_forgivable(claim, judgement):
            level = "note"
        unit = max_unit([units(one.side.node), units(other.side.node)], judgement.entry)
        left, right = (decimal(entries(v)[judgement.entry], unit) for v in (judgement.left, judgement.right))
        printed_last = units(other.side.node) is not None or units(one.side.node) is None
        wrong, printed, truth = (other, right, left) if printed_last or confirmed else (one, left, right)
        target = entry_node(wrong.side.node, judgement.entry)
        if is_number(target):
            printed = sign(source(claim.line.formulas[wrong.index], *target.span).replace(" ", ""))
        more = f" ({judgement.off} entries differ)" if judgement.off > 1 else ""
        place = where(judgement.left, judgement.entry)
        at = f"In {place}: " if place else ""
        sentence = GRADES[verdict.grade].format(you="you" if at else "You", truth=truth, printed=printed)
        why = f"{at}{sentence}{more}.{self.origins(claim.used)}"
        kind = "rounding" if verdict.grade is not Grade.WRONG else "matrix" if place else "number"
        if kind == "number" and (brackets := self.missing_brackets(claim, verdict)):
            kind, why = "brackets", f"{why} {brackets}"
        truth = f"{truth} in {place}" if place else truth
        self.argument.add(claim.line, *claim.indices, level, kind, truth, why, claim.read_as(verdict), target)

    def is_forgivable(self, claim: Claim, judgement: Judgement) -> bool:
        """Whether a plain difference may be meant: rounded to a whole number, or a rough ≈."""
        x, y = (entries(v)[judgement.entry] for v in (judgement.left, judgement.right))
        if not isinstance(judgement.left, Table) and y.is_integer() and abs(x - y) < 1:
            return any(isinstance(part, Quotient) for part in claim.one.side.node.walk())
        about = claim.line.relations[claim.other.index - 1] == "≈"
        return bool(about and abs(x - y) < abs(x) / 10 and digits(claim.other.side.node) < 3)

    def missing_brackets(self, claim: Claim, verdict: Verdict) -> str:
        """The brackets that would make a wrong equation right, if there are any."""
        for node in with_brackets(claim.one.side.node):
            again = compare_as(Side(node, ""), claim.other.side, self.scope, False, verdict.reading)
            if again is not None and again.grade is Grade.RIGHT:
                return f"It would be right with brackets: {latex(node)}."
        return ""

    def no_value(self, claim: Claim) -> None:
        """A closed equation without a value on one side: √−7 = 5 is wrong, anything else is left undecided."""
        sides = claim.one.side, claim.other.side
        reasons = [certainly_none(side, self.nothing) for side in sides]
        values = [value_of(side, self.nothing) for side in sides]
        finite = any(v is not None and all(x.is_finite() for x in entries(v)) for v in values)
        if not any(reasons) or not finite:
            self.argument.report.counts.claims += 1
            return
        count(self.argument, claim.line, claim.indices, False)
        level = "possible" if self.argument.is_denied(claim.line) else "likely"
        why = f"It contains {next(filter(None, reasons))}."
        wrong = sides[0 if reasons[0] else 1].node
        self.argument.add(claim.line, *claim.indices, level, "number", "no real value", why, at=wrong)

    def write_form(self, line: Line, sides: tuple[int, int], start: int, verdict: Verdict, used: frozenset[Node]) -> None:
        """The formula of a name, which stands at `start`, gives another value than the one that is printed now."""
        judgement, printed = verdict.judgement, line.sides[sides[1]]
        assert judgement is not None
        place, names = self.argument.document.place(start).line, self.origins(used)
        if judgement.shapes:
            truth = f"{size(judgement.left)} by the formula of line {place}"
            why = f"The formula of line {place} gives another shape{names}."
            self.argument.add(line, *sides, "likely", "shape", truth, why)
            return
        x = entries(judgement.left)[judgement.entry]
        unit = max_unit([units(printed)], judgement.entry)
        at = where(judgement.left, judgement.entry)
        truth = decimal(x, unit) + (f" in {at}" if at else "")
        why = f"The formula of line {place} gives {truth}{names}."
        kind, reading = "matrix" if at else "number", choices_text(verdict.reading, (printed,))
        self.argument.add(line, *sides, "likely", kind, truth, why, reading, entry_node(printed, judgement.entry))

    def origins(self, used: frozenset[Node]) -> str:
        """Where the names that were used got their values."""
        if not used:
            return ""
        places = sorted({self.argument.document.place(self.scope.definitions[name][-1].start).line for name in used})
        lines = ", ".join(map(str, places))
        return f" (with the definitions of line{'s' if len(places) > 1 else ''} {lines})"
