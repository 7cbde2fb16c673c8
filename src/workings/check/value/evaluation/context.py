"""The context of an evaluation, and the rules by which each kind of formula gets its value.

A rule is a function of a node and an `EvaluationContext`. It asks `value` for its parts, and so never needs their rules:

    @rule(Quotient)
    def fraction(node: Quotient, context: EvaluationContext) -> Value:
        return quotient(value(node.above, context), value(node.below, context))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from workings.check.latex.syntax import Dots, Node, Nothing, Words
from workings.check.value.notation import form_of
from workings.check.value.reading import USUAL, Reading
from workings.check.value.scope import Decimals, Rule, Scope
from workings.check.value.value import Reason, Undecided, Value

_MOST_STEPS = 400_000
"""A formula that takes more steps than this (a sum of very many terms) is left undecided."""


@dataclass(slots=True)
class Budget:
    """The steps that are left."""

    left: int = _MOST_STEPS


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What is known, how a formula is read, and what its decimals stand for."""

    scope: Scope
    reading: Reading = USUAL
    decimals: Decimals = Decimals.PRINTED
    places: int | None = None
    """If given, only decimals with at least so many places count as rounded."""
    budget: Budget | None = None

    def known(self, node: Node) -> Value | None:
        """The value that a name was given, if it was."""
        return self.scope.value(node, self.decimals)

    def bound(self, letters: Mapping[Node, Value]) -> EvaluationContext:
        """The same inside a sum or a function, where these letters have these values."""
        return replace(self, scope=self.scope.bound(letters))


_REASONS: dict[type[Node], Reason] = {Words: Reason.WORDS, Dots: Reason.DOTS, Nothing: Reason.UNFINISHED}
"""Why a kind of formula without a rule has no value."""

N = TypeVar("N", bound=Node)
_RULES: dict[type[Node], Callable[..., Value]] = {}
"""For each kind of formula the function that computes it."""


def rule(kind: type[N]) -> Callable[[Callable[[N, EvaluationContext], Value]], Callable[[N, EvaluationContext], Value]]:
    """Make a function the rule for one kind of formula."""

    def register(compute: Callable[[N, EvaluationContext], Value]) -> Callable[[N, EvaluationContext], Value]:
        _RULES[kind] = compute
        return compute

    return register


def value(node: Node, context: EvaluationContext) -> Value:
    """The value of a part: the one it was given as a name, otherwise by the rule for its kind."""
    assert context.budget is not None
    context.budget.left -= 1
    if context.budget.left < 0:
        raise Undecided("it takes too many steps", Reason.LARGE)
    known = context.scope.value(node, context.decimals)
    if known is not None:
        return known
    if context.scope.notations and (form := form_of(node)) is not None:
        own = context.scope.notation(form[0])
        if own is not None:
            return applied(own, [value(item, context) for item in form[1]], context)
    compute = _RULES.get(type(node))
    if compute is None:
        raise Undecided(f"{type(node).__name__.lower()} has no value", _REASONS.get(type(node), Reason.NOTATION))
    return compute(node, context)


def applied(own: Rule, operands: list[Value], context: EvaluationContext) -> Value:
    """What the author's rule gives for these operands."""
    return value(own.body, context.bound(dict(zip(own.names, operands, strict=True))))
