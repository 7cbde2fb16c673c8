"""What the names of a document stand for: the values and formulas that they are given, and whether these agree.

A name that is given a value is checked against the formula it was set equal to before, against the value it had, and, if it
is a transpose, against the matrix itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flint import arb

from workings.check.claims.argument import Argument
from workings.check.claims.finding_writer import Claim, FindingWriter, Known, count, entry_node, side_at
from workings.check.claims.lines import Line
from workings.check.claims.words import decimal, value_text
from workings.check.latex.syntax import Derivative, Function, Group, Matrix, Node, Number, Product, Script, Symbol, Words
from workings.check.value.compare import Side, Verdict, compare, value_of
from workings.check.value.names import is_acronym, is_closed, is_matrix_product, is_name, is_number, unpacked_names
from workings.check.value.recurrences import Recurrence, is_turn, recurrence, turn
from workings.check.value.rounding import Grade, max_unit, one_shape, units
from workings.check.value.scope import Decimals, Definition, Rule, Scope, is_transpose
from workings.check.value.value import Table, Value, entries, size

Values = tuple[Value, Value, Value]
"""A value in each sense of its decimals: printed, rounded, behind."""


@dataclass(frozen=True)
class Form:
    """A formula that a name was set equal to, its position in the document, and its part."""

    side: Side
    start: int
    part: int


@dataclass
class Definitions:
    """The definitions of a document so far, kept in its scope."""

    argument: Argument
    scope: Scope
    nothing: Scope
    writer: FindingWriter
    forms: dict[Node, Form] = field(default_factory=dict)
    """For each name the last formula that it was set equal to."""
    recurrences: dict[Node, Recurrence] = field(default_factory=dict)

    def update(self, line: Line, known: list[Known]) -> None:
        """w ← w − η g: the name has a new value, or none that is known."""
        name = line.sides[0]
        value = self.first_value(known)
        if not is_name(name):
            return
        if value is None:
            self.scope.definitions.pop(self.scope.name(name), None)
        else:
            self.define(name, value, line.start, self.argument.part(line))

    def carry(self, line: Line, run: list[int], known: list[Known]) -> None:
        """Remember what the names on the left stand for."""
        part = self.argument.part(line)
        start = line.formulas[run[0]].position(line.sides[run[0]].span[0])
        value = self.first_value(known)
        self.restart(line.sides[run[0]], line.sides[run[1]])
        for index in run[:-1]:
            node = line.sides[index]
            if known and index > known[0].index:
                break
            if value is not None and (is_name(node) or is_named_product(node, value[0])):
                self.check_restated(line, index, value[0], start)
                self.check_transpose(line, index, value[0])
                self.define(node, value, start, part)
            elif value is not None and (names := unpacked_names(node)) and len(names) == len(entries(value[0])):
                for name, *each in zip(names, *map(entries, value), strict=True):
                    self.define(name, (each[0], each[1], each[2]), start, part)
            if is_name(node):
                later = (i for i in run if i > index and not is_closed(line.sides[i]))
                formulas = [side_at(line, i) for i in later if not isinstance(line.sides[i], Words)]
                if formulas:
                    self.remember_form(node, Form(formulas[0], start, part))

    def first_value(self, known: list[Known]) -> Values | None:
        """The value of a chain: its first closed side, otherwise the first with definitions."""
        for found in sorted(known, key=lambda k: (bool(k.used), k.index)):
            scope = self.scope if found.used else self.nothing
            values = [value_of(found.side, scope, decimals) for decimals in Decimals]
            if values[0] is not None and values[1] is not None and values[2] is not None:
                return values[0], values[1], self.value_behind(known, values[2])
        return None

    def value_behind(self, known: list[Known], printed: Value) -> Value:
        """The number behind a printed one: the first side of its chain, even where the printed one is wrong."""
        first = value_of(known[0].side, self.scope, Decimals.BEHIND)
        return first if first is not None and one_shape(first, printed) is not None else printed

    def remember_behind(self, claim: Claim, verdict: Verdict) -> None:
        """Remember for each printed decimal the number that it was rounded from."""
        one, other = claim.one.side, claim.other.side
        if units(other.node) is None or units(one.node) is not None:
            return
        value = value_of(one, self.scope, Decimals.BEHIND, verdict.reading)
        if value is None or verdict.judgement is None:
            return
        pair = one_shape(value, verdict.judgement.right)
        if pair is None:
            return
        for index, number in enumerate(entries(pair[0])):
            printed = entry_node(other.node, index)
            text = next((part.text for part in printed.walk() if isinstance(part, Number)), "")
            if not is_number(printed) or "." not in text:
                continue
            known = self.scope.behind.get(text, abs(number))
            agrees = known is not None and bool(abs(known - abs(number)) < abs(number) * arb("1e-12") + arb("1e-30"))
            self.scope.behind[text] = abs(number) if agrees else None

    def restart(self, one: Node, other: Node) -> None:
        """A recurrence that is stated makes the turns of an earlier one old."""
        found = recurrence(one, other)
        if found is not None:
            self.recurrences[found[0]] = found[1]
            for name in [name for name in self.scope.definitions if is_turn(name, found[0])]:
                del self.scope.definitions[name]
            self.forms = {name: form for name, form in self.forms.items() if not is_turn(name, found[0])}

    def define(self, node: Node, value: Values, start: int, part: int) -> None:
        """Give a name its value; a transposed name gives the name its own, or has that one behind it."""
        printed, rounded, behind = value
        self.scope.define(node, Definition(printed, rounded, self.behind_transpose(node, printed, behind), start, part))
        name = untransposed(node)
        if name is not None and self.scope.definition(name) is None:
            tables = [v.T for v in value if isinstance(v, Table)]
            if len(tables) == 3:
                self.scope.define(name, Definition(tables[0], tables[1], tables[2], start, part))

    def behind_transpose(self, node: Node, printed: Value, behind: Value) -> Value:
        """What is behind the printed Kᵀ: the transpose of what is behind K, if that is known."""
        match node:
            case Script(base=base, below=None, above=above) if above is not None and is_transpose(above):
                known = self.scope.definition(base)
                if known is not None and isinstance(known.behind, Table) and one_shape(known.behind.T, printed) is not None:
                    return known.behind.T
        return behind

    def remember_form(self, node: Node, form: Form) -> None:
        """Keep the formula of a name, and f(x) = … as a function."""
        body = form.side.node
        match node:
            case Product(factors=((_, name), ("", Group(items=items)))) if all(isinstance(item, Symbol) for item in items):
                itself = any(self.scope.name(part) == self.scope.name(name) for part in body.walk())
                if items and not itself and all(any(part == item for part in body.walk()) for item in items):
                    self.scope.functions[self.scope.name(name)] = Rule(items, body, form.start, form.part)
                return
        if any(part == node or isinstance(part, Derivative) for part in body.walk()):
            return  # an update: w = w − η g; or a derivative, which numbers do not have
        if not isinstance(node, Function) and not is_name(body) and not isinstance(body, Matrix | Group):
            self.forms[self.scope.name(node)] = form

    def is_trusted(self, line: Line, used: frozenset[Node]) -> bool:
        """Whether each name has one value only, or was last given one in this very part of the document."""
        part = self.argument.part(line)
        for name in used:
            given = self.scope.definitions[name]
            if self.argument.holds(given[-1].part, part):
                continue
            if self.has_changed(name):
                return False
            if not isinstance(given[-1].value, Table) and not isinstance(name, Script):
                return False  # single letters for numbers are used again and again
        return True

    def has_changed(self, name: Node) -> bool:
        """Whether a name was given more than one value."""
        given = self.scope.definitions[name]
        return any(not is_same(definition.value, given[-1].value) for definition in given)

    def check_restated(self, line: Line, index: int, value: Value, start: int) -> None:
        """A name that gets a value: compare it with its formula, and with the value it had."""
        name, part = self.scope.name(line.sides[index]), self.argument.part(line)
        form = self.forms.get(name)
        if form is not None and form.part == part and form.start != start:
            self.check_form(line, index, form)
        self.check_turn(line, index)
        self.check_entry(line, index, value)
        before = self.scope.definitions.get(name)
        if before is None or before[-1].part != part or is_same(before[-1].value, value):
            return
        old = before[-1].value
        if isinstance(old, Table) and isinstance(value, Table):
            place = self.argument.document.place(before[-1].start)
            truth = f"line {place.line} has {value_text(old) if len(old.entries) <= 12 else size(old)}"
            why = f"The name was given another value in line {place.line}."
            level = "possible" if self.argument.is_supposed(line) else "note"
            self.argument.add(line, index, index, level, "definition", truth, why)

    def check_transpose(self, line: Line, index: int, value: Value) -> None:
        """K^T = … where K is known."""
        name = untransposed(line.sides[index])
        if name is None:
            return
        known, printed = self.scope.definition(name), next_closed(line, index)
        if known is None or printed is None or known.part != self.argument.part(line) or not isinstance(known.value, Table):
            return
        if known.value.free or not isinstance(value, Table) or value.free or is_same(known.value.T, value):
            return
        place = self.argument.document.place(known.start).line
        why = f"It is not the transpose of the matrix in line {place}."
        truth = value_text(known.value.T) if one_shape(known.value.T, value) is not None else size(known.value.T)
        self.argument.add(line, index, printed, "likely", "matrix", truth, why)

    def check_entry(self, line: Line, index: int, value: Value) -> None:
        """S_{11} = 6 where S is a known matrix."""
        node, printed = line.sides[index], next_closed(line, index)
        if not isinstance(node, Script) or node.below is None or node.above is not None or printed is None:
            return
        matrix = self.scope.definition(node.base)
        if matrix is None or not isinstance(matrix.value, Table) or matrix.value.is_vector or isinstance(value, Table):
            return
        entry = value_of(Side(node, ""), self.scope)
        if self.scope.definition(node) is not None or matrix.part != self.argument.part(line) or entry is None:
            return
        right = is_same(entry, value)
        count(self.argument, line, (index, printed), right)
        if not right and not isinstance(entry, Table):
            truth = decimal(entry, max_unit([units(line.sides[printed])], 0))
            level = "possible" if self.argument.in_doubt(line) else "likely"
            place = self.argument.document.place(matrix.start).line
            why = f"The matrix of line {place} has {truth} there."
            self.argument.add(line, index, printed, level, "matrix", truth, why)

    def check_turn(self, line: Line, index: int) -> None:
        """a_3 = 16 against a_n = 2 a_{n−1} + 1 with a_2 known."""
        step = turn(self.scope.name(line.sides[index]), {}, self.recurrences)
        printed = next_closed(line, index)
        if step is None or printed is None or step[1] == 0 or units(line.sides[printed]) is None:
            return  # a calculation shows itself by which rule it goes
        used: set[Node] = set()
        scope = replace(self.scope, used=used).bound({step[0].letter: arb(step[1])})
        verdict = compare(Side(step[0].body, ""), side_at(line, printed), scope, "≈" in line.relations)
        part = self.argument.part(line)
        if verdict is None or verdict.mismatch or not used or any(self.scope.definitions[n][-1].part != part for n in used):
            return
        wrong = verdict.grade is Grade.WRONG and verdict.judgement is not None and not verdict.judgement.shapes
        count(self.argument, line, (index, printed), not wrong)
        if wrong and verdict.judgement is not None:
            true = entries(verdict.judgement.left)[verdict.judgement.entry]
            truth = decimal(true, max_unit([units(line.sides[printed])], 0))
            level = "possible" if self.argument.in_doubt(line) else "likely"
            self.argument.add(line, index, printed, level, "recurrence", truth, f"The recurrence gives {truth}.")

    def check_form(self, line: Line, index: int, form: Form) -> None:
        """A printed value against the formula that the name was set equal to before."""
        used: set[Node] = set()
        printed = next_closed(line, index)
        if printed is None:
            return
        verdict = compare(form.side, side_at(line, printed), replace(self.scope, used=used), "≈" in line.relations)
        if verdict is None or not used or any(self.has_changed(name) for name in used):
            return
        if verdict.grade is not Grade.WRONG or self.argument.is_supposed(line):
            count(self.argument, line, (index, printed), True)
        elif not verdict.mismatch and not is_number_for_table(verdict):
            count(self.argument, line, (index, printed), False)
            self.writer.write_form(line, (index, printed), form.start, verdict, frozenset(used))


def is_number_for_table(verdict: Verdict) -> bool:
    """Whether a number is printed where the formula gives a table: then its letters mean something else."""
    judgement = verdict.judgement
    return judgement is not None and judgement.shapes and not isinstance(judgement.right, Table)


def is_named_product(node: Node, value: Value) -> bool:
    """Whether letters side by side are given a value as one name: Q Kᵀ = [1 0; 0 1], MSE = 0.5."""
    return is_matrix_product(node) and (isinstance(value, Table) or is_acronym(node))


def untransposed(node: Node) -> Node | None:
    """The name K of Kᵀ; none if it is no transpose."""
    match node:
        case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
            return base if below is None else Script(base, below)
    return None


def next_closed(line: Line, index: int) -> int | None:
    """The first closed side after a side of a line."""
    return next((i for i in range(index + 1, len(line.sides)) if is_closed(line.sides[i])), None)


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are one, up to a rounding in the third digit."""
    pair = one_shape(one, other)
    if pair is None:
        return False
    return all(abs(x - y) <= (abs(x) + abs(y)) / 100 + arb("1e-9") for x, y in zip(*map(entries, pair), strict=True))
