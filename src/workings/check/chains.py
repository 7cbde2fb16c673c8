"""Chains of =, ≈, <, ≤, … between what has a value: numbers, vectors, matrices, and names that were given one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from flint import arb

from workings.check.brackets import with_brackets
from workings.check.compare import Side, Verdict, certainly_none, compare, compare_as, in_order, value_of
from workings.check.latex import latex
from workings.check.lines import ORDER, Line
from workings.check.names import is_acronym, is_closed, is_matrix_product, is_name, is_number, unpacked
from workings.check.recurrences import is_turn, recurrence
from workings.check.rounding import Grade, max_unit, one_shape, units
from workings.check.scope import Decimals, Definition, Rule, Scope, is_transpose
from workings.check.study import Study
from workings.check.syntax import (
    Derivative,
    Dots,
    Function,
    Group,
    Labelled,
    Matrix,
    Node,
    Number,
    Product,
    Quotient,
    Script,
    Symbol,
    Words,
)
from workings.check.value import Table, Value, entries, size
from workings.check.words import decimal, shown, sign, source, where

Values = tuple[Value, Value, Value]
"""A value in each sense of its decimals: printed, rounded, behind."""


@dataclass(frozen=True)
class Known:
    """A side that has a value: closed, or by the definitions of the names in it."""

    index: int
    side: Side
    used: frozenset[Node] = frozenset()
    called: frozenset[Node] = frozenset()
    """The declared functions in it."""


def side_at(line: Line, index: int) -> Side:
    """One side of a line with its source."""
    node = line.sides[index]
    return Side(node, line.formulas[index].text[node.span[0] : node.span[1]])


class Chains:
    """The numbers of a document, line by line, with the definitions carried along."""

    def __init__(self, study: Study, scope: Scope) -> None:
        self.study, self.scope, self.nothing = study, scope, Scope(behind=scope.behind)
        self.forms: dict[Node, tuple[Side, int, int]] = {}
        """The last formula that a name was set equal to, its position, its part."""

    def line(self, line: Line) -> None:
        """Check one line, then carry what it defines."""
        for index, relation in enumerate(line.relations):
            if relation in ORDER:
                self.order(line, index, relation)
            elif relation == "→":
                self.becomes(line, index)
        for index, side in enumerate(line.sides):
            for part in side.walk():
                if isinstance(part, Labelled) and is_number(part.label) and is_closed(part.body):
                    self.label(line, index, part)
        for run, signs in line.runs():
            if len(run) > 1:
                self.run(line, run, signs)

    def label(self, line: Line, index: int, node: Labelled) -> None:
        """A number below a brace is the value of what stands above it."""
        text = line.formulas[index].text
        body, label = (Side(part, text[part.span[0] : part.span[1]]) for part in (node.body, node.label))
        verdict = compare(body, label, self.nothing)
        if verdict is None or verdict.judgement is None:
            return
        self.count(line, (index, index), verdict.grade is not Grade.WRONG)
        if verdict.grade is Grade.WRONG and not verdict.judgement.shapes:
            truth = decimal(entries(verdict.judgement.left)[0], max_unit([units(node.label)], 0))
            why = f"{label.text} is written below the brace, {truth} is computed."
            self.study.add(line, index, index, "likely", "number", truth, why, at=node.label)

    def order(self, line: Line, index: int, relation: str) -> None:
        """a < b between closed sides."""
        left, right = side_at(line, index), side_at(line, index + 1)
        if any(not is_closed(side.node) and side.node != Symbol("pi") for side in (left, right)):
            return
        holds = in_order(left, relation, right, self.nothing)
        if holds is None:
            return
        self.count(line, (index, index + 1), holds)
        if not holds:
            x, y = value_of(left, self.nothing), value_of(right, self.nothing)
            truth = " and ".join(f"{side.text.strip()} = {shown(v)}" for side, v in ((left, x), (right, y)) if v is not None)
            level = "possible" if self.study.supposed(line) or self.study.denied(line) else "error"
            self.study.add(line, index, index + 1, level, "order", truth, f"The relation {relation} does not hold.")

    def becomes(self, line: Line, index: int) -> None:
        """a → b between closed sides: b is a, rounded. Anything else that an arrow may mean is no claim."""
        left, right = side_at(line, index), side_at(line, index + 1)
        if is_closed(left.node) and is_closed(right.node):
            verdict = compare(left, right, self.nothing, about=True)
            if verdict is not None and verdict.grade <= Grade.ROUNDED:
                self.count(line, (index, index + 1), True)

    def count(self, line: Line, sides: tuple[int, int], right: bool) -> None:
        """One more claim is decided."""
        self.study.decided += [(line, index) for index in sides]
        counts = self.study.report.counts
        counts.claims += 1
        counts.decided += 1
        counts.right += right
        counts.wrong += not right

    def run(self, line: Line, run: list[int], signs: list[str]) -> None:
        """a = b ≈ c: every side that has a value against the next one that has."""
        sides = {index: side_at(line, index) for index in run}
        known = [found for index in run if (found := self.known(index, sides[index], index == run[0])) is not None]
        wrong_at, confirmed = -1, False
        skipped = -1
        for position, (one, other) in enumerate(pairwise(known)):
            if one.index == skipped:
                continue  # the side before it and the side after it agree
            about = any(line.relations[i - 1] == "≈" for i in range(one.index + 1, other.index + 1))
            if self.pair(line, one, other, about, confirmed) and wrong_at < 0:
                wrong_at = other.index
            confirmed = wrong_at < 0
            if wrong_at == other.index and position + 2 < len(known) and self.agree(one, known[position + 2]):
                skipped = other.index
        self.carry(line, run, sides, known, wrong_at >= 0)

    def agree(self, one: Known, other: Known) -> bool:
        """Whether two sides are equal."""
        verdict = compare(one.side, other.side, self.scope if one.used or other.used else self.nothing, True)
        return verdict is not None and verdict.grade <= Grade.ROUNDED

    def known(self, index: int, side: Side, first: bool) -> Known | None:
        """The side as one with a value, if it has one. A name on the left is what the line defines, not a claim."""
        if isinstance(side.node, Words) or any(isinstance(part, Derivative) for part in side.node.walk()):
            return None
        if is_closed(side.node) and not self.renamed(side.node):
            return None if self.unsure(side.node) else Known(index, side)
        if (is_name(side.node) and not self.applies(side.node)) or not (self.scope.definitions or self.scope.functions):
            return None
        if first and unpacked(side.node):
            return None
        used: set[Node] = set()
        called: set[Node] = set()
        if compare(side, side, replace(self.scope, used=used, called=called)) is None:
            return None
        return Known(index, side, frozenset(used), frozenset(called))

    def unsure(self, node: Node) -> bool:
        """Whether e or π stands in it as a factor or a term, and the document speaks of a letter $e$ or $π$."""
        powers = {id(part.base) for part in node.walk() if isinstance(part, Script) and part.above is not None}
        return any(part in RENAMED and part in self.study.spoken and id(part) not in powers for part in node.walk())

    def renamed(self, node: Node) -> bool:
        """Whether e or π stands in it, and the document has given that letter another meaning."""
        return any(part in RENAMED and self.scope.definition(part) is not None for part in node.walk())

    def applies(self, node: Node) -> bool:
        """f(3) with f declared; softmax(z), σ(z), log p, which have a value if their letters have."""
        match node:
            case Function(arguments=arguments):
                return bool(arguments)
            case Product(factors=((_, Symbol(name="sigma")), ("", Group()))):
                return True
            case Product(factors=((_, name), ("", Group(items=items)))):
                return self.scope.function(name) is not None and all(map(is_closed, items))
        return False

    def pair(self, line: Line, one: Known, other: Known, about: bool, confirmed: bool) -> bool:
        """Judge one = other; whether it was found wrong."""
        closed = not any(known.used or known.called or not is_closed(known.side.node) for known in (one, other))
        scope = self.nothing if closed else self.scope
        verdict = compare(one.side, other.side, scope, about)
        if one.used | other.used and is_closed(one.side.node) and is_closed(other.side.node):
            usual = compare(one.side, other.side, self.nothing, about)  # e may be 2.718 after all
            if usual is not None and (verdict is None or usual.grade < verdict.grade):
                verdict = usual
        if closed and verdict is not None and verdict.grade is Grade.WRONG and sizes_agree(one.side.node, other.side.node):
            self.count(line, (one.index, other.index), True)
            return False
        if verdict is None:
            if closed:
                self.no_value(line, one, other)
            return False
        used = one.used | other.used
        level = self.level(line, used, closed, verdict)
        elsewhere = any(self.scope.functions[name].part != self.study.part(line) for name in one.called | other.called)
        square = isinstance(one.side.node, Script) and one.index == 0 and not is_table(verdict)  # σ² may have its own value
        if level == "likely" and (elsewhere or square or not (is_closed(one.side.node) or is_closed(other.side.node))):
            level = "possible"
        if closed or level != "possible" or verdict.grade <= Grade.ROUNDED:
            right = verdict.grade <= Grade.ROUNDED or level in ("note", "possible")
            self.count(line, (one.index, other.index), right)
        if verdict.grade <= Grade.ROUNDED:
            self.look_behind(one, other, verdict)
        if verdict.grade is Grade.RIGHT:
            return False
        self.tell(line, one, other, verdict, level, confirmed)
        return verdict.grade is Grade.WRONG and level in ("error", "likely")

    def no_value(self, line: Line, one: Known, other: Known) -> None:
        """A closed equation without a value on one side: √−7 = 5 is wrong, anything else is left undecided."""
        reasons = [certainly_none(known.side, self.nothing) for known in (one, other)]
        values = [value_of(known.side, self.nothing) for known in (one, other)]
        finite = any(v is not None and all(x.is_finite() for x in entries(v)) for v in values)
        if not any(reasons) or not finite:
            self.study.report.counts.claims += 1
            return
        self.count(line, (one.index, other.index), False)
        level = "possible" if self.study.denied(line) else "likely"
        why = f"It contains {next(filter(None, reasons))}."
        wrong = (one if reasons[0] else other).side.node
        self.study.add(line, one.index, other.index, level, "number", "no real value", why, at=wrong)

    def look_behind(self, one: Known, other: Known, verdict: Verdict) -> None:
        """Remember for each printed decimal the number that it was rounded from."""
        if units(other.side.node) is None or units(one.side.node) is not None:
            return
        value = value_of(one.side, self.scope, Decimals.BEHIND, verdict.reading)
        if value is None or verdict.judgement is None:
            return
        pair = one_shape(value, verdict.judgement.right)
        if pair is None:
            return
        for index, number in enumerate(entries(pair[0])):
            printed = entry_node(other.side.node, index)
            text = next((part.text for part in printed.walk() if isinstance(part, Number)), "")
            if not is_number(printed) or "." not in text:
                continue
            known = self.scope.behind.get(text, abs(number))
            agrees = known is not None and bool(abs(known - abs(number)) < abs(number) * arb("1e-12") + arb("1e-30"))
            self.scope.behind[text] = abs(number) if agrees else None

    def level(self, line: Line, used: frozenset[Node], closed: bool, verdict: Verdict) -> str:
        """How sure a mismatch is."""
        if verdict.grade is Grade.ROUNDED:
            return "note" if closed and verdict.judgement is not None and verdict.judgement.coarse else "possible"
        if self.study.denied(line):
            return "possible"
        if verdict.grade in (Grade.LAST_DIGIT, Grade.IMPRECISE):
            return "possible" if used and not self.trusted(line, used) else "note"
        if not closed:
            return "likely" if self.trusted(line, used) and not self.study.supposed(line) else "possible"
        return "error"

    def trusted(self, line: Line, used: frozenset[Node]) -> bool:
        """Whether each name has one value only, or was last given one in this very part of the document."""
        part = self.study.part(line)
        for name in used:
            given = self.scope.definitions[name]
            if self.study.holds(given[-1].part, part):
                continue
            if self.has_changed(name):
                return False
            if not isinstance(given[-1].value, Table) and not isinstance(name, Script):
                return False  # single letters for numbers are used again and again
        return True

    def has_changed(self, name: Node) -> bool:
        """Whether a name was given more than one value."""
        given = self.scope.definitions[name]
        return any(not same(definition.value, given[-1].value) for definition in given)

    def tell(self, line: Line, one: Known, other: Known, verdict: Verdict, level: str, confirmed: bool) -> None:
        """Report a pair that is not right."""
        names = self.names(one.used | other.used)
        reading = str(verdict.reading)
        if verdict.mismatch.startswith("rows of"):
            return  # told where the matrix is looked at
        if verdict.mismatch:
            wrong = (one, other)[verdict.side]
            why = f"The shapes do not fit: {verdict.mismatch}.{names}"
            self.study.add(line, one.index, other.index, level, "shape", "no value", why, reading, wrong.side.node)
            return
        judgement = verdict.judgement
        assert judgement is not None
        if judgement.shapes:
            truth = f"{size(judgement.left)} on the left, {size(judgement.right)} on the right"
            why = f"Both sides must have one shape.{names}"
            self.study.add(line, one.index, other.index, level, "shape", truth, why, reading)
            return
        if level == "error" and self.forgiven(line, one, other, verdict):
            level = "note"
        x, y = entries(judgement.left)[judgement.entry], entries(judgement.right)[judgement.entry]
        unit = max_unit([units(one.side.node), units(other.side.node)], judgement.entry)
        place = where(judgement.left, judgement.entry)
        printed_last = units(other.side.node) is not None or units(one.side.node) is None
        wrong = other if printed_last or confirmed else one
        truth = decimal(x if wrong is other else y, unit)
        target = entry_node(wrong.side.node, judgement.entry)
        printed = decimal(y if wrong is other else x, unit)
        if is_number(target):
            printed = sign(source(line.formulas[wrong.index], *target.span).replace(" ", ""))
        more = f" ({judgement.off} entries differ)" if judgement.off > 1 else ""
        at = f"In {place}: " if place else ""
        why = f"{at}{GRADES[verdict.grade].format(truth=truth, printed=printed)}{more}.{names}"
        kind = "rounding" if verdict.grade is not Grade.WRONG else "matrix" if place else "number"
        if kind == "number" and (bracketed := self.bracketed(one, other, verdict)):
            kind, why = "brackets", f"{why} {bracketed}"
        self.study.add(
            line,
            one.index,
            other.index,
            level,
            kind,
            f"{truth}" + (f" in {place}" if place else ""),
            why,
            reading,
            target,
        )

    def bracketed(self, one: Known, other: Known, verdict: Verdict) -> str:
        """The brackets that would make a wrong equation right, if there are any."""
        for node in with_brackets(one.side.node):
            again = compare_as(Side(node, ""), other.side, self.scope, False, verdict.reading)
            if again is not None and again.grade is Grade.RIGHT:
                return f"It would be right with brackets: {latex(node)}."
        return ""

    def forgiven(self, line: Line, one: Known, other: Known, verdict: Verdict) -> bool:
        """Whether a plain difference may be meant: rounded down to a whole number, a unit left out, a rough ≈."""
        assert verdict.judgement is not None
        x, y = (entries(v)[verdict.judgement.entry] for v in (verdict.judgement.left, verdict.judgement.right))
        if line.units & {one.index, other.index}:
            return True
        if not isinstance(verdict.judgement.left, Table) and y.is_integer() and x - y > 0 and x - y < 1:
            return any(isinstance(part, Quotient) for part in one.side.node.walk())
        about = line.relations[other.index - 1] == "≈"
        return bool(about and abs(x - y) < abs(x) / 10 and digits(other.side.node) < 3)

    def names(self, used: frozenset[Node]) -> str:
        """Where the names that were used got their values."""
        if not used:
            return ""
        places = sorted({self.study.document.place(self.scope.definitions[name][-1].start).line for name in used})
        lines = ", ".join(map(str, places))
        return f" (with the definitions of line{'s' if len(places) > 1 else ''} {lines})"

    def carry(self, line: Line, run: list[int], sides: dict[int, Side], known: list[Known], wrong: bool) -> None:
        """Remember what the names on the left stand for."""
        part = self.study.part(line)
        start = line.formulas[run[0]].position(line.sides[run[0]].span[0])
        value = self.first_value(known)
        self.begin_again(line.sides[run[0]], line.sides[run[1]])
        for index in run[:-1]:
            node = sides[index].node
            if known and index > known[0].index:
                break
            product = is_matrix_product(node) and (isinstance(value[0], Table) or is_acronym(node)) if value else False
            if value is not None and (is_name(node) or product):
                self.restated(line, index, node, value[0], start, part)
                self.against_transpose(line, index, node, value[0])
                self.define(node, value, start, part)
            elif value is not None and (names := unpacked(node)) and len(names) == len(entries(value[0])):
                for name, *each in zip(names, *map(entries, value), strict=True):
                    self.define(name, (each[0], each[1], each[2]), start, part)
            if is_name(node):
                self.remember_form(node, run, sides, index, start, part)

    def begin_again(self, one: Node, other: Node) -> None:
        """A recurrence that is stated makes the turns of an earlier one old."""
        found = recurrence(one, other)
        if found is not None:
            old = [name for name in self.scope.definitions if is_turn(name, found[0])]
            for name in old:
                del self.scope.definitions[name]
            self.forms = {name: form for name, form in self.forms.items() if not is_turn(name, found[0])}

    def first_value(self, known: list[Known]) -> Values | None:
        """The value of a chain: its first closed side, otherwise the first with definitions."""
        for found in sorted(known, key=lambda k: (bool(k.used), k.index)):
            scope = self.scope if found.used else self.nothing
            values = [value_of(found.side, scope, decimals) for decimals in Decimals]
            if values[0] is not None and values[1] is not None and values[2] is not None:
                return values[0], values[1], self.behind(known, values[2])
        return None

    def behind(self, known: list[Known], printed: Value) -> Value:
        """The number behind a printed one: the first side of its chain, even where the printed one is wrong."""
        first = value_of(known[0].side, self.scope, Decimals.BEHIND)
        return first if first is not None and one_shape(first, printed) is not None else printed

    def define(self, node: Node, value: Values, start: int, part: int) -> None:
        """Give a name its value; a transposed name gives the name its own, or has that one behind it."""
        match node:
            case Script(base=base, below=None, above=above) if above is not None and is_transpose(above):
                known = self.scope.definition(base)
                if known is not None and isinstance(known.behind, Table) and one_shape(known.behind.T, value[0]) is not None:
                    value = (value[0], value[1], known.behind.T)
        self.scope.define(node, Definition(*value, start, part))
        match node:
            case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
                tables = [v.T for v in value if isinstance(v, Table)]
                name = base if below is None else Script(base, below)
                if len(tables) == 3 and self.scope.definition(name) is None:
                    self.scope.define(name, Definition(tables[0], tables[1], tables[2], start, part))

    def remember_form(self, node: Node, run: list[int], sides: dict[int, Side], index: int, start: int, part: int) -> None:
        """Keep the formula of a name, and f(x) = … as a function."""
        later = [
            sides[i] for i in run if i > index and not is_closed(sides[i].node) and not isinstance(sides[i].node, Words)
        ]
        if not later:
            return
        body = later[0]
        match node:
            case Product(factors=((_, name), ("", Group(items=items)))) if all(isinstance(item, Symbol) for item in items):
                if items and all(any(part == item for part in body.node.walk()) for item in items):
                    self.scope.functions[self.scope.name(name)] = Rule(items, body.node, start, part)
                return
        if any(part == node for part in body.node.walk()):
            return  # an update: w = w − η g
        if not isinstance(node, Function) and not is_name(body.node) and not isinstance(body.node, Matrix | Group):
            self.forms[self.scope.name(node)] = (body, start, part)

    def restated(self, line: Line, index: int, node: Node, value: Value, start: int, part: int) -> None:
        """A name that gets a value: compare it with its formula, and with the value it had."""
        name = self.scope.name(node)
        form = self.forms.get(name)
        if form is not None and form[2] == part and form[1] != start:
            self.against_form(line, index, form[0], form[1])
        before = self.scope.definitions.get(name)
        if before is None or before[-1].part != part or same(before[-1].value, value):
            return
        old = before[-1].value
        if isinstance(old, Table) and isinstance(value, Table):
            place = self.study.document.place(before[-1].start)
            truth = f"line {place.line} has {shown(old) if len(old.entries) <= 12 else size(old)}"
            why = f"The name was given another value in line {place.line}."
            level = "possible" if self.study.supposed(line) else "note"
            self.study.add(line, index, index, level, "definition", truth, why)

    def against_transpose(self, line: Line, index: int, node: Node, value: Value) -> None:
        """K^T = … where K is known."""
        match node:
            case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
                name = base if below is None else Script(base, below)
            case _:
                return
        known = self.scope.definition(name)
        printed = next((i for i in range(index + 1, len(line.sides)) if is_closed(line.sides[i])), None)
        if known is None or printed is None or known.part != self.study.part(line) or not isinstance(known.value, Table):
            return
        if known.value.free or not isinstance(value, Table) or value.free or same(known.value.T, value):
            return
        place = self.study.document.place(known.start).line
        why = f"It is not the transpose of the matrix in line {place}."
        truth = shown(known.value.T) if one_shape(known.value.T, value) is not None else size(known.value.T)
        self.study.add(line, index, printed, "likely", "matrix", truth, why)

    def against_form(self, line: Line, index: int, form: Side, start: int) -> None:
        """A printed value against the formula that the name was set equal to before."""
        used: set[Node] = set()
        printed = next((i for i in range(index + 1, len(line.sides)) if is_closed(line.sides[i])), None)
        if printed is None:
            return
        scope = replace(self.scope, used=used)
        verdict = compare(form, side_at(line, printed), scope, "≈" in line.relations)
        if verdict is None or not used or any(self.has_changed(name) for name in used):
            return
        level = "possible" if self.study.supposed(line) else "likely"
        if verdict.grade is not Grade.WRONG or level == "possible":
            self.count(line, (index, printed), True)
            return
        if verdict.mismatch:
            return
        self.count(line, (index, printed), False)
        judgement = verdict.judgement
        assert judgement is not None
        place = self.study.document.place(start).line
        names = self.names(frozenset(used))
        if judgement.shapes:
            truth = f"{size(judgement.left)} by the formula of line {place}"
            why = f"The formula of line {place} gives another shape{names}."
            self.study.add(line, index, printed, level, "shape", truth, why)
            return
        x = entries(judgement.left)[judgement.entry]
        unit = max_unit([units(line.sides[printed])], judgement.entry)
        at = where(judgement.left, judgement.entry)
        truth = decimal(x, unit) + (f" in {at}" if at else "")
        why = f"The formula of line {place} gives {truth}{names}."
        target = entry_node(line.sides[printed], judgement.entry)
        self.study.add(line, index, printed, level, "matrix" if at else "number", truth, why, str(verdict.reading), target)


RENAMED = (Symbol("e"), Symbol("pi"))
"""Constants that a document may use as names."""
GRADES = {
    Grade.ROUNDED: "{printed} is printed, the printed numbers give {truth}: rounded inputs explain the difference",
    Grade.LAST_DIGIT: "{printed} is printed, {truth} is computed: the last digit is off",
    Grade.IMPRECISE: "{printed} is printed, {truth} is computed: the last digits are off",
    Grade.WRONG: "{printed} is printed, {truth} is computed",
}


def same(one: Value, other: Value) -> bool:
    """Whether two values are one, up to a rounding in the third digit."""
    pair = one_shape(one, other)
    if pair is None:
        return False
    return all(abs(x - y) <= (abs(x) + abs(y)) / 100 + arb("1e-9") for x, y in zip(*map(entries, pair), strict=True))


def entry_node(node: Node, entry: int) -> Node:
    """The printed number of an entry, counted row by row; the whole side if it is not printed as a table."""
    match node:
        case Matrix(rows=rows):
            cells = [cell for row in rows for cell in row]
            return cells[entry] if entry < len(cells) else node
        case Group(open="(" | "[", items=items) if len(items) > 1:
            return items[entry] if entry < len(items) else node
    return node


def is_table(verdict: Verdict) -> bool:
    """Whether tables were compared."""
    return verdict.judgement is not None and isinstance(verdict.judgement.left, Table)


def sizes_agree(left: Node, right: Node) -> bool:
    """(2 × 3)(3 × 4) = 2 × 4: sizes of a product of matrices, not numbers."""
    shapes = [size_of(factor) for _, factor in left.factors] if isinstance(left, Product) else []
    result = size_of(right)
    if len(shapes) < 2 or result is None or any(shape is None for shape in shapes):
        return False
    known = [shape for shape in shapes if shape is not None]
    fits = all(a[1] == b[0] for a, b in pairwise(known))
    return fits and (known[0][0], known[-1][1]) == result


def size_of(node: Node) -> tuple[str, str] | None:
    """The two numbers of 2 × 3."""
    match node:
        case Group(open="(" | "[", items=(item,)):
            return size_of(item)
        case Product(factors=((_, Number(text=n)), ("×", Number(text=m)))):
            return n, m
    return None


def digits(node: Node) -> int:
    """The most digits that a printed number in it has."""
    return max((len(part.text.replace(".", "").lstrip("0")) for part in node.walk() if isinstance(part, Number)), default=0)


def is_printed(node: Node) -> bool:
    """Nothing but printed numbers: no dots, no calculation."""
    return units(node) is not None and not any(isinstance(part, Dots) for part in node.walk())
