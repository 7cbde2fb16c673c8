"""What names are given: values as stated and as computed, functions, recurrences, letters that numbers were put in for."""

from __future__ import annotations

import re
from itertools import takewhile

from flint import arb

from workings.check.argument.align import Alignment
from workings.check.argument.argument import Argument
from workings.check.argument.clause import Clause, Cue
from workings.check.argument.lines import Line
from workings.check.argument.roles import is_call, is_literal
from workings.check.argument.values import Held
from workings.check.claims.claim import Claim, is_same, side_at
from workings.check.claims.decide import Decider
from workings.check.claims.finding_writer import entry_node
from workings.check.claims.restated import Restated
from workings.check.document.relation import Role
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import Derivative, Function, Group, Matrix, Node, Number, Product, Script, Symbol
from workings.check.value.compare import Side, Verdict, is_settled, value_of
from workings.check.value.names import (
    is_acronym,
    is_capital,
    is_closed,
    is_matrix_product,
    is_name,
    is_number,
    letters_of,
    unpacked_names,
)
from workings.check.value.rounding import Grade, one_shape, units
from workings.check.value.scope import Decimals, Definition, Rule, is_transpose
from workings.check.value.sets import is_interval, is_set
from workings.check.value.value import Table, Value, entries

_PARAGRAPH = re.compile(r"\n[ \t]*\n(?!\s*(?:\$\$|\\\[|\\b))")
"""The end of a paragraph and of the displays that it leads to."""
_FOREVER = 1 << 60


class Carrier:
    """Keeps what the names of a document were given."""

    def __init__(self, argument: Argument, decider: Decider, restated: Restated) -> None:
        self.argument, self.decider, self.restated = argument, decider, restated
        self.values = argument.values

    def carry(self, line: Line, run: list[int], clause: Clause, cause: int) -> None:
        """Remember what the names on the left stand for."""
        first, second = line.sides[run[0]], line.sides[run[1]]
        self.remember_rule(line, first, second)
        self.restated.remember_recurrence(line, first, second)
        held = self.held(line, run, clause, cause)
        names = list(takewhile(lambda k: is_name(line.sides[k]) or k == run[0], run[:-1]))
        for k in names:
            node = line.sides[k]
            if isinstance(node, Function) and node.arguments and self.decider.known(line, k, False) is not None:
                continue  # mean(x) has the value that x gives it
            if held is not None and (is_name(node) or _is_named_product(node, held.stated.value)):
                self.restated.check(line, k, run, held, clause)
                self.give(node, held)
            elif held is not None and (parts := unpacked_names(node)) and len(parts) == len(entries(held.stated.value)):
                self.give_each(parts, held)
            elif held is None and is_name(node) and line.relations[k] in ("=", ":="):
                self.values.forget(node, line.context, line.start)
            if is_name(node):
                self.remember_formula(line, k, run)

    def held(self, line: Line, run: list[int], clause: Clause, cause: int) -> Held | None:
        """The value of a run: the last closed side as stated, the first side with a value as computed."""
        found = [known for k in run if (known := self.decider.known(line, k, k == run[0])) is not None]
        closed = [known for known in found if known.is_closed]
        if not found:
            return None
        last, first = (closed or found)[-1], found[0]
        role = self.argument.reading(line, run[0]).role
        exact = role is Role.GIVEN and clause.cue in (Cue.LET, Cue.IF) and len(found) == 1 and "≈" not in line.relations
        stated, computed = (self.definition(line, known.side, known.is_closed, exact) for known in (last, first))
        if stated is None:
            return None
        differs = computed is not None and last is not first
        if differs and computed is not None and one_shape(computed.value, stated.value) is not None:
            stated = Definition(stated.value, stated.rounded, computed.behind, stated.start, stated.part)
        until = _FOREVER
        if clause.cue is Cue.IF:
            end = _PARAGRAPH.search(self.argument.document.text, line.formulas[-1].end)
            until = end.end() if end else _FOREVER
        return Held(
            stated,
            line.context,
            until,
            computed if differs else None,
            is_computed=len(found) > 1 or any(not is_literal(known.side.node) for known in found),
            is_given=role is Role.GIVEN and clause.cue is not Cue.IF and not clause.is_answer,
            cause=cause,
        )

    def definition(self, line: Line, side: Side, closed: bool, exact: bool = False) -> Definition | None:
        """The value of a side in each sense of its decimals."""
        scope = self.decider.closed_scope(line) if closed else self.decider.scope(line)
        values = [value_of(side, scope, decimals) for decimals in Decimals]
        if values[0] is None or values[1] is None or values[2] is None:
            return None
        if exact:
            values = [values[0]] * 3
        return Definition(values[0], values[1], values[2], line.start, self.argument.part(line))  # type: ignore[arg-type]

    def give(self, node: Node, held: Held) -> None:
        """Give a name its value; a transposed name gives the name its own."""
        self.values.give(node, held)
        name = _untransposed(node)
        if name is not None and not self.values.seen(name, held.context, held.start + 1)[0]:
            given = held.stated
            tables = [value.T for value in (given.value, given.rounded, given.behind) if isinstance(value, Table)]
            if len(tables) == 3:
                turned = Definition(tables[0], tables[1], tables[2], given.start, given.part)
                self.values.give(name, Held(turned, held.context, held.until))

    def give_each(self, names: tuple[Node, ...], held: Held) -> None:
        """(a, b) = (1, 2): each name its own entry."""
        given = held.stated
        for name, *each in zip(names, *map(entries, (given.value, given.rounded, given.behind)), strict=True):
            part = Definition(each[0], each[1], each[2], given.start, given.part)
            self.values.give(name, Held(part, held.context, held.until))

    def update(self, line: Line) -> None:
        """w ← w − η g: the name has a new value, or none that is known."""
        name = line.sides[0]
        if not is_name(name):
            return
        found = [known for k in range(1, len(line.sides)) if (known := self.decider.known(line, k, False)) is not None]
        given = self.definition(line, found[-1].side, found[-1].is_closed) if found else None
        self.values.forget(name, line.context.problem, line.start)
        if given is not None:
            self.values.give(name, Held(given, line.context, _FOREVER, is_computed=True))

    def suppose(self, line: Line, run: list[int]) -> None:
        """If x = 4: the value holds to the end of the paragraph."""
        if len(run) != 2 or not is_name(line.sides[run[0]]) or not is_literal(line.sides[run[1]]):
            return
        given = self.definition(line, side_at(line, run[1]), True, exact=True)
        end = _PARAGRAPH.search(self.argument.document.text, line.formulas[-1].end)
        if given is not None:
            self.values.give(line.sides[run[0]], Held(given, line.context, end.end() if end else _FOREVER))

    def learn(self, line: Line, index: int, found: Alignment, clause: Clause) -> None:
        """Keep the values of letters that numbers were put in for; one that contradicts what is known is a finding."""
        view = self.argument.view(line)
        agree, conflicts = 0, []
        for name, node in found.letters.items():
            side, known = Side(node, ""), view.seen(name)
            given = self.definition(line, side, True, exact=True)
            if given is None:
                continue
            if any(is_same(definition.value, given.value) for held in known for definition in held.definitions()):
                agree += 1
                continue
            if known and view.visibility(frozenset([name])) == 0 and known[0].stated.start != line.start:
                conflicts.append((name, node, known[0]))
            self.values.give(name, Held(given, line.context, _FOREVER))
        is_table = any(isinstance(held.stated.value, Table) for _, _, held in conflicts)
        if len(conflicts) == 1 and agree > (0 if is_table else 1) and clause.cue not in (Cue.LET, Cue.IF):
            name, node, held = conflicts[0]
            place = self.argument.document.place(held.start).line
            letter = one_line(name)
            why = f"You put in {one_line(node)} for {letter}, which is {self.restated.text(held)} in line {place}."
            truth = f"{letter} = {self.restated.text(held)}"
            self.argument.add(
                line,
                index - 1,
                index,
                "likely",
                "substitution",
                truth,
                why,
                at=_placed(node, line, index),
                basis="substitution",
            )

    def remember_behind(self, claim: Claim, verdict: Verdict) -> None:
        """Remember for each printed decimal the number that it was rounded from."""
        one, other = claim.one.side, claim.other.side
        if verdict.grade > Grade.ROUNDED or units(other.node) is None or units(one.node) is not None:
            return
        scope = self.decider.scope(claim.line)
        if not is_settled(one.node, scope):
            return  # what was computed from rounded numbers is itself not known exactly
        value = value_of(one, scope, Decimals.BEHIND, verdict.reading)
        pair = one_shape(value, verdict.judgement.right) if value is not None and verdict.judgement is not None else None
        if pair is None:
            return
        behind = self.decider.behind[claim.line.context.problem]
        for index, number in enumerate(entries(pair[0])):
            printed = entry_node(other.node, index)
            text = next((part.text for part in printed.walk() if isinstance(part, Number)), "")
            if not is_number(printed) or "." not in text:
                continue
            known = behind.get(text, abs(number))
            agrees = known is not None and bool(abs(known - abs(number)) < abs(number) * arb("1e-12") + arb("1e-30"))
            behind[text] = abs(number) if agrees else None

    def remember_rule(self, line: Line, node: Node, body: Node) -> None:
        """f(x) = … is a function from here on, A = {1, 2} a set."""
        if isinstance(node, Symbol | Script) and is_name(node) and is_closed(body) and (is_set(body) or is_interval(body)):
            self.values.set_rule(node, Rule((), body, line.start, self.argument.part(line)), line.context)
        match node:
            case Product(factors=((_, Symbol() | Script() as name), ("", Group(items=items)))) if items and all(
                isinstance(item, Symbol) for item in items
            ):
                itself = any(self.values.name(part) == self.values.name(name) for part in body.walk())
                is_operator = is_capital(name) and all(map(is_capital, items))  # E(X), of a random variable
                if not itself and not is_operator and set(items) <= letters_of(body):
                    rule = Rule(items, body, line.start, self.argument.part(line))
                    self.values.set_rule(name, rule, line.context)

    def remember_formula(self, line: Line, k: int, run: list[int]) -> None:
        """Keep the formula that a name is set equal to."""
        node = line.sides[k]
        later = [line.sides[i] for i in run if i > k and not is_closed(line.sides[i]) and not is_literal(line.sides[i])]
        body = next((side for side in later if not self.decider.is_opaque(line, side)), None)
        if body is None or any(part == node or isinstance(part, Derivative) for part in body.walk()):
            return  # an update: w = w − η g; or a derivative, which numbers do not have
        if (
            not isinstance(node, Function)
            and not is_name(body)
            and not isinstance(body, Matrix | Group)
            and not is_call(node)
        ):
            self.values.set_formula(node, body, line.context, line.start)


def _is_named_product(node: Node, value: Value) -> bool:
    """Whether letters side by side are given a value as one name: Q Kᵀ = [1 0; 0 1], MSE = 0.5."""
    return is_matrix_product(node) and (isinstance(value, Table) or is_acronym(node))


def _untransposed(node: Node) -> Node | None:
    """The name K of Kᵀ; none if it is no transpose."""
    match node:
        case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
            return base if below is None else Script(base, below)
    return None


def _placed(node: Node, line: Line, index: int) -> Node | None:
    """The node, where it stands in that side; none for one that was made."""
    return next((part for part in line.sides[index].walk() if part is node), None)
