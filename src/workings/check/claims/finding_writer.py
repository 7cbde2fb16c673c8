"""Findings about wrong equations between values: which side is wrong, where in it, what is true, and why.

`FindingWriter` turns a claim and its verdict into a finding. Whether the claim is wrong, and how surely, was decided before.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.roles import is_literal
from workings.check.argument.support import Support
from workings.check.argument.words import decimal, sign, source, where
from workings.check.claims.claim import Claim, Decision
from workings.check.claims.decide import Decider
from workings.check.claims.slips import Slip, density, explain
from workings.check.document.finding import Finding
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import Group, Matrix, Node, Number, Quotient, Root
from workings.check.value.compare import Side, Verdict, certainly_none, compare_as
from workings.check.value.names import is_number
from workings.check.value.reading import choices_text
from workings.check.value.rounding import Grade, Judgement, max_unit, units
from workings.check.value.sets import Members, set_text
from workings.check.value.units import unit_behind
from workings.check.value.value import Table, Value, entries, size

_EXPANSION = 200
"""Two calculations that differ by less than this part of their value may be an approximation on purpose."""
_FLOAT, _FLOAT_DIGITS = arb("1e-9"), 12
"""How near a number of that many digits is to the truth if a computer printed it."""
_NEAR = arb("0.25")
"""The part of the truth by which a printed value may differ from it and still be near."""
_ROUNDED = 5
"""Units of the last printed place within which rounding may explain a difference."""
_GRADES = {
    Grade.ROUNDED: "{you} wrote {printed}; the numbers as written give {truth}: rounded inputs explain the difference",
    Grade.LAST_DIGIT: "{you} wrote {printed}; correct is {truth}: the last digit is off",
    Grade.IMPRECISE: "{you} wrote {printed}; correct is {truth}: the last digits are off",
    Grade.WRONG: "{you} wrote {printed}; correct is {truth}",
}
"""The sentence for each grade."""


@dataclass(frozen=True)
class FindingWriter:
    """Findings about the equations of a document."""

    argument: Argument
    decider: Decider

    def write(self, claim: Claim, decision: Decision, confirmed: bool, in_chain: bool = False) -> Finding | None:
        """Report a claim that is wrong, if it may not be meant so.

        If it is `confirmed`, what stands before it is right; if `in_chain`, all the rest of its chain.
        """
        verdict = decision.verdict
        if verdict is None:
            return self.write_no_value(claim, decision)
        if verdict.mismatch.startswith("rows of"):
            return None  # `check_tables` reports it
        if verdict.mismatch:
            return self.write_mismatch(claim, decision, verdict)
        if verdict.sets is not None:
            return self.write_sets(claim, decision, verdict.sets)
        assert verdict.judgement is not None
        if verdict.judgement.shapes:
            return self.write_shapes(claim, decision, verdict, verdict.judgement)
        return self.write_number(claim, decision, verdict, verdict.judgement, confirmed, in_chain)

    def write_no_value(self, claim: Claim, decision: Decision) -> Finding:
        """A side that has no real value: √−7 = 5."""
        scope = self.decider.closed_scope(claim.line)
        wrong = next(known for known in (claim.one, claim.other) if certainly_none(known.side, scope))
        indices = claim.one.index, claim.other.index
        why = f"It contains {decision.reason}."
        return self.argument.add(
            claim.line, *indices, "likely", "number", "no real value", why, at=wrong.side.node, basis="closed"
        )

    def write_sets(self, claim: Claim, decision: Decision, sets: tuple[Members, Members]) -> Finding:
        """Two sets that are not one."""
        truth, printed = (set_text(found, decimal) for found in sets)
        why = f"You wrote {printed}; correct is {truth}."
        indices = claim.one.index, claim.other.index
        return self.argument.add(claim.line, *indices, "error", "set", truth, why, basis=decision.basis)

    def write_rounding(self, claim: Claim, decision: Decision) -> None:
        """The last digits are off, or only rounded inputs explain the result: a note."""
        verdict = decision.verdict
        assert verdict is not None
        if verdict.grade is Grade.RIGHT or verdict.judgement is None or verdict.judgement.shapes:
            return
        if verdict.grade is Grade.ROUNDED and not (claim.is_closed and verdict.judgement.coarse):
            return
        self.write_number(claim, decision, verdict, verdict.judgement)

    def write_mismatch(self, claim: Claim, decision: Decision, verdict: Verdict) -> Finding:
        """Within one side the shapes do not fit together."""
        wrong = (claim.one, claim.other)[verdict.side]
        why = f"The shapes do not fit: {verdict.mismatch}.{self.origins(claim.line, claim.used)}"
        indices = claim.one.index, claim.other.index
        reading = _read_as(claim, verdict)
        return self.argument.add(
            claim.line, *indices, "error", "shape", "no value", why, reading, wrong.side.node, decision.basis
        )

    def write_shapes(self, claim: Claim, decision: Decision, verdict: Verdict, judgement: Judgement) -> Finding:
        """The sides have two shapes."""
        truth = f"{size(judgement.left)} on the left, {size(judgement.right)} on the right"
        why = f"Both sides must have one shape.{self.origins(claim.line, claim.used)}"
        indices = claim.one.index, claim.other.index
        return self.argument.add(
            claim.line, *indices, "error", "shape", truth, why, _read_as(claim, verdict), basis=decision.basis
        )

    def write_number(
        self,
        claim: Claim,
        decision: Decision,
        verdict: Verdict,
        judgement: Judgement,
        confirmed: bool = False,
        in_chain: bool = False,
    ) -> Finding | None:
        """The sides, or an entry of them, are two numbers. The printed side is the wrong one, otherwise the later one."""
        one, other = claim.one, claim.other
        grade = verdict.grade
        if grade is Grade.WRONG and self.is_forgivable(claim, judgement):
            grade = Grade.IMPRECISE
        unit = max_unit([units(one.side.node), units(other.side.node)], judgement.entry)
        left, right = (decimal(entries(v)[judgement.entry], unit) for v in (judgement.left, judgement.right))
        printed_last = units(other.side.node) is not None or units(one.side.node) is None
        wrong, printed, truth = (other, right, left) if printed_last or confirmed else (one, left, right)
        target = entry_node(wrong.side.node, judgement.entry)
        if verdict.letter is not None:
            texts = [_complex_text(v, one_line(verdict.letter)) for v in (judgement.left, judgement.right)]
            truth, printed = texts if wrong is other else texts[::-1]
        elif is_number(target):
            printed = sign(source(claim.line.formulas[wrong.index], *target.span).replace(" ", ""))
        if verdict.reading.units != "plain":
            told = judgement.left if wrong is other else judgement.right
            printed, truth = _in_its_unit(printed, entries(told)[judgement.entry], wrong.side.node, verdict.reading.units)
        more = f" ({judgement.off} entries differ)" if judgement.off > 1 and verdict.letter is None else ""
        place = where(judgement.left, judgement.entry) if verdict.letter is None else ""
        at = f"In {place}: " if place else ""
        sentence = _GRADES[grade].format(you="you" if at else "You", truth=truth, printed=printed)
        why = f"{at}{sentence}{more}.{self.origins(claim.line, claim.used)}"
        kind = "rounding" if grade is not Grade.WRONG else "matrix" if place else "number"
        support: set[str] = {Support.CHAIN} if in_chain else set()
        if grade is Grade.WRONG and (slip := self.slip(claim, verdict, judgement)) is not None:
            kind = "brackets" if kind == "number" and slip.family == "brackets" else kind
            why = f"{why} {slip.sentence}".rstrip()
            support |= {Support.SLIP} if slip.is_support else set()
        support |= self.by_value(
            claim.line, *(entries(v)[judgement.entry] for v in _right_and_wrong(judgement, wrong is other))
        )
        if place and len(entries(judgement.left)) > 3 and 3 * judgement.off <= len(entries(judgement.left)):
            support.add(Support.ENTRIES)
        truth = f"{truth} in {place}" if place else truth
        level = "note" if kind == "rounding" else "error"
        indices = claim.one.index, claim.other.index
        found = self.argument.add(
            claim.line, *indices, level, kind, truth, why, _read_as(claim, verdict), target, decision.basis, support
        )
        return found if kind != "rounding" else None

    def by_value(self, line: Line, truth: arb, written: arb) -> set[str]:
        """What supports a finding by its numbers: the truth is near, or printed elsewhere."""
        found: set[str] = set()
        if not truth.is_finite() or not written.is_finite() or truth.contains(0):
            return found
        if abs(truth - written) < abs(truth) * _NEAR:
            found.add(Support.NEAR)
        is_small = truth.is_integer() and abs(truth) < 100
        if not is_small and self.argument.printed.is_elsewhere(float(truth), line.number):
            found.add(Support.ELSEWHERE)
        return found

    def is_forgivable(self, claim: Claim, judgement: Judgement) -> bool:
        """Whether a plain difference may be meant: rounded to a whole number, or a rough ≈."""
        x, y = (entries(v)[judgement.entry] for v in (judgement.left, judgement.right))
        if self.is_approximated(claim, x, y):
            return True
        if _is_rounded_to_zeros(x, claim.other.side.node):
            return True
        if not isinstance(judgement.left, Table) and y.is_integer() and not x.is_integer() and abs(x - y) < 1 and abs(x) > 2:
            return any(isinstance(part, Quotient | Root | Number) for part in claim.one.side.node.walk())
        if claim.about and abs(x - y) < abs(x) * _coarsest(claim.one.side.node):
            return True  # 0.08/0.0093 ≈ 8.67: computed with more digits than are shown
        return bool(claim.about and abs(x - y) < abs(x) / 10 and _digits(claim.other.side.node) < 3)

    def is_approximated(self, claim: Claim, x: arb, y: arb) -> bool:
        """Whether two calculations nearly agree, as an expansion with its function does, or the digits of a float."""
        sides = claim.one.side.node, claim.other.side.node
        if not any(map(is_literal, sides)):
            return bool(abs(x - y) < abs(x) / _EXPANSION)
        printed = max(sides, key=_digits)
        is_float = _digits(printed) >= _FLOAT_DIGITS and any(unit > 0 for unit in units(printed) or ())
        return is_float and bool(abs(x - y) < abs(x) * _FLOAT)

    def slip(self, claim: Claim, verdict: Verdict, judgement: Judgement) -> Slip | None:
        """The small change that makes a wrong equation right, if it is hardly an accident."""
        scope, one, other = self.decider.scope(claim.line), claim.one.side.node, claim.other.side.node
        printed, calculation = (one, other) if units(one) is not None and units(other) is None else (other, one)
        value = entries(judgement.left if printed is one else judgement.right)[judgement.entry]
        truth = entries(judgement.right if printed is one else judgement.left)[judgement.entry]
        unit = max_unit([units(printed)], judgement.entry)
        if unit > 0 and abs(value - truth) < _ROUNDED * unit:
            return None  # rounding explains it as well

        def agrees(left: Node, right: Node) -> bool:
            again = compare_as(Side(left, ""), Side(right, ""), scope, False, verdict.reading)
            if again is None or again.grade is not Grade.RIGHT:
                return False
            shown = max_unit([units(right)], judgement.entry)
            if shown == 0 or again.judgement is None:
                return True
            x, y = (entries(v)[judgement.entry] for v in (again.judgement.left, again.judgement.right))
            return bool(abs(x - y) <= shown)  # 0.3 may be a rounded 0.25, but no calculation that gives it

        target = entry_node(printed, judgement.entry)
        return explain(calculation, printed, density(target, value), agrees)

    def write_formula(
        self, line: Line, sides: tuple[int, int], start: int, verdict: Verdict, used: frozenset[Node]
    ) -> Finding:
        """The formula of a name, which stands at `start`, gives another value than the one that is printed now."""
        judgement, printed = verdict.judgement, line.sides[sides[1]]
        assert judgement is not None
        place, names = self.argument.document.place(start).line, self.origins(line, used)
        if judgement.shapes:
            truth = f"{size(judgement.left)} by the formula of line {place}"
            why = f"The formula of line {place} gives another shape{names}."
            return self.argument.add(line, *sides, "likely", "shape", truth, why, basis="formula")
        x, y = (entries(v)[judgement.entry] for v in (judgement.left, judgement.right))
        unit = max_unit([units(printed)], judgement.entry)
        at = where(judgement.left, judgement.entry)
        truth = decimal(x, unit) + (f" in {at}" if at else "")
        why = f"The formula of line {place} gives {truth}{names}."
        kind, reading = "matrix" if at else "number", choices_text(verdict.reading, (printed,))
        node = entry_node(printed, judgement.entry)
        support = self.by_value(line, x, y)
        return self.argument.add(line, *sides, "likely", kind, truth, why, reading, node, "formula", support)

    def origins(self, line: Line, used: frozenset[Node]) -> str:
        """Where the names that were used got their values."""
        view = self.argument.view(line)
        starts = {held.start for name in used for held in view.seen(name)[:1]}
        if not starts:
            return ""
        places = sorted({self.argument.document.place(start).line for start in starts})
        numbers = ", ".join(map(str, places))
        return f" (with the values of line{'s' if len(places) > 1 else ''} {numbers})"


def _right_and_wrong(judgement: Judgement, is_right_wrong: bool) -> tuple[Value, Value]:
    """The side that is taken for right, and the one that is called wrong."""
    return (judgement.left, judgement.right) if is_right_wrong else (judgement.right, judgement.left)


def _complex_text(value: Value, letter: str) -> str:
    """2 − 3i, of the list (2, −3)."""
    real, imaginary = map(decimal, entries(value))
    if imaginary in ("0", "−0"):
        return real
    part = f"{imaginary.lstrip('−') if imaginary not in ('1', '−1') else ''}{letter}"
    minus = imaginary.startswith("−")
    return f"{'−' if minus else ''}{part}" if real == "0" else f"{real} {'−' if minus else '+'} {part}"


def _in_its_unit(printed: str, value: arb, node: Node, reading: str) -> tuple[str, str]:
    """What is printed and what is true, in the unit in which the author wrote it: 90 min, 120 min."""
    size, name = unit_behind(node, binary=reading == "binary")
    number = next((sign(part.text) for part in node.walk() if isinstance(part, Number)), printed) if name else printed
    truth = decimal(value / arb(fmpq(size.numerator, size.denominator)))
    return (f"{number} {name}", f"{truth} {name}") if name else (printed, truth)


def _read_as(claim: Claim, verdict: Verdict) -> str:
    """The reading under which the sides were compared, in words."""
    return choices_text(verdict.reading, (claim.one.side.node, claim.other.side.node))


def entry_node(node: Node, entry: int) -> Node:
    """The printed number of an entry, counted row by row; the whole side if it is not printed as a table."""
    match node:
        case Matrix(rows=rows):
            cells = [cell for row in rows for cell in row]
            return cells[entry] if entry < len(cells) else node
        case Group(open="(" | "[", items=items) if len(items) > 1:
            return items[entry] if entry < len(items) else node
    return node


def _is_rounded_to_zeros(x: arb, printed: Node) -> bool:
    """Whether a printed whole number is x with zeros for its last digits: 7,000,000 for 7,006,652."""
    if not isinstance(printed, Number) or printed.places is not None:
        return False
    zeros = len(printed.text) - len(printed.text.rstrip("0"))
    return zeros > 1 and bool(abs(x - arb(int(printed.value))) <= arb(10) ** zeros / 2)


def _coarsest(node: Node) -> arb:
    """By what part of itself the coarsest decimal of a calculation may be rounded."""
    decimals = [part for part in node.walk() if isinstance(part, Number) and part.places is not None and part.value]
    shares = (arb(10) ** -(part.places or 0) / 2 / abs(_exact(part)) for part in decimals)
    return max(shares, key=float, default=arb(0))


def _exact(number: Number) -> arb:
    return arb(fmpq(number.value.numerator, number.value.denominator))


def _digits(node: Node) -> int:
    """The most digits that a printed number in it has."""
    return max((len(part.text.replace(".", "").lstrip("0")) for part in node.walk() if isinstance(part, Number)), default=0)
