"""Two sides of a relation under every plausible reading."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Chain, Group, Matrix, Node, Number, Postfix, Product, Quotient, Script, Sum, Symbol
from workings.check.value.evaluate import EvaluationContext, evaluate, looks_rounded
from workings.check.value.evaluation.context import Budget
from workings.check.value.imaginary import complex_list, imaginary_unit, printed_pair
from workings.check.value.reading import USUAL, Reading, readings
from workings.check.value.rounding import TINY, Grade, Judgement, judge, units
from workings.check.value.scope import Decimals, Definition, Scope
from workings.check.value.sets import Members, are_sets, members, relation_of_sets
from workings.check.value.units import has_units, with_worth, without_units
from workings.check.value.value import Mismatch, NoValue, Reason, Table, Undecided, Value, entries


@dataclass(frozen=True)
class Side:
    """One side of a relation: its tree and its source."""

    node: Node
    text: str

    @cached_property
    def measured(self) -> bool:
        """Whether units stand in it."""
        return has_units(self.node)

    def read(self, reading: Reading) -> Node:
        """The tree under a reading, which may ask for another reach of a slash or of a function, or for units."""
        node = self.node
        if reading.wide_slash or reading.long_reach:
            try:
                node = parse(self.text, wide_slash=reading.wide_slash, long_reach=reading.long_reach)
            except ParseError as error:
                raise Undecided("it cannot be read that way") from error
            node = _scientific(node) if reading.wide_slash else node
        if reading.percent == "mod":
            node = _with_remainders(node)
        if not self.measured:
            return node
        if reading.units == "plain":
            return without_units(node)
        return with_worth(node, binary=reading.units == "binary")


def _scientific(node: Node) -> Node:
    """a / 2 · 10³ with the power of ten below the slash, as scientific notation is meant; a / b · c with all of it below."""
    match node:
        case Product(factors=((_, Quotient(above=above, below=below, bar=False)), ("×" | "·" | "*" as sign, factor), *rest)):
            if isinstance(factor, Script) and factor.base == Number("10"):
                whole = Quotient(above, Product((("", below), (sign, factor))), span=node.span)
                return Product((("", whole), *rest)) if rest else whole
            return Quotient(above, Product((("", below), (sign, factor), *rest)), span=node.span)
    return node


def _with_remainders(node: Node) -> Node:
    """17 % 5 as 17 mod 5."""
    node = node.rebuilt(_with_remainders)
    match node:
        case Product(factors=((_, Postfix(body=body, sign="%")), ("", number), *rest)):
            whole = Product((("", body), ("mod", number)), span=node.span)
            return Product((("", whole), *rest), span=node.span) if rest else whole
    return node


def _modulo(nodes: list[Node]) -> list[Node]:
    """Both sides modulo n, where one of them is written with mod n: 17 = 2 mod 5, 7 + 8 mod 12 = 3."""
    modulus = next((number for node in nodes for number in _moduli(node)), None)
    if modulus is None:
        raise Undecided("it cannot be read that way")
    return [Product((("", _without_moduli(node)), ("mod", modulus)), span=node.span) for node in nodes]


def _moduli(node: Node) -> list[Node]:
    """What stands behind a mod in the last term of a formula."""
    last = node.terms[-1][1] if isinstance(node, Sum) else node
    return [factor for sign, factor in last.factors if sign == "mod"] if isinstance(last, Product) else []


def _without_moduli(node: Node) -> Node:
    """The formula without the mod at its end."""
    if isinstance(node, Sum):
        sign, last = node.terms[-1]
        return replace(node, terms=(*node.terms[:-1], (sign, _without_moduli(last))))
    if isinstance(node, Product) and node.factors[-1][0] == "mod":
        kept = node.factors[:-1]
        return kept[0][1] if len(kept) == 1 else replace(node, factors=kept)
    return node


@dataclass(frozen=True)
class Verdict:
    """What came out, and under which reading."""

    grade: Grade
    reading: Reading
    judgement: Judgement | None = None
    mismatch: str = ""
    """If the shapes within a side do not fit together: how."""
    side: int = 0
    """The side in which they do not fit."""
    sets: tuple[Members, Members] | None = None
    """The sides, if they are sets."""
    letter: Symbol | None = None
    """The imaginary unit, if they are complex numbers, which are lists of two."""


def compare(left: Side, right: Side, scope: Scope, about: bool = False) -> Verdict | None:
    """The best verdict over all plausible readings; none if no reading gives both sides a value.

    Where ± is written on both sides, they must agree with the upper signs and with the lower ones, on one side with either;
    a pair beside it is an interval.
    """
    if are_sets(left.node, right.node, scope):
        return _compare_sets(left, right, scope)
    if _has_both_signs(left.node) or _has_both_signs(right.node):
        if roots := _as_pairs(left, right) or _as_pairs(right, left):
            both = [verdict for pair in roots if (verdict := compare(*pair, scope, about)) is not None]
            return min(both, key=lambda verdict: rank(verdict)[:3], default=None)
        found = [
            compare(Side(_with_sign(left.node, upper), ""), Side(_with_sign(right.node, upper), ""), scope, about)
            for upper in (True, False)
        ]
        known = [verdict for verdict in found if verdict is not None]
        in_both = _has_both_signs(left.node) and _has_both_signs(right.node)
        choose = max if in_both else min  # 5 ± 1 = 6, 4 names one of the two values at a time
        return choose(known, key=lambda verdict: rank(verdict)[:3]) if len(known) == 2 else None
    if (pairs := _tuple_pairs(left.node, right.node)) is not None:
        each = [compare(Side(one, ""), Side(other, ""), scope, about) for one, other in pairs]
        decided = [verdict for verdict in each if verdict is not None]
        return max(decided, key=lambda verdict: rank(verdict)[:3]) if len(decided) == len(pairs) else None
    best: Verdict | None = None
    for reading in readings((left.node, right.node)):
        verdict = compare_as(left, right, scope, about, reading)
        if verdict is not None and (best is None or rank(verdict) < rank(best)):
            best = verdict
        if best is not None and best.grade <= Grade.ROUNDED:
            return best
    if best is not None and _is_of_tables(best):
        for lists in ("columns", "arrays"):
            verdict = compare_as(left, right, scope, about, replace(USUAL, lists=lists))
            if verdict is not None and verdict.grade <= Grade.ROUNDED:
                return verdict
    letter = imaginary_unit((left.node, right.node), scope.imaginary)
    if letter is not None and scope.value(letter) is None:
        return _compare_complex(left, right, letter, scope, about) or best
    return best


def _tuple_pairs(one: Node, other: Node) -> list[tuple[Node, Node]] | None:
    """The items of two tuples with tables among them, item by item; of an item with its name, the item."""
    match one, other:
        case Group(open="(" | "[", items=ours), Group(open="(" | "[", items=theirs) if len(ours) == len(theirs) > 1:
            if any(isinstance(item, Matrix | Group | Chain) for item in (*ours, *theirs)):
                return list(zip(map(_unnamed, ours), map(_unnamed, theirs), strict=True))
    return None


def _unnamed(item: Node) -> Node:
    return item.items[-1] if isinstance(item, Chain) and item.relations == ("=",) else item


def _is_of_tables(verdict: Verdict) -> bool:
    """Whether the shapes of tables may be why two sides differ."""
    found = verdict.judgement
    return bool(verdict.mismatch) or (found is not None and any(isinstance(x, Table) for x in (found.left, found.right)))


def _compare_sets(left: Side, right: Side, scope: Scope) -> Verdict | None:
    """Two sets, whose elements have no order."""
    context = EvaluationContext(scope, budget=Budget())
    try:
        same = relation_of_sets(left.node, "=", right.node, context)
        found = members(left.node, context), members(right.node, context)
    except (Undecided, Mismatch):
        return None
    return Verdict(Grade.RIGHT if same else Grade.WRONG, USUAL, sets=found)


def _as_pairs(left: Side, right: Side) -> list[tuple[Side, Side]]:
    """a ± b beside a pair: (a − b, a + b), and the pair; beside a set of two, in either order."""
    if not _has_both_signs(left.node) or not isinstance(right.node, Group) or len(right.node.items) != 2:
        return []
    pair = Side(replace(right.node, open="(", close=")"), "")
    ends = tuple(_with_sign(left.node, upper) for upper in (False, True))
    orders = (ends, ends[::-1]) if right.node.open == "{" else (ends,)
    return [(Side(Group("(", order, ")", span=left.node.span), ""), pair) for order in orders]


def _compare_complex(left: Side, right: Side, letter: Symbol, scope: Scope, about: bool) -> Verdict | None:
    """The verdict with `letter` as the imaginary unit: real and imaginary parts."""
    context = EvaluationContext(scope, budget=Budget())
    sides = [printed_pair(side.node, letter) for side in (left, right)]

    def again(decimals: Decimals, places: int | None) -> tuple[Value, Value]:
        seen = replace(context, decimals=decimals, places=places, budget=Budget())
        first, second = (complex_list(side.node, letter, seen) for side in (left, right))
        return first, second

    try:
        judgement = judge((sides[0], sides[1]), again(Decimals.PRINTED, None), again, about)
    except (Undecided, Mismatch):
        return None
    return Verdict(judgement.grade, USUAL, judgement, letter=letter)


def _has_both_signs(node: Node) -> bool:
    """Whether ± or ∓ stands in it."""
    return any(isinstance(part, Sum) and any(sign in "±∓" for sign, _ in part.terms) for part in node.walk())


def _with_sign(node: Node, upper: bool) -> Node:
    """The formula with ± and ∓ read from above, or from below."""
    signs = {"±": "+", "∓": "-"} if upper else {"±": "-", "∓": "+"}
    node = node.rebuilt(lambda part: _with_sign(part, upper))
    if isinstance(node, Sum):
        return replace(node, terms=tuple((signs.get(sign, sign), term) for sign, term in node.terms))
    return node


def rank(verdict: Verdict) -> tuple[int, bool, int, float]:
    """How bad a verdict is: its grade, whether shapes differ, how many entries do, and how far apart the worst ones are."""
    judgement = verdict.judgement
    if judgement is None or judgement.shapes:
        return verdict.grade, True, 0 if judgement is None else judgement.off, 0.0
    x, y = (float(entries(value)[judgement.entry].mid()) for value in (judgement.left, judgement.right))
    apart = abs(x - y) / (abs(x) + abs(y)) if math.isfinite(x) and math.isfinite(y) and x != y else 0.0
    return verdict.grade, False, judgement.off, apart


def compare_as(left: Side, right: Side, scope: Scope, about: bool, reading: Reading) -> Verdict | None:
    """The verdict under one reading."""
    context = EvaluationContext(scope, reading)
    values: list[Value] = []
    try:
        nodes = [side.read(reading) for side in (left, right)]
        if reading.congruent:
            nodes = _modulo(nodes)
    except Undecided:
        return None
    for index, node in enumerate(nodes):
        try:
            values.append(evaluate(node, context))
        except Undecided:
            return None
        except Mismatch as error:
            return Verdict(Grade.WRONG, reading, mismatch=str(error), side=index)

    def again(decimals: Decimals, places: int | None) -> tuple[Value, Value]:
        seen = replace(context, decimals=decimals, places=places)
        first, second = (v if units(n) is not None else evaluate(n, seen) for n, v in zip(nodes, values, strict=True))
        return first, second

    settled = all(is_settled(node, scope) for node in nodes if units(node) is None)
    judgement = judge((nodes[0], nodes[1]), (values[0], values[1]), again, about, settled)
    return Verdict(judgement.grade, reading, judgement)


def in_order(left: Side, relation: str, right: Side, scope: Scope) -> bool | None:
    """Whether left < right (≤, >, ≥, ≠; ∈, ⊂ … of sets) holds under some reading; none if it cannot be decided."""
    if relation in "∈∉⊂⊆⊃⊇" or are_sets(left.node, right.node, scope):
        try:
            return relation_of_sets(left.node, relation, right.node, EvaluationContext(scope))
        except (Undecided, Mismatch):
            return None
    answers: list[bool] = []
    for reading in readings((left.node, right.node)):
        context = EvaluationContext(scope, reading, Decimals.ROUNDED)
        try:
            x, y = (evaluate(side.read(reading), context) for side in (left, right))
        except (Undecided, Mismatch):
            continue
        if isinstance(x, Table) or isinstance(y, Table) or not x.is_finite() or not y.is_finite():
            continue
        match relation:
            case "<" | "≤":
                wrong = x > y or (relation == "<" and x == y)
            case ">" | "≥":
                wrong = x < y or (relation == ">" and x == y)
            case "≠":
                wrong = x == y
            case _:
                continue
        answers.append(not wrong)
    return any(answers) if answers else None


def is_settled(node: Node, scope: Scope) -> bool:
    """Whether the document shows what each decimal of a calculation was rounded from, and each value of its names."""
    return all(
        scope.behind.get(part.text) is not None if isinstance(part, Number) else _is_exact(scope.definition(part))
        for part in node.walk()
        if not isinstance(part, Number) or looks_rounded(part)
    )


def _is_exact(known: Definition | None) -> bool:
    """Whether a name has no value that may be rounded, or the number behind it is known."""
    if known is None or all(x.rad() <= (abs(x.mid()) + 1) * TINY for x in entries(known.rounded)):
        return True
    return any(abs(x - y) > (abs(x) + 1) * TINY for x, y in zip(entries(known.value), entries(known.behind), strict=False))


def why_undecided(side: Side, scope: Scope) -> Reason | None:
    """Why a side has no value in the usual reading; none if it has one."""
    try:
        evaluate(side.read(USUAL), EvaluationContext(scope))
    except Undecided as error:
        return error.reason
    except Mismatch:
        return Reason.SIZE
    return None


def certainly_none(side: Side, scope: Scope) -> str:
    """Why a side has no real value in any reading of its reach; empty if it may have one."""
    reason = ""
    for reading in readings((side.node,)):
        try:
            evaluate(side.read(reading), EvaluationContext(scope, reading))
            return ""
        except NoValue as error:
            reason = str(error)
        except (Undecided, Mismatch):
            return ""
    return reason


def value_of(side: Side, scope: Scope, decimals: Decimals = Decimals.PRINTED, reading: Reading = USUAL) -> Value | None:
    """The value of a side in the usual reading, if it has one."""
    try:
        return evaluate(side.read(reading), EvaluationContext(scope, reading, decimals))
    except (Undecided, Mismatch):
        return None
