"""Trees in another place: the same formula, its spans moved."""

from __future__ import annotations

from dataclasses import replace

from workings.check.latex.syntax import Node


def shifted(node: Node, by: int) -> Node:
    """The tree with all its spans moved by `by` characters."""
    if by == 0:
        return node
    first, last = node.span
    return replace(node.rebuilt(lambda part: shifted(part, by)), span=(first + by, last + by))
