"""The lines of a document in order: roles are given, claims between values decided, causes blamed, values carried on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from workings.check.argument.align import align
from workings.check.argument.argument import DROPPED, Argument, Reading
from workings.check.argument.clause import Clause
from workings.check.argument.lines import ORDER, Line
from workings.check.argument.notation import features
from workings.check.argument.roles import DECIDED, SUPPOSED, is_literal, names_in, role
from workings.check.argument.roles import Known as KnownHere
from workings.check.argument.words import decimal
from workings.check.claims.carry import Carrier
from workings.check.claims.claim import Claim, Decision, Known, side_at
from workings.check.claims.decide import Decider
from workings.check.claims.finding_writer import FindingWriter
from workings.check.claims.identities import Identities
from workings.check.claims.orders import Orders
from workings.check.claims.restated import Restated
from workings.check.document.finding import Finding
from workings.check.document.relation import Outcome, Role
from workings.check.latex.syntax import Dots, Labelled
from workings.check.value.compare import Side, compare, value_of
from workings.check.value.imaginary import imaginary_unit
from workings.check.value.names import is_closed, is_name, is_number
from workings.check.value.notation import own_notation
from workings.check.value.rounding import Grade, max_unit, units
from workings.check.value.scope import Rule
from workings.check.value.sets import is_set
from workings.check.value.value import entries


class Numbers:
    """The numbers of a document, line by line."""

    def __init__(self, argument: Argument, identities: Identities) -> None:
        self.argument, self.identities = argument, identities
        self.decider = Decider(argument)
        self.writer = FindingWriter(argument, self.decider)
        self.restated = Restated(argument, self.decider, self.writer)
        self.carrier = Carrier(argument, self.decider, self.restated)
        self.orders = Orders(argument, self.decider)
        self.before: tuple[Line, Clause] | None = None
        self.supposed_until = 0
        """The end of the paragraph in which something false between numbers was supposed."""

    def read_line(self, line: Line) -> None:
        """Give each relation its role, decide what it claims, then carry what it defines."""
        clause = self.argument.clause(line, *(self.before or (None, None)))
        self.before = line, clause
        self.give_roles(line, clause)
        for index, side in enumerate(line.sides):
            for part in side.walk():
                if isinstance(part, Labelled) and is_number(part.label) and is_closed(part.body):
                    self.check_label(line, index, part)
        for index, relation in enumerate(line.relations):
            reading = self.argument.reading(line, index)
            if relation in ORDER | DECIDED and reading.role is Role.CLAIM:
                self.orders.check(line, index, clause)
            elif relation == "→":
                self.check_arrow(line, index)
        for run in line.runs():
            if len(run) > 1:
                self.read_run(line, run, clause)
        if line.relations[:1] == ["←"]:
            self.carrier.update(line)

    def give_roles(self, line: Line, clause: Clause) -> None:
        """The role of every relation of a line."""
        view = self.argument.view(line)
        names = set().union(*map(names_in, line.sides)) | {
            self.argument.values.name(side) for side in line.sides if is_name(side)
        }
        scope = self.decider.scope(line)
        valued = {name for name in names if self.argument.values.held and value_of(Side(name, ""), scope) is not None}
        valued |= {name for name in names if self.argument.values.rules and is_set(name, scope)}
        if len(line.sides) > 1 and (letter := imaginary_unit((line.sides[0], line.sides[1]), scope.imaginary)) is not None:
            valued.add(letter)
        known = KnownHere(valued, view.formulas(), self.identities.agree, lambda name: scope.function(name) is not None)
        for index in range(len(line.relations)):
            self.argument.note_role(line, index, *self.supposed(line, index, role(line, index, clause, known)))
        own = own_notation(line.sides[0], line.sides[1], True) if line.relations else None
        if own is not None and self.argument.reading(line, 0).role is Role.RULE:
            rule = Rule(own[1], line.sides[1], line.start, self.argument.part(line))
            self.argument.values.set_notation(own[0], rule, line.context)

    def supposed(self, line: Line, index: int, decision: tuple[Role, str]) -> tuple[Role, str]:
        """A role; between numbers, what is said in the paragraph of «suppose 2 + 2 = 5» only follows from that."""
        if decision == (Role.HYPOTHETICAL, SUPPOSED):
            text = self.argument.document.text
            end = text.find("\n\n", line.start)
            self.supposed_until = end if end >= 0 else len(text)
        elif line.start < self.supposed_until and decision[0] is Role.CLAIM and is_closed(line.sides[index]):
            return Role.HYPOTHETICAL, "it follows from what is supposed before it"
        return decision

    def check_label(self, line: Line, index: int, node: Labelled) -> None:
        """A number below a brace is the value of what stands above it."""
        text = line.formulas[index].text
        body, label = (Side(part, text[part.span[0] : part.span[1]]) for part in (node.body, node.label))
        verdict = compare(body, label, self.decider.closed_scope(line))
        if verdict is None or verdict.judgement is None:
            return
        if verdict.grade is Grade.WRONG and not verdict.judgement.shapes:
            truth = decimal(entries(verdict.judgement.left)[0], max_unit([units(node.label)], 0))
            why = f"You wrote {label.text} below the brace; correct is {truth}."
            self.argument.add(line, index, index, "likely", "number", truth, why, at=node.label, basis="below a brace")

    def check_arrow(self, line: Line, index: int) -> None:
        """a → b between closed sides: b is a, rounded. Anything else that an arrow may mean is no claim."""
        left, right = side_at(line, index), side_at(line, index + 1)
        if is_closed(left.node) and is_closed(right.node):
            verdict = compare(left, right, self.decider.closed_scope(line), about=True)
            if verdict is not None and verdict.grade <= Grade.ROUNDED:
                self.argument.decide(line, index, True)

    def read_run(self, line: Line, run: list[int], clause: Clause) -> None:
        """A run of equalities: learn from numbers put in, compare neighbours, blame the first cause, carry values."""
        cause = -1
        for part in self.claiming_parts(line, run):
            self.learn(line, part, clause)
            known = [found for k in part if (found := self.decider.known(line, k, k == run[0])) is not None]
            self.explain_unknown(line, part, known)
            cause = max(cause, self.decide_run(line, known))
        first = self.argument.reading(line, run[0]).role
        if first not in DROPPED:
            self.carrier.carry(line, run, clause, cause)
        elif first is Role.EQUATION and len(run) == 2:
            self.restated.remember_equation(line, run[0])
        elif first is Role.CONDITION:
            self.carrier.suppose(line, run)

    def claiming_parts(self, line: Line, run: list[int]) -> Iterator[list[int]]:
        """The parts of a run whose sides are stated to be equal."""
        part = [run[0]]
        for k in run[1:]:
            if self.argument.reading(line, k - 1).role in (*DROPPED, Role.FRAGMENT):
                if len(part) > 1:
                    yield part
                part = []
            part.append(k)
        if len(part) > 1:
            yield part

    def explain_unknown(self, line: Line, part: list[int], known: list[Known]) -> None:
        """Why a relation of the part cannot be decided: a side without a value."""
        valued = {found.index for found in known}
        for k in part[1:]:
            reading = self.argument.reading(line, k - 1)
            missing = [line.sides[i] for i in (k - 1, k) if i not in valued]
            if reading.outcome is Outcome.UNDECIDED and missing:
                reading.reason = self.decider.reason(line, tuple(missing))

    def decide_run(self, line: Line, known: list[Known]) -> int:
        """a = b ≈ c: every side that has a value against the next one that has.

        The result is where the error stands that the last side goes back to: the first one of the run, or one that it
        follows from; −1 for none. The side that its two neighbours contradict is blamed, otherwise the first break.
        """
        claims = [Claim(line, one, other) for one, other in pairwise(known) if not _leaves_out(line, one, other)]
        decisions = [self.decider.decide(claim) for claim in claims]
        cause, found, is_confirmed, skipped = -1, False, False, False
        for i, (claim, decision) in enumerate(zip(claims, decisions, strict=True)):
            reading = self.argument.reading(line, claim.other.index - 1)
            if skipped:  # the side before the odd one and the side after it agree
                reading.outcome, reading.cause, skipped = Outcome.FOLLOWS, cause, False
            elif decision.outcome is not Outcome.WRONG:
                self.note_decision(claim, decision, reading)
                is_confirmed = is_confirmed or decision.outcome is Outcome.RIGHT
                cause = max(cause, decision.cause)
            else:
                skipped = i + 1 < len(claims) and self.is_equal(claim.one, claims[i + 1].other, line)
                written = None
                is_plain = not features(claim.one.side.node, claim.other.side.node)  # wrong whatever stands before it
                if not found or skipped or is_plain:
                    others = [other.outcome for j, other in enumerate(decisions) if j != i and not (skipped and j == i + 1)]
                    in_chain = skipped or (Outcome.RIGHT in others and Outcome.WRONG not in others)
                    written = self.writer.write(claim, decision, is_confirmed or skipped, in_chain)
                self.note_error(reading, decision, written, cause if found else -1)
                if written is not None and reading.outcome is Outcome.WRONG and not found:
                    cause, found = written.start, True
        return cause

    def is_equal(self, one: Known, other: Known, line: Line) -> bool:
        """Whether two sides of a line are equal."""
        return self.decider.decide(Claim(line, one, other)).outcome in (Outcome.RIGHT, Outcome.FOLLOWS)

    def note_decision(self, claim: Claim, decision: Decision, reading: Reading) -> None:
        """A claim that is right, follows from an error, or cannot be decided."""
        if reading.outcome is Outcome.NO_CLAIM and decision.outcome is Outcome.UNDECIDED:
            return
        reading.outcome, reading.reason = decision.outcome, decision.reason
        reading.values, reading.cause = decision.values, decision.cause
        if decision.verdict is not None:
            self.writer.write_rounding(claim, decision)
            self.carrier.remember_behind(claim, decision.verdict)

    def note_error(self, reading: Reading, decision: Decision, written: Finding | None, before: int) -> None:
        """A claim that is wrong, unless its finding is only possible, or a rounding; `before` is an error before it."""
        reading.outcome, reading.values = Outcome.WRONG, decision.values
        if written is not None and written.level == "possible":
            reading.outcome, reading.reason = Outcome.UNDECIDED, "its letters may mean something else here"
        elif written is None and before >= 0:
            reading.cause = before
        elif written is None:
            reading.outcome, reading.reason = Outcome.UNDECIDED, "it may be a rounding"

    def learn(self, line: Line, part: list[int], clause: Clause) -> None:
        """A formula in letters, then the same in numbers: align them, keep the letters' values, compare with those known."""
        for one, other in pairwise(part):
            general, numbers = line.sides[one], line.sides[other]
            if is_closed(general) or not is_closed(numbers) or is_literal(numbers):
                continue
            if is_name(general):
                found_formula = self.argument.view(line).formulas().get(self.argument.values.name(general))
                if found_formula is None:
                    continue
                general = found_formula
            found = align(general, numbers)
            if found is None:
                continue
            if not found.contradicts_itself():
                self.decider.aligned[line.number, other] = Side(general, ""), found.scope()
                self.carrier.learn(line, other, found, clause)


def _leaves_out(line: Line, one: Known, other: Known) -> bool:
    """a = … = b: what is left out between two sides may be a list, not a chain."""
    return any(isinstance(side, Dots) for side in line.sides[one.index + 1 : other.index])
