"""A name that gets a value, against what the same problem says of it elsewhere.

That is its formula, its recurrence, the matrix whose entry it is, the value that was computed for it, or the equation that
it should solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flint import arb

from workings.check.argument.argument import CLAIMING, Argument
from workings.check.argument.clause import Clause, Cue, continues_list
from workings.check.argument.contexts import Context, Visibility
from workings.check.argument.lines import Line
from workings.check.argument.roles import is_literal, names_in
from workings.check.argument.values import Held, View
from workings.check.argument.words import decimal, value_text
from workings.check.claims.claim import is_same, side_at
from workings.check.claims.decide import Decider
from workings.check.claims.finding_writer import FindingWriter
from workings.check.document.document import Formula
from workings.check.document.relation import Role
from workings.check.latex.syntax import Node, Script
from workings.check.value.compare import Side, Verdict, compare, value_of
from workings.check.value.names import is_closed
from workings.check.value.recurrences import Recurrence, is_turn, recurrence, turn
from workings.check.value.rounding import Grade, max_unit, one_shape, units
from workings.check.value.scope import is_transpose
from workings.check.value.value import Table, entries, size

_NEAR = 400
"""Characters within which a value that is stated after an equation is meant as its solution."""


@dataclass(frozen=True, eq=False)
class Equation:
    """An equation to be solved, the names in it, and where it stands."""

    left: Side
    right: Side
    names: frozenset[Node]
    context: Context
    end: int
    solved: Formula | None = None
    """Where one solution was stated: those that follow in the same list are solutions too."""


@dataclass
class Restated:
    """What the names of a document were said to be, to compare with what they are said to be next."""

    argument: Argument
    decider: Decider
    writer: FindingWriter
    recurrences: dict[Context, dict[Node, Recurrence]] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)

    def check(self, line: Line, k: int, run: list[int], held: Held, clause: Clause) -> None:
        """Side `k` is a name that gets the value of its run."""
        printed = next((i for i in run if i > k and is_closed(line.sides[i])), None)
        if printed is None:
            return
        calculates = any(not is_literal(line.sides[i]) for i in run if i > k)
        if not calculates:
            self.check_formula(line, k, printed)
            self.check_turn(line, k, printed)
            self.check_entry(line, k, printed, held)
            self.check_answer(line, k, printed, held, clause)
        self.check_transpose(line, k, printed, held)
        self.check_solution(line, k, printed, held)

    def check_formula(self, line: Line, k: int, printed: int) -> None:
        """A printed value against the formula that the name was set equal to before."""
        placed = self.argument.values.formula(line.sides[k], line.context)
        if placed is None or not isinstance(placed.what, Node) or placed.start == line.start:
            return
        view = self.argument.view(line)
        used: set[Node] = set()
        form = Side(placed.what, "")
        compare(form, form, replace(self.decider.scope(line), used=used))
        verdicts = self.verdicts(line, form, side_at(line, printed), frozenset(used))
        if not verdicts or not used:
            return
        if any(verdict.grade is not Grade.WRONG for verdict in verdicts):
            self.decide(line, printed, True)
            return
        verdict = verdicts[0]
        judgement = verdict.judgement
        if verdict.mismatch or judgement is None or judgement.wide:
            return
        if judgement.shapes and not isinstance(judgement.right, Table):
            return
        if (
            len(view.seen(self.argument.values.name(line.sides[k]))) > 0
            or view.visibility(frozenset(used)) is not Visibility.OWN
        ):
            return  # it had another value since: another case
        self.decide(line, printed, False)
        self.writer.write_formula(line, (k, printed), placed.start, verdict, frozenset(used))

    def verdicts(self, line: Line, one: Side, other: Side, names: frozenset[Node]) -> list[Verdict]:
        """The verdicts for every choice of values of the names."""
        about = "≈" in line.relations
        found = [
            compare(one, other, self.decider.scope(line, chosen), about)
            for chosen, _ in self.argument.view(line).choices(names)
        ]
        return [verdict for verdict in found if verdict is not None]

    def decide(self, line: Line, printed: int, right: bool) -> None:
        """What a name is said to be is a claim here: something else says what it must be."""
        reading = self.argument.reading(line, printed - 1)
        if reading.role not in CLAIMING:
            reading.role, reading.evidence = Role.CLAIM, "it can be compared with what was said of the name before"
        self.argument.decide(line, printed - 1, right)

    def remember_recurrence(self, line: Line, one: Node, other: Node) -> None:
        """A recurrence that is stated makes the turns of an earlier one old."""
        found = recurrence(one, other)
        if found is None:
            return
        self.recurrences.setdefault(line.context.problem, {})[found[0]] = found[1]
        for name in [name for name in self.argument.values.held if is_turn(name, found[0])]:
            self.argument.values.forget(name, line.context.problem, line.start)

    def check_turn(self, line: Line, k: int, printed: int) -> None:
        """a_3 = 16 against a_n = 2 a_{n−1} + 1 with a_2 known."""
        known = self.recurrences.get(line.context.problem, {})
        step = turn(self.argument.values.name(line.sides[k]), {}, known)
        if step is None or step[1] == 0 or units(line.sides[printed]) is None:
            return
        used: set[Node] = set()
        scope = replace(self.decider.scope(line), used=used).bound({step[0].letter: arb(step[1])})
        verdict = compare(Side(step[0].body, ""), side_at(line, printed), scope, "≈" in line.relations)
        if (
            verdict is None
            or verdict.mismatch
            or not used
            or self.argument.view(line).visibility(frozenset(used)) is not Visibility.OWN
        ):
            return
        wrong = verdict.grade is Grade.WRONG and verdict.judgement is not None and not verdict.judgement.shapes
        self.decide(line, printed, not wrong)
        if wrong and verdict.judgement is not None:
            true = entries(verdict.judgement.left)[verdict.judgement.entry]
            truth = decimal(true, max_unit([units(line.sides[printed])], 0))
            why = f"The recurrence gives {truth}."
            self.argument.add(line, k, printed, "likely", "recurrence", truth, why, basis="letters")

    def check_entry(self, line: Line, k: int, printed: int, held: Held) -> None:
        """S_{11} = 6 where S is a known matrix."""
        node = line.sides[k]
        if not isinstance(node, Script) or node.below is None or node.above is not None:
            return
        view = self.argument.view(line)
        matrix, how = self.argument.values.seen(node.base, view.here, view.position)
        if not matrix or how is not Visibility.OWN or isinstance(held.stated.value, Table) or view.has_value(node):
            return
        table = matrix[0].stated.value
        if not isinstance(table, Table) or table.is_vector:
            return
        entry = value_of(Side(node, ""), self.decider.scope(line))
        if entry is None or isinstance(entry, Table):
            return
        right = is_same(entry, held.stated.value)
        self.decide(line, printed, right)
        if not right:
            truth = decimal(entry, max_unit([units(line.sides[printed])], 0))
            place = self.argument.document.place(matrix[0].start).line
            why = f"The matrix of line {place} has {truth} there."
            self.argument.add(line, k, printed, "likely", "matrix", truth, why, basis="letters")

    def check_transpose(self, line: Line, k: int, printed: int, held: Held) -> None:
        """K^T = … where K is known."""
        match line.sides[k]:
            case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
                name = base if below is None else Script(base, below)
            case _:
                return
        view = self.argument.view(line)
        known, how = self.argument.values.seen(name, view.here, view.position)
        value = held.stated.value
        if not known or how is not Visibility.OWN or not isinstance(value, Table) or value.free:
            return
        table = known[0].stated.value
        if not isinstance(table, Table) or table.free or _is_same_table(table.T, value):
            return
        place = self.argument.document.place(known[0].start).line
        why = f"It is not the transpose of the matrix in line {place}."
        truth = value_text(table.T) if one_shape(table.T, value) is not None else size(table.T)
        self.decide(line, printed, False)
        self.argument.add(line, k, printed, "likely", "matrix", truth, why, basis="letters")

    def check_answer(self, line: Line, k: int, printed: int, held: Held, clause: Clause) -> None:
        """A final answer, or a result that is stated again, against what was computed for the same name here."""
        known, how = self.argument.values.seen(line.sides[k], line.context, line.start)
        before = [one for one in known if one.is_computed]
        if not before or held.is_computed or how > Visibility.SIBLING:
            return
        final = clause.cue is Cue.ANSWER and how is Visibility.OWN
        slip = _is_slip(before[0].stated.value, held.stated.value, line, printed)
        if not final and not slip:
            return
        values = [definition.value for one in before for definition in one.definitions()]
        unit = max_unit([units(line.sides[printed])], 0)
        if any(_agree(value, held.stated.value, unit) for value in values):
            self.decide(line, printed, True)
            return
        place = self.argument.document.place(before[0].start).line
        truth = self.text(before[0])
        why = f"You wrote {self.text(held)}; line {place} gave {truth}."
        self.decide(line, printed, False)
        self.argument.add(line, k, printed, "likely", "answer", truth, why, basis="final answer" if final else "copied")

    def remember_equation(self, line: Line, index: int) -> None:
        """An equation in an unknown: a value that is stated soon after it must solve it."""
        sides = side_at(line, index), side_at(line, index + 1)
        if any(self.decider.is_opaque(line, side.node) for side in sides):
            return
        names = frozenset().union(*(names_in(side.node) for side in sides))
        self.equations.append(Equation(*sides, names, line.context, line.formulas[index + 1].end))

    def check_solution(self, line: Line, k: int, printed: int, held: Held) -> None:
        """A value that is stated soon after an equation in that unknown must solve it; one stated later is another case."""
        name = self.argument.values.name(line.sides[k])
        equation = next((e for e in reversed(self.equations) if name in e.names), None)
        if equation is None or equation.context.home is not line.context.home or line.start - equation.end > _NEAR:
            return
        formula, text = line.formulas[k], self.argument.document.text
        if equation.solved is not None and not continues_list(equation.solved, formula, text):
            return
        if self.argument.view(line).visibility(equation.names - {name}) is not Visibility.OWN:
            return  # another unknown, or one of another part
        view = View(self.argument.values, line.context, line.start, {name: held.stated})
        verdict = compare(equation.left, equation.right, self.decider.scope(line, view), True)
        if verdict is None or verdict.judgement is None or verdict.judgement.shapes:
            return
        self.equations.remove(equation)
        others = [e for e in self.equations if name in e.names and e.context is equation.context]
        if verdict.grade is not Grade.WRONG:
            self.equations.append(replace(equation, solved=formula))
            return
        if others:
            return  # one of a system: the equation may have been an intermediate one
        self.decide(line, printed, False)
        place = self.argument.document.place(equation.end).line
        x, y = (decimal(entries(v)[verdict.judgement.entry]) for v in (verdict.judgement.left, verdict.judgement.right))
        why = f"It does not solve the equation of line {place}: the left side is {x}, the right side {y}."
        self.argument.add(line, k, printed, "likely", "solution", "another value", why, basis="equation")

    def text(self, held: Held) -> str:
        """The stated value in words."""
        return value_text(held.stated.value)


def _is_same_table(one: Table, other: Table) -> bool:
    """Whether two tables agree in shape and, up to a rounding, in their entries."""
    return one_shape(one, other) is not None and is_same(one, other)


def _agree(one: object, other: object, unit: arb) -> bool:
    if isinstance(one, Table) or isinstance(other, Table):
        return isinstance(one, Table) and isinstance(other, Table) and _is_same_table(one, other)
    assert isinstance(one, arb) and isinstance(other, arb)
    return bool(abs(one - other) <= unit + abs(one) / 200)


def _is_slip(one: object, other: object, line: Line, printed: int) -> bool:
    """0.4919 and 0.5919: one digit of three or more copied wrongly; anything else is rather the value of another case."""
    if not isinstance(one, arb) or not isinstance(other, arb):
        return False
    text = line.formulas[printed].text[slice(*line.sides[printed].span)].strip(" +-−")
    places = len(text.partition(".")[2])
    before = f"{abs(float(one)):.{places}f}"
    digits = sum(map(str.isdigit, text))
    return digits > 2 and len(before) == len(text) and sum(a != b for a, b in zip(before, text, strict=True)) == 1
