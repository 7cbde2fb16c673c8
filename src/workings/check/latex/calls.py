"""Letters before brackets: a function of what is inside, or a factor?

Only the whole document tells: a letter that always stands before brackets is a function, and then f(x)² is a square of f(x).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from workings.check.latex.syntax import Group, Node, Product, Script, Symbol
from workings.check.latex.weights import plain

SIGMOID = Symbol("sigma")


def called_letters(product: Product) -> list[Node]:
    """The letters of a product that stand right before brackets."""
    return [
        factor
        for (_, factor), (sign, group) in pairwise(product.factors)
        if sign == "" and _is_call_bracket(group) and _is_lettered(factor)
    ]


def uncalled_letters(node: Node) -> set[Node]:
    """The letters that stand somewhere without brackets behind them, as only factors and terms do."""
    called = [name for part in node.walk() if isinstance(part, Product) for name in called_letters(part)]
    before_brackets = {id(part) for name in called for part in (name, name.base if isinstance(name, Script) else name)}
    return {plain(part) for part in node.walk() if isinstance(part, Symbol | Script) and id(part) not in before_brackets}


def function_letters(trees: list[Node]) -> set[Node]:
    """The letters that stand before brackets, and nowhere else.

    >>> from workings.check.latex.parse import parse
    >>> function_letters([parse("f(x) + g(x) = g")])
    {Symbol(span=(0, 1), name='f', style=())}
    """
    called = {name for tree in trees for part in tree.walk() if isinstance(part, Product) for name in called_letters(part)}
    if not called:
        return set()
    return called.difference(*map(uncalled_letters, trees))


def powers_of_calls(node: Node, functions: set[Node]) -> Node:
    """f(x)² as (f(x))², where f is a function.

    >>> from workings.check.latex.parse import parse
    >>> powers_of_calls(parse(r"2 f(x)^2"), {Symbol("f")}) == parse(r"2 {f(x)}^2")
    True
    """
    node = node.rebuilt(lambda part: powers_of_calls(part, functions))
    if not isinstance(node, Product):
        return node
    factors: list[tuple[str, Node]] = []
    for sign, factor in node.factors:
        is_power = sign == "" and isinstance(factor, Script) and _is_bracket(factor.base)
        if factors and is_power and isinstance(factor, Script) and factors[-1][1] in functions:
            before, name = factors.pop()
            call = Product((("", name), ("", factor.base)), span=(name.span[0], factor.base.span[1]))
            factors.append((before, replace(factor, base=call, span=(name.span[0], factor.span[1]))))
        else:
            factors.append((sign, factor))
    if len(factors) == len(node.factors):
        return node
    return factors[0][1] if len(factors) == 1 else replace(node, factors=tuple(factors))


def _is_lettered(node: Node) -> bool:
    """A letter, with or without scripts; not the power of a bracket."""
    while isinstance(node, Script):
        node = node.base
    return isinstance(node, Symbol)


def _is_call_bracket(node: Node) -> bool:
    """(x), or (x) with a power."""
    return _is_bracket(node.base if isinstance(node, Script) else node)


def _is_bracket(node: Node) -> bool:
    return isinstance(node, Group) and node.open in ("(", "[")
