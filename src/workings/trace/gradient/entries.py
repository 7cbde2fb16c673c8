"""Entries of lists, tuples and dicts, each by its own name: in the turn where t is 1, `h[t]` is h[1].

h[t], ws[i - 1], cache['k'], params['w'][i]      h[1], ws[0], cache['k'], params['w'][1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.arguments import index_value
from workings.trace.formula.targets import Target
from workings.trace.formula.tree import Formula, Index, Leaf, Sequence, Slice, entry, map_parts, place_of
from workings.trace.step import CONTAINERS, Step

UNREADABLE = (WorkingsError, TypeError, ValueError, IndexError, KeyError, AttributeError)


@dataclass
class Entries:
    """Reads the entries in a statement's formula; `found` are those it met, as they were, and `lives` the tensors."""

    operands: Mapping[str, Any]
    held: Mapping[str, Any]
    found: dict[str, Any] = field(default_factory=dict)
    lives: dict[str, Any] = field(default_factory=dict)

    def with_entries(self, formula: Formula) -> Formula:
        """The formula with the entries that are tensors as leaves of their own."""
        if (place := place_of(formula)) is None:
            return map_parts(formula, self.with_entries)
        found = self._entry(*place)
        if found is not None and isinstance(found[1], Tensor):
            return self._leaf(*found)
        if found is None and (items := self._several(*place)):
            return Sequence(tuple(self._leaf(*item) for item in items))
        return entry(self.with_entries(place[0]), place[1])

    def _leaf(self, name: str, then: Tensor, live: Any) -> Leaf:
        self.found[name] = then
        self.lives |= {name: live} if isinstance(live, Tensor) else {}
        return Leaf(name)

    def _several(self, whole: Formula, index: Index) -> list[tuple[str, Any, Any]]:
        """The items of h[1:], if all of them are tensors."""
        at = self._container(whole)
        if at is None or type(at[1]) is dict or not any(isinstance(part, Slice) for part in index.parts):
            return []
        try:
            numbers = range(len(at[1]))[index_value(index, self.operands)]
        except UNREADABLE:
            return []
        found = [(_entry_name(at[0], at[1], i), at[1][i], _item(at[2], i)) for i in numbers]
        return found if all(isinstance(item[1], Tensor) for item in found) else []

    def _entry(self, whole: Formula, index: Index) -> tuple[str, Any, Any] | None:
        at = self._container(whole)
        if at is None:
            return None
        try:
            key = index_value(index, self.operands)
            if isinstance(key, slice):
                return None
            return _entry_name(at[0], at[1], key), at[1][key], _item(at[2], key)
        except UNREADABLE:
            return None

    def _container(self, formula: Formula) -> tuple[str, Any, Any] | None:
        """A list, tuple or dict: its name, its entries as they were, itself."""
        if isinstance(formula, Leaf):
            at: Any = formula.text, self.operands.get(formula.text), self.held.get(formula.text)
        else:
            at = None if (place := place_of(formula)) is None else self._entry(*place)
        return at if at is not None and type(at[1]) in CONTAINERS else None


def _entry_name(whole: str, container: Any, key: Any) -> str:
    """
    >>> _entry_name("h", [1, 2, 3], -1), _entry_name("h", {"a": 1}, "a")
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


def assigned_entry(step: Step) -> tuple[str, Any] | None:
    """Of `h[t] = e`, where h is a list or a dict, the entry's name and what it is now; None for an entry of a tensor."""
    target = entry_target(step)
    if step.kind != "assign" or target is None:
        return None
    try:
        assert target.whole is not None and target.at is not None
        whole, key = _place_name(target.whole, step.operands), index_value(target.at, step.operands)
        before = step.operands.get(whole)
        if type(step.result) in (list, dict):
            return _entry_name(whole, step.result, key), step.result[key]
        if type(before) in (list, dict):  # h[t] += e tells h[t]
            return _entry_name(whole, before, key), step.result
    except UNREADABLE:
        return None
    return None


def entry_target(step: Step) -> Target | None:
    """The one target of a statement, if it is an entry: y[0] of `y[0] = e`."""
    target = step.syntax.target
    return target if target is not None and target.whole is not None and len(step.syntax.targets) == 1 else None


def _place_name(place: Target, operands: Mapping[str, Any]) -> str:
    """A place with its indices computed: h[i]['a'] is h[0]['a']."""
    if place.whole is None or place.at is None:
        return place.text
    return f"{_place_name(place.whole, operands)}[{index_value(place.at, operands)!r}]"
