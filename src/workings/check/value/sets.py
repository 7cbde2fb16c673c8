"""Sets and intervals of numbers: {1, 2} ∪ {2, 3} = {1, 2, 3}, 0.5 ∈ [0, 1)."""

from __future__ import annotations

from flint import arb

from workings.check.latex.syntax import Group, Node, Product, Symbol
from workings.check.value.evaluation.context import Budget, EvaluationContext, value
from workings.check.value.value import Undecided, Value, entries, scalar

Element = tuple[arb, ...]
"""A number, or a pair or a longer list of them."""
_EMPTY = Symbol("emptyset")


def is_set(node: Node) -> bool:
    """Whether a formula is a set that is written out, or made of such by ∪, ∩ and ∖."""
    match node:
        case Group(open="{", close="}", items=items):
            return not items or all(not isinstance(item, Product) or item.factors for item in items)
        case Group(open="(", items=(only,)):
            return is_set(only)
        case Product(factors=((_, first), *rest)) if rest:
            return is_set(first) and all(sign in "∪∩∖" and is_set(factor) for sign, factor in rest)
    return node == _EMPTY


def elements(node: Node, context: EvaluationContext) -> list[Element]:
    """The elements of a set, each once."""
    match node:
        case Group(open="(", items=(only,)):
            return elements(only, context)
        case Group(items=items):
            found: list[Element] = []
            for item in items:
                element = tuple(entries(value(item, context)))
                if _place(element, found) is None:
                    found.append(element)
            return found
        case Product(factors=((_, first), *rest)):
            result = elements(first, context)
            for sign, factor in rest:
                other = elements(factor, context)
                if sign == "∪":
                    result += [element for element in other if _place(element, result) is None]
                else:
                    result = [element for element in result if (_place(element, other) is not None) == (sign == "∩")]
            return result
    return []


def _place(element: Element, found: list[Element]) -> int | None:
    """Where an element stands in a list; undecided if it may or may not be one of it."""
    for index, other in enumerate(found):
        if len(other) == len(element) and all(a.overlaps(b) for a, b in zip(element, other, strict=True)):
            if any(not (a - b).is_zero() for a, b in zip(element, other, strict=True)):
                raise Undecided("two elements of a set that cannot be told apart")
            return index
    return None


def relation_of_sets(left: Node, relation: str, right: Node, context: EvaluationContext) -> bool | None:
    """Whether = ≠ ⊂ ⊆ ⊃ ⊇ holds between sets, or ∈ ∉ between a number and a set or an interval; none for anything else."""
    context = context if context.budget else EvaluationContext(context.scope, context.reading, budget=Budget())
    if relation in ("∈", "∉"):
        inside = _contains(right, value(left, context), context) if is_set(right) or _is_interval(right) else None
        return inside if inside is None or relation == "∈" else not inside
    if relation in ("⊃", "⊇"):
        left, right = right, left
    if relation not in ("=", "≠", "⊂", "⊆", "⊃", "⊇") or not (is_set(left) and is_set(right)):
        return None
    a, b = elements(left, context), elements(right, context)
    within = all(_place(element, b) is not None for element in a)
    if relation in ("=", "≠"):
        return (within and len(a) == len(b)) == (relation == "=")
    return within


def _is_interval(node: Node) -> bool:
    return isinstance(node, Group) and node.open in "([" and node.close in ")]" and len(node.items) == 2


def _contains(right: Node, x: Value, context: EvaluationContext) -> bool | None:
    if not _is_interval(right):
        return _place(tuple(entries(x)), elements(right, context)) is not None
    assert isinstance(right, Group)
    number, low, high = scalar(x), *(scalar(value(item, context)) for item in right.items)
    above = number > low or (right.open == "[" and number == low)
    below = number < high or (right.close == "]" and number == high)
    return bool(above and below)
