"""Bold and plain letters: two names in some documents, one in others."""

from __future__ import annotations

from workings.check.latex.syntax import Node, Postfix, Product, Script, Symbol

_WEIGHTS = set("bold mathbf boldsymbol bm rm mathrm it mathit bf sf mathsf pmb textbf textit".split())
"""Fonts by which a document may or may not tell one name from another."""


def plain(node: Node) -> Node:
    """A name without the weight of its letters, so that a bold Q and a plain Q may be one name."""
    match node:
        case Symbol(name=name, style=style):
            kept = tuple(s for s in style if s not in _WEIGHTS)
            return node if kept == style else Symbol(name, kept)
        case Script(base=base, below=below, above=above):
            return Script(plain(base), plain(below) if below else None, plain(above) if above else None)
        case Postfix(body=body, sign=sign):
            return Postfix(plain(body), sign)
        case Product(factors=factors):
            return Product(tuple((sign, plain(factor)) for sign, factor in factors))
    return node
