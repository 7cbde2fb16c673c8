"""Brackets that are missing: 2 · 3 + 4 = 14 is right as 2 · (3 + 4)."""

from __future__ import annotations

from collections.abc import Iterator

from workings.check.latex.syntax import Big, Group, Node, Product, Quotient, Sum


def with_brackets(node: Node) -> Iterator[Node]:
    """The formula with one pair of brackets more, in every place where that changes its meaning."""
    if not isinstance(node, Sum) or len(node.terms) < 2:
        return
    for first in range(len(node.terms) - 1):
        sign, term = node.terms[first]
        for last in range(first + 1, len(node.terms)):
            rest = node.terms[first + 1 : last + 1]
            kept = node.terms[:first], node.terms[last + 1 :]
            if isinstance(term, Product) and len(term.factors) > 1:
                mark, factor = term.factors[-1]
                inner = Group("(", (Sum((("+", factor), *rest)),), ")")
                widened: Node = Product((*term.factors[:-1], (mark, inner)))
                yield _summed((*kept[0], (sign, widened), *kept[1]))
            if isinstance(term, Big):
                widened = Big(term.operator, term.below, term.above, Group("(", (Sum((("+", term.body), *rest)),), ")"))
                yield _summed((*kept[0], (sign, widened), *kept[1]))
            if isinstance(term, Quotient) and not term.bar:
                inner = Group("(", (Sum((("+", term.below), *rest)),), ")")
                yield _summed((*kept[0], (sign, Quotient(term.above, inner, bar=True)), *kept[1]))
        last_sign, last_term = node.terms[first + 1]
        if isinstance(last_term, Product | Quotient) and last_sign in "+-":
            yield from _before(node, first)


def _before(node: Sum, first: int) -> Iterator[Node]:
    """a + b c as (a + b) c, a + b / c as (a + b) / c."""
    head, (sign, term), tail = node.terms[: first + 1], node.terms[first + 1], node.terms[first + 2 :]
    match term:
        case Product(factors=((_, factor), *others)) if others:
            widened: Node = Product((("", Group("(", (Sum((*head, (sign, factor))),), ")")), *others))
        case Quotient(above=above, below=below):
            widened = Quotient(Group("(", (Sum((*head, (sign, above))),), ")"), below)
        case _:
            return
    yield _summed((("+", widened), *tail))


def _summed(terms: tuple[tuple[str, Node], ...]) -> Node:
    """A sum; of one term, that term."""
    return terms[0][1] if len(terms) == 1 and terms[0][0] == "+" else Sum(terms)
