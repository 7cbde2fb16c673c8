"""How to read what an object holds, one level deep, and how to make it hold that again."""

from __future__ import annotations

import random
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

ATOMS = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.CodeType, torch.dtype, torch.device)
"""What holds nothing that could change."""
_WORDS = (str, bytes, int, float, complex)


class Rule(NamedTuple):
    """What an object holds: its members or, for a generator of random numbers, its state."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]
    members: Callable[[Any], list[Any]] = list


def _values(pairs: Any) -> list[Any]:
    return [value for _, value in pairs]


def _none(state: Any) -> list[Any]:
    return []


def _write_ordered(held: Any, pairs: Any) -> None:
    OrderedDict.clear(held)
    for key, value in pairs:
        OrderedDict.__setitem__(held, key, value)


def _write_dict(held: dict[Any, Any], pairs: Any) -> None:
    dict.clear(held)
    dict.update(held, pairs)


def _write_list(held: list[Any], items: Any) -> None:
    list.__setitem__(held, slice(None), items)


def _write_set(held: set[Any], items: Any) -> None:
    set.clear(held)
    set.update(held, items)


def _write_deque(held: deque[Any], items: Any) -> None:
    deque.clear(held)
    deque.extend(held, items)


def _write_bytes(held: bytearray, content: Any) -> None:
    held[:] = content


def _read_cell(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing in it yet
        return ()


def _write_cell(cell: types.CellType, content: Any) -> None:
    if content:
        cell.cell_contents = content[0]
    else:
        del cell.cell_contents


def _write_bits(generator: Any, state: Any) -> None:
    generator.bit_generator.state = state


_RULES: dict[type, Rule] = {
    OrderedDict: Rule(lambda held: tuple(OrderedDict.items(held)), _write_ordered, _values),
    dict: Rule(lambda held: tuple(dict.items(held)), _write_dict, _values),
    list: Rule(tuple, _write_list),
    set: Rule(lambda held: tuple(set.__iter__(held)), _write_set),
    deque: Rule(lambda held: tuple(deque.__iter__(held)), _write_deque),
    bytearray: Rule(lambda held: (bytes(held),), lambda held, content: _write_bytes(held, content[0])),
    types.CellType: Rule(_read_cell, _write_cell),
    torch.Generator: Rule(lambda g: g.get_state(), lambda g, state: g.set_state(state), _none),
    random.Random: Rule(lambda g: g.getstate(), lambda g, state: g.setstate(state), _none),
    np.random.Generator: Rule(lambda g: g.bit_generator.state, _write_bits, _none),
    np.random.RandomState: Rule(lambda g: g.get_state(legacy=False), lambda g, state: g.set_state(state), _none),
}


def _read_slots(held: Any) -> tuple[tuple[str, Any], ...]:
    names = [n for cls in type(held).__mro__ for n in _slot_names(vars(cls).get("__slots__", ()))]
    return tuple((n, object.__getattribute__(held, n)) for n in names if _has(held, n))


def _slot_names(slots: Any) -> list[str]:
    return [slots] if isinstance(slots, str) else [n for n in slots if n not in ("__dict__", "__weakref__")]


def _has(held: Any, name: str) -> bool:
    try:
        object.__getattribute__(held, name)
    except AttributeError:
        return False
    return True


def _write_slots(held: Any, pairs: Any) -> None:
    for name, _ in _read_slots(held):
        object.__delattr__(held, name)
    for name, value in pairs:
        object.__setattr__(held, name, value)


def _attributes(value: Any) -> dict[str, Any]:
    found = object.__getattribute__(value, "__dict__")
    return found if isinstance(found, dict) else {}


_SLOTS = Rule(_read_slots, _write_slots, _values)
_ATTRIBUTES = Rule(
    lambda held: tuple(_attributes(held).items()), lambda held, pairs: _write_dict(_attributes(held), pairs), _values
)


def rules(value: Any) -> list[Rule]:
    """Those by which an object is read: as a container, by its attributes, by its slots."""
    found = [next((rule for kind, rule in _RULES.items() if isinstance(value, kind)), None)]
    found.append(_ATTRIBUTES if _has(value, "__dict__") else None)
    found.append(_SLOTS if any("__slots__" in vars(cls) for cls in type(value).__mro__) else None)
    return [rule for rule in found if rule is not None]


def same(before: Any, now: Any) -> bool:
    """The same things in the same order; the same state of a generator."""
    if isinstance(before, torch.Tensor):
        return torch.equal(before, now)
    if isinstance(before, dict):
        return _same_state(before, now)
    if len(before) != len(now):
        return False
    return all(alike(a, b) for a, b in zip(before, now, strict=True))


def _same_state(a: Any, b: Any) -> bool:
    """Of NumPy's generators: words, numbers and arrays, by their names."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same_state(a[name], b[name]) for name in a)
    return bool(np.array_equal(a, b))


def alike(a: Any, b: Any) -> bool:
    """The same object, or equal numbers or words: those of rewritten code are equal, not the same."""
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return isinstance(a, _WORDS) and bool(a == b)
