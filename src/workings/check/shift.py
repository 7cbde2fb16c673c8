"""Trees in another place: the same formula, its spans moved."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from workings.check.syntax import Node


def shifted(node: Node, by: int) -> Node:
    """The tree with all its spans moved by `by` characters."""
    if by == 0:
        return node
    changed: dict[str, Any] = {"span": (node.span[0] + by, node.span[1] + by)}
    for part in fields(node):
        value = getattr(node, part.name)
        if part.name != "span" and isinstance(value, Node | tuple):
            changed[part.name] = _moved(value, by)
    return replace(node, **changed)


def _moved(value: Any, by: int) -> Any:
    if isinstance(value, Node):
        return shifted(value, by)
    if isinstance(value, tuple):
        return tuple(_moved(item, by) for item in value)
    return value
