"""A formula with one of its parts changed: every way to do it, one place at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from workings.check.latex.syntax import Node


def rewrites(node: Node, change: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """The formula with one part of it replaced by what `change` makes of that part, for each part and each change.

    >>> from workings.check.latex.syntax import Number, Quotient
    >>> more = lambda part: [Number(part.text + "0")] if isinstance(part, Number) else []
    >>> [(new.above.text, new.below.text) for new in rewrites(Quotient(Number("1"), Number("2")), more)]
    [('10', '2'), ('1', '20')]
    """
    yield from change(node)
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, Node):
            yield from (_with(node, part.name, new) for new in rewrites(value, change))
        elif isinstance(value, tuple) and part.name != "span":
            yield from (_with(node, part.name, new) for new in _in_tuple(value, change))


def _in_tuple(items: tuple[Any, ...], change: Callable[[Node], Iterable[Node]]) -> Iterator[tuple[Any, ...]]:
    """A tuple of nodes, of signs with nodes, or of rows of nodes, with one node changed."""
    for index, item in enumerate(items):
        choices: Iterator[Any] = iter(())
        if isinstance(item, Node):
            choices = rewrites(item, change)
        elif isinstance(item, tuple):
            choices = _in_tuple(item, change)
        yield from ((*items[:index], new, *items[index + 1 :]) for new in choices)


def _with(node: Node, name: str, value: Any) -> Node:
    """The same node with one part changed."""
    changed: dict[str, Any] = {name: value}
    return replace(node, **changed)
