"""Probabilities that a document states, held against each other: P(A | B) is P(A ∩ B)/P(B), P(Aᶜ) is 1 − P(A).

A law is a formula in the probabilities of other events. Where all of them were stated before in the same problem, the
formula has a value, and the probability that is stated now must have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from workings.check.argument.argument import Argument
from workings.check.argument.contexts import Visibility
from workings.check.argument.lines import EQUAL, Line
from workings.check.argument.roles import is_literal
from workings.check.argument.words import value_text
from workings.check.claims.claim import side_at
from workings.check.document.relation import Role
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import (
    Given,
    Group,
    Items,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.value.compare import Side, compare, value_of
from workings.check.value.names import is_capital
from workings.check.value.rounding import Grade

_SIGNS = {Symbol("P"), Symbol("P", ("bb",)), Symbol("Pr", ("text",)), Symbol("Pr")}
_BOTH, _EITHER = ("∩", "∧"), ("∪", "∨")
_COMPLEMENTS = (Symbol("c"), Symbol("C"), Symbol("complement"))


def check_laws(line: Line, argument: Argument) -> None:
    """P(…) = a number: compare it with every law whose probabilities are known here."""
    if len(line.sides) < 2 or line.relations[0] not in EQUAL or not is_literal(line.sides[-1]):
        return
    event = _event(line.sides[0])
    asked = line.formulas[-1].after.lstrip("$ \n").startswith("?")
    if event is None or asked or argument.is_doubtful(line):
        return
    printed, scope = side_at(line, len(line.sides) - 1), argument.view(line).scope()
    for law in _laws(line.sides[0], event):
        scope.used = set()
        if value_of(Side(law, ""), scope) is None:
            continue
        names = frozenset(scope.used)
        verdict = compare(Side(law, ""), printed, scope, "≈" in line.relations)
        if verdict is None or verdict.judgement is None or argument.view(line).visibility(names) > Visibility.REFERRED:
            continue
        index = len(line.relations) - 1
        argument.note_role(line, index, Role.CLAIM, "a law of probability and what was stated before")
        argument.decide(line, index, verdict.grade is not Grade.WRONG)
        if verdict.grade is Grade.WRONG:
            truth = value_text(verdict.judgement.left)
            why = f"{one_line(line.sides[0])} = {one_line(law)} = {truth}, from the probabilities stated before."
            argument.add(line, 0, index + 1, "likely", "probability", truth, why, basis="a law of probability")
        return


def _event(node: Node) -> Node | None:
    """The A of P(A), if it is made of capital letters, as events are."""
    match node:
        case Product(factors=((_, sign), ("", Group(open="(" | "[", items=(event,))))) if sign in _SIGNS:
            letters = [part for part in event.walk() if isinstance(part, Symbol) and part not in _COMPLEMENTS]
            return event if letters and all(map(is_capital, letters)) else None
    return None


def _probability(like: Node, event: Node) -> Node:
    """P(event), with the sign and brackets of another probability."""
    assert isinstance(like, Product)
    group = like.factors[1][1]
    assert isinstance(group, Group)
    items = event.parts if isinstance(event, Items) else (event,)
    return Product((like.factors[0], ("", Group(group.open, items, group.close))))


def _laws(name: Node, event: Node) -> Iterator[Node]:
    """The formulas that give the probability of an event, in each way of writing the others."""

    def p(other: Node) -> Node:
        return _probability(name, other)

    match event:
        case Given(body=a, condition=b, sign="|"):
            for both in _joined(a, b, _BOTH):
                yield Quotient(p(both), p(b))
            yield Quotient(Product((("", p(Given(b, a))), ("·", p(a)))), p(b))
        case Product(factors=((_, a), (sign, b))) if sign in _BOTH:
            yield Product((("", p(Given(a, b))), ("·", p(b))))
            yield Product((("", p(Given(b, a))), ("·", p(a))))
        case Product(factors=((_, a), (sign, b))) if sign in _EITHER:
            for both in _joined(a, b, _BOTH):
                yield Sum((("+", p(a)), ("+", p(b)), ("-", p(both))))
    opposite = _opposite(event)
    if opposite is not None:
        yield Sum((("+", Number("1")), ("-", p(opposite))))


def _joined(a: Node, b: Node, signs: tuple[str, ...]) -> Iterator[Node]:
    """A ∩ B in each way of writing it: A ∧ B, A B, A and B, B ∩ A."""
    for (x, y), sign in product(((a, b), (b, a)), (*signs, "")):
        yield Product((("", x), (sign, y)))
    for x, y in ((a, b), (b, a)):
        yield Items((x, y))
        yield Items((x, Words("and"), y))


def _opposite(event: Node) -> Node | None:
    """A of Aᶜ, Ā and A′."""
    match event:
        case Script(base=base, below=None, above=above) if above in _COMPLEMENTS:
            return base
        case Postfix(body=body, sign="'"):
            return body
        case Symbol(name=name, style=("bar",)):
            return Symbol(name)
    return None
