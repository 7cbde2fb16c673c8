"""Superscripts that are indices: W^1, W^2 as the weights of layer one and two, in documents that use them so.

A document does, if it gives `W^1` or `W^0` a value of its own: a first power would not be written.
"""

from __future__ import annotations

from dataclasses import replace

from workings.check.latex.syntax import Chain, Group, Items, Node, Number, Product, Script, Symbol
from workings.check.latex.weights import plain

_EULER = Symbol("e")


def layer_bases(tree: Node) -> set[Node]:
    """The bases that stand on the left of an equation with the superscript 0 or 1."""
    found: set[Node] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Items):
            waiting += node.parts
        elif isinstance(node, Chain):
            match node.items[0]:
                case Script(base=Symbol() as base, above=Number(text="0" | "1")) if base != _EULER:
                    found.add(plain(base))
    return found


def as_indices(node: Node, bases: set[Node]) -> Node:
    """The tree with the superscripts of these bases in brackets, as indices are written."""
    if not bases:
        return node
    node = node.rebuilt(lambda part: as_indices(part, bases))
    if isinstance(node, Script) and isinstance(node.above, Number) and plain(node.base) in bases:
        return replace(node, above=Group("(", (node.above,), ")", span=node.above.span))
    return node


def on_last_factor(node: Node) -> Node:
    r"""Braces that nobody sees hold nothing together: {X Y}^T is printed, and meant, as X Yᵀ.

    >>> from workings.check.latex.parse import parse
    >>> on_last_factor(parse(r"\mathbf{X X}^{\top}")) == parse(r"\mathbf{X} \mathbf{X}^{\top}")
    True
    """
    node = node.rebuilt(on_last_factor)
    match node:
        case Script(base=Symbol(name="e", style=style), above=above) if style and above is not None:
            return replace(node, base=Symbol("e", span=node.base.span))  # an upright e is Euler's
        case Script(base=Product(factors=(*before, (sign, last)))) if not isinstance(last, Group):
            script = replace(node, base=last, span=(last.span[0], node.span[1]))
            return Product((*before, (sign, script)), span=node.span)
    return node
