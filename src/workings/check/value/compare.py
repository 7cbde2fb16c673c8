"""Two sides of a relation under every plausible reading."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Node, Number, Product, Quotient, Script, Sum
from workings.check.value.evaluate import EvaluationContext, evaluate, looks_rounded
from workings.check.value.reading import USUAL, Reading, readings
from workings.check.value.rounding import Grade, Judgement, judge, units
from workings.check.value.scope import Decimals, Scope
from workings.check.value.value import Mismatch, NoValue, Table, Undecided, Value


@dataclass(frozen=True)
class Side:
    """One side of a relation: its tree and its source."""

    node: Node
    text: str

    def read(self, reading: Reading) -> Node:
        """The tree under a reading, which may ask for another reach of a slash or of a function."""
        if not reading.wide_slash and not reading.long_reach:
            return self.node
        try:
            node = parse(self.text, wide_slash=reading.wide_slash, long_reach=reading.long_reach)
            return scientific(node) if reading.wide_slash else node
        except ParseError as error:
            raise Undecided("it cannot be read that way") from error


def scientific(node: Node) -> Node:
    """a / 2 · 10³ with the power of ten below the slash, as scientific notation is meant; a / b · c with all of it below."""
    match node:
        case Product(factors=((_, Quotient(above=above, below=below, bar=False)), ("×" | "·" | "*" as sign, factor), *rest)):
            if isinstance(factor, Script) and factor.base == Number("10"):
                whole = Quotient(above, Product((("", below), (sign, factor))), span=node.span)
                return Product((("", whole), *rest)) if rest else whole
            return Quotient(above, Product((("", below), (sign, factor), *rest)), span=node.span)
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


def compare(left: Side, right: Side, scope: Scope, about: bool = False) -> Verdict | None:
    """The best verdict over all plausible readings; none if no reading gives both sides a value.

    Where ± is written, the sides must agree with the upper signs and with the lower ones.
    """
    if has_both_signs(left.node) or has_both_signs(right.node):
        found = [
            compare(Side(with_sign(left.node, upper), ""), Side(with_sign(right.node, upper), ""), scope, about)
            for upper in (True, False)
        ]
        known = [verdict for verdict in found if verdict is not None]
        return max(known, key=rank) if len(known) == 2 else None
    best: Verdict | None = None
    for reading in readings((left.node, right.node)):
        verdict = compare_as(left, right, scope, about, reading)
        if verdict is not None and (best is None or rank(verdict) < rank(best)):
            best = verdict
        if best is not None and best.grade <= Grade.ROUNDED:
            break
    return best


def has_both_signs(node: Node) -> bool:
    """Whether ± or ∓ stands in it."""
    return any(isinstance(part, Sum) and any(sign in "±∓" for sign, _ in part.terms) for part in node.walk())


def with_sign(node: Node, upper: bool) -> Node:
    """The formula with ± and ∓ read from above, or from below."""
    signs = {"±": "+", "∓": "-"} if upper else {"±": "-", "∓": "+"}
    node = node.rebuilt(lambda part: with_sign(part, upper))
    if isinstance(node, Sum):
        return replace(node, terms=tuple((signs.get(sign, sign), term) for sign, term in node.terms))
    return node


def rank(verdict: Verdict) -> tuple[int, bool, int]:
    """How bad a verdict is: its grade, whether shapes differ, how many entries do."""
    judgement = verdict.judgement
    shapes = judgement is None or judgement.shapes
    return verdict.grade, shapes, 0 if judgement is None else judgement.off


def compare_as(left: Side, right: Side, scope: Scope, about: bool, reading: Reading) -> Verdict | None:
    """The verdict under one reading."""
    context = EvaluationContext(scope, reading)
    values: list[Value] = []
    nodes: list[Node] = []
    for index, side in enumerate((left, right)):
        try:
            node = side.read(reading)
            values.append(evaluate(node, context))
            nodes.append(node)
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
    """Whether left < right (≤, >, ≥, ≠) holds under some reading; none if it cannot be decided."""
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
    """Whether the document shows what each decimal of a calculation was rounded from."""
    return all(
        scope.behind.get(part.text) is not None for part in node.walk() if isinstance(part, Number) and looks_rounded(part)
    )


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
