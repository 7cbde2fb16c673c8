"""Entries of lists, tuples and dicts, each by its own name: in the turn where t is 1, `h[t]` is h[1].

h[t], ws[i - 1], cache['k'], params['w'][i]      h[1], ws[0], cache['k'], params['w'][1]
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.capture.statements import CONTAINERS
from workings.trace.formula.from_text import read_index
from workings.trace.formula.targets import parsed
from workings.trace.formula.tree import Apply, Formula, Leaf, Sequence, rebuilt
from workings.trace.step import Step

UNREADABLE = (WorkingsError, TypeError, ValueError, IndexError, KeyError, AttributeError)


@dataclass
class Entries:
    """Reads the entries in a statement's formula; `found` are those it met, as they were, and `lives` the tensors."""

    operands: Mapping[str, Any]
    held: Mapping[str, Any]
    found: dict[str, Any] = field(default_factory=dict)
    lives: dict[str, Any] = field(default_factory=dict)

    def named(self, formula: Formula) -> Formula:
        """The formula with the entries that are tensors as leaves of their own."""
        match formula:
            case Apply(op="index", args=(part,), options=(("text", str(place)),)):
                at = self._entry(part, place)
                if at is not None and isinstance(at[1], Tensor):
                    return self._leaf(*at)
                if at is None and (items := self._several(part, place)):
                    return Sequence(tuple(self._leaf(*item) for item in items))
                return Apply("index", (self.named(part),), formula.options)
        return rebuilt(formula, self.named)

    def _leaf(self, name: str, then: Tensor, live: Any) -> Leaf:
        self.found[name] = then
        self.lives |= {name: live} if isinstance(live, Tensor) else {}
        return Leaf(name)

    def _several(self, whole: Formula, place: str) -> list[tuple[str, Any, Any]]:
        """The items of h[1:], if all of them are tensors."""
        at = self._container(whole)
        if at is None or type(at[1]) is dict or ":" not in place:
            return []
        try:
            numbers = range(len(at[1]))[read_index(place, self.operands)]
        except UNREADABLE:
            return []
        found = [(entry_name(at[0], at[1], i), at[1][i], _item(at[2], i)) for i in numbers]
        return found if all(isinstance(item[1], Tensor) for item in found) else []

    def _entry(self, whole: Formula, place: str) -> tuple[str, Any, Any] | None:
        at = self._container(whole)
        if at is None:
            return None
        try:
            key = read_index(place, self.operands)
            if isinstance(key, slice):
                return None
            return entry_name(at[0], at[1], key), at[1][key], _item(at[2], key)
        except UNREADABLE:
            return None

    def _container(self, formula: Formula) -> tuple[str, Any, Any] | None:
        """A list, tuple or dict: its name, its entries as they were, itself."""
        match formula:
            case Leaf(text=text):
                at: Any = text, self.operands.get(text), self.held.get(text)
            case Apply(op="index", args=(part,), options=(("text", str(place)),)):
                at = self._entry(part, place)
            case _:
                return None
        return at if at is not None and type(at[1]) in CONTAINERS else None


def entry_name(whole: str, container: Any, key: Any) -> str:
    """
    >>> entry_name("h", [1, 2, 3], -1), entry_name("h", {"a": 1}, "a")
    ('h[2]', "h['a']")
    """
    if type(container) is not dict and type(key) is int and key < 0:
        key += len(container)
    return f"{whole}[{key!r}]"


def _item(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except UNREADABLE:
        return None


def assigned(step: Step) -> tuple[str, Any] | None:
    """Of `h[t] = e`, where h is a list or a dict, the entry's name and what it is now; None for an entry of a tensor."""
    target = parsed(step.name) if step.kind == "assign" and step.name.endswith("]") and " = " not in step.name else None
    if not isinstance(target, ast.Subscript):
        return None
    try:
        whole, place = _written(target.value, step.operands), ast.unparse(target.slice)
        key = read_index(place, step.operands)
        before = step.operands.get(whole)
        if type(step.result) in (list, dict):
            return entry_name(whole, step.result, key), step.result[key]
        if type(before) in (list, dict):  # h[t] += e tells h[t]
            return entry_name(whole, before, key), step.result
    except UNREADABLE:
        return None
    return None


def _written(node: ast.expr, operands: Mapping[str, Any]) -> str:
    """A place with its indices computed: h[i]['a'] is h[0]['a']."""
    if isinstance(node, ast.Subscript):
        return f"{_written(node.value, operands)}[{read_index(ast.unparse(node.slice), operands)!r}]"
    return ast.unparse(node)
