"""The results of a statement by the names that stand before its equals sign.

a, (b, *rest) = …      a, b, rest[0], rest[1]
parts = x.chunk(2)     parts[0], parts[1]
m = x.max(dim=1)       m.values, m.indices
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from workings.trace.formula.from_python import index_of, is_path
from workings.trace.formula.tree import Index

Named = tuple[str, Any, Any]
"""A name, the value, and the value at that moment."""


@dataclass(frozen=True)
class Target:
    """A place that gets a value, as it is written: `h`, `self.h`, the entry `y[0]` of a whole, the parts of `a, (b, *c)`."""

    text: str
    parts: tuple[Target, ...] = ()
    is_starred: bool = False
    whole: Target | None = None
    at: Index | None = None

    def places(self) -> Iterator[Target]:
        """The places in it that each get one value, in reading order."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.places()

    @property
    def names(self) -> list[str]:
        """The texts of these places."""
        return [place.text for place in self.places()]


def target_of(node: ast.expr) -> Target:
    """
    >>> target = target_of(ast.parse("(a, (b, *rest))", mode="eval").body)
    >>> target.text, target.names
    ('a, (b, *rest)', ['a', 'b', 'rest'])
    """
    found = _part(node)
    return replace(found, text=found.text[1:-1]) if isinstance(node, ast.Tuple) and found.text.startswith("(") else found


def _part(node: ast.expr) -> Target:
    match node:
        case ast.Starred(value=value):
            return replace(_part(value), is_starred=True)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return Target(ast.unparse(node), tuple(map(_part, items)))
        case ast.Subscript(value=whole, slice=place) if is_path(whole) or isinstance(whole, ast.Subscript):
            return Target(ast.unparse(node), whole=_part(whole), at=index_of(place))
    return Target(ast.unparse(node))


def unpack(target: Target | None, name: str, value: Any, then: Any) -> list[Named]:
    """The tensors of a result by their names, with their values at that moment: `a, (b, c) = …`, `parts[0]`, `m.values`.

    >>> unpack(target_of(ast.parse("(a, (b, c))", mode="eval").body), "", (1, (2, 3)), (1, (2, 3)))
    [('a', 1, 1), ('b', 2, 2), ('c', 3, 3)]
    >>> unpack(None, "parts", [1, 2], [1, 2])
    [('parts[0]', 1, 1), ('parts[1]', 2, 2)]
    """
    if type(value) is type(then) and type(value) in (list, dict):  # it may have other entries by now
        value = _entries_then(value, then)
    if isinstance(value, Mapping):
        return [pair for key in value for pair in unpack(None, name and f"{name}[{key!r}]", value[key], _item(then, key))]
    if not isinstance(value, (tuple, list)):
        return [(name, value, then)]
    parts = part_targets(target, len(value))
    found: list[Named] = []
    for i, item in enumerate(value):
        part = parts[i] if parts else None
        found += unpack(part, part.text if part is not None else _item_name(name, value, i), item, _item(then, i))
    return found


def _entries_then(value: Any, then: Any) -> Any:
    """The entries that were there, themselves; the copy of one that has become another kind of thing."""
    if isinstance(then, list):
        return [_same_or_copy(value[i] if i < len(value) else None, copy) for i, copy in enumerate(then)]
    return {key: _same_or_copy(value.get(key), copy) for key, copy in then.items()}


def _same_or_copy(value: Any, copy: Any) -> Any:
    same = isinstance(value, Tensor) == isinstance(copy, Tensor) and isinstance(value, Sized) == isinstance(copy, Sized)
    return value if same else copy


def part_targets(target: Target | None, count: int) -> list[Target]:
    """A target for each of so many items; a starred one takes what the others leave, by number. None names the whole.

    >>> [part.text for part in part_targets(target_of(ast.parse("(a, *rest)", mode="eval").body), 3)]
    ['a', 'rest[0]', 'rest[1]']
    """
    if target is None or not target.parts:
        return []
    parts = list(target.parts)
    star = next((i for i, part in enumerate(parts) if part.is_starred), None)
    if star is not None:
        rest = [Target(f"{parts[star].text}[{i}]") for i in range(count - len(parts) + 1)]
        return [*parts[:star], *rest, *parts[star + 1 :]]
    places = list(target.places())
    return parts if len(parts) == count else places if len(places) == count else []


def _item_name(text: str, value: Any, i: int) -> str:
    fields: Any = getattr(type(value), "_fields", None) or getattr(type(value), "__match_args__", ())
    if not text:
        return ""
    return f"{text}.{fields[i]}" if type(value) not in (tuple, list) and i < len(fields) else f"{text}[{i}]"


def _item(then: Any, key: Any) -> Any:
    try:
        return then[key]
    except (TypeError, KeyError, IndexError):
        return None
