"""The results of a statement by the names that stand before its equals sign.

a, (b, *rest) = …      a, b, rest[0], rest[1]
parts = x.chunk(2)     parts[0], parts[1]
m = x.max(dim=1)       m.values, m.indices
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sized
from typing import Any

from torch import Tensor

Named = tuple[str, Any, Any]
"""A name, the value, and the value at that moment."""


def unpacked(name: str, value: Any, then: Any) -> list[Named]:
    """The tensors of a result by their names, with their values at that moment: `a, (b, c) = …`, `parts[0]`, `m.values`.

    >>> unpacked("a, (b, c)", (1, (2, 3)), (1, (2, 3)))
    [('a', 1, 1), ('b', 2, 2), ('c', 3, 3)]
    >>> unpacked("parts", [1, 2], [1, 2])
    [('parts[0]', 1, 1), ('parts[1]', 2, 2)]
    """
    target = parsed(f"({name.split(' = ')[-1]})") if name else None
    return list(_pairs(target, name.split(" = ")[-1], value, then))


def _pairs(target: ast.expr | None, text: str, value: Any, then: Any) -> list[Named]:
    if type(value) is type(then) and type(value) in (list, dict):  # it may have other entries by now
        value = _as_it_was(value, then)
    if isinstance(value, Mapping):
        return [pair for key in value for pair in _pairs(None, text and f"{text}[{key!r}]", value[key], _item(then, key))]
    if not isinstance(value, (tuple, list)):
        return [(text, value, then)]
    names = _targets(target, len(value))
    found: list[Named] = []
    for i, item in enumerate(value):
        inner = names[i] if names else None
        label = ast.unparse(inner) if inner is not None else _item_name(text, value, i)
        found += _pairs(inner, label, item, _item(then, i))
    return found


def _as_it_was(value: Any, then: Any) -> Any:
    """The entries that were there, themselves; the copy of one that has become another kind of thing."""
    if isinstance(then, list):
        return [_kept(value[i] if i < len(value) else None, copy) for i, copy in enumerate(then)]
    return {key: _kept(value.get(key), copy) for key, copy in then.items()}


def _kept(value: Any, copy: Any) -> Any:
    kept = isinstance(value, Tensor) == isinstance(copy, Tensor) and isinstance(value, Sized) == isinstance(copy, Sized)
    return value if kept else copy


def targets(name: str) -> list[str]:
    """The names that a statement gives to the parts of its result; none where it names the whole.

    >>> targets("a, (b, *rest)"), targets("h")
    (['a', 'b', 'rest'], [])
    """
    target = parsed(f"({name.split(' = ')[-1]})") if name else None
    if not isinstance(target, (ast.Tuple, ast.List)):
        return []
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def parts_of(name: str, count: int) -> list[str]:
    """The names of so many parts.

    >>> parts_of("a, *rest", 3)
    ['a', 'rest[0]', 'rest[1]']
    """
    return [ast.unparse(node) for node in _targets(parsed(f"({name.split(' = ')[-1]})"), count) if node is not None]


def _targets(target: ast.expr | None, count: int) -> list[ast.expr | None]:
    """A target for each item; a starred one takes what the others leave, by number."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return []
    names = list(target.elts)
    flat = [n for n in ast.walk(target) if isinstance(n, ast.Name)]
    star = next((i for i, name in enumerate(names) if isinstance(name, ast.Starred)), None)
    if star is not None:
        middle = count - len(names) + 1
        rest = ast.unparse(names[star]).removeprefix("*")
        parts = [parsed(f"{rest}[{i}]") for i in range(middle)]
        return [*names[:star], *parts, *names[star + 1 :]]
    return [*names] if len(names) == count else [*flat] if len(flat) == count else []


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


def parsed(text: str) -> ast.expr | None:
    """The expression a text is, if it is one."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
