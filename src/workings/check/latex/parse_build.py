"""Put read parts together: several formulas, several factors. One part alone stays itself."""

from __future__ import annotations

from collections.abc import Sequence

from workings.check.latex.syntax import Items, Node, Product


def side_by_side(parts: Sequence[Node]) -> Node:
    """One formula, or several as `Items`."""
    if len(parts) == 1:
        return parts[0]
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Items) else (part,)))
    return Items(flat, span=(parts[0].span[0], parts[-1].span[1]))


def product(factors: Sequence[tuple[str, Node]]) -> Node:
    """One factor, or several as `Product`."""
    if len(factors) == 1:
        return factors[0][1]
    first = factors[0][1]
    return Product((("", first), *factors[1:]), span=(first.span[0], factors[-1][1].span[1]))
