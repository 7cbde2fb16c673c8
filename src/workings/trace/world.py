"""What a run may change and can be put back: the objects it can reach, each with what it holds, one level deep.

From a function, its module and its arguments the objects are followed through attributes, containers, closures and the
globals that the author's code names. Before the run each is read; the plain run starts from that, and afterwards each holds
again what the captured run left in it, as after one run. Tensors are copied; parameters and very large tensors are not, but
it is known whether they changed.
"""

from __future__ import annotations

import contextlib
import itertools
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from workings.trace.recorder import is_library

COPIED = 1 << 26
"""Elements of tensors that are copied in all."""
MOST_OBJECTS = 100_000
"""Objects that are followed; one that lies beyond is not put back, and changing it is an effect."""
_ATOMS = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.CodeType, torch.dtype, torch.device)


class Rule(NamedTuple):
    """How to read what an object holds, and how to make it hold that again."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]


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


_RULES: dict[type, Rule] = {
    OrderedDict: Rule(lambda held: tuple(OrderedDict.items(held)), _write_ordered),
    dict: Rule(lambda held: tuple(dict.items(held)), _write_dict),
    list: Rule(tuple, _write_list),
    set: Rule(lambda held: tuple(set.__iter__(held)), _write_set),
    deque: Rule(lambda held: tuple(deque.__iter__(held)), _write_deque),
    types.CellType: Rule(_read_cell, _write_cell),
    torch.Generator: Rule(lambda g: g.get_state(), lambda g, state: g.set_state(state)),
}


def _read_slots(held: Any) -> tuple[tuple[str, Any], ...]:
    names = [n for cls in type(held).__mro__ for n in _listed(vars(cls).get("__slots__", ()))]
    return tuple((n, object.__getattribute__(held, n)) for n in names if _has(held, n))


def _listed(slots: Any) -> list[str]:
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


_SLOTS = Rule(_read_slots, _write_slots)


class Kept(NamedTuple):
    """A tensor: how often it had been changed in place, a copy where there is one, and what it came from."""

    tensor: torch.Tensor
    version: int
    copy: torch.Tensor | None
    made_by: Any

    @property
    def changed(self) -> bool:
        return self.version >= 0 and self.tensor._version != self.version


class World:
    """The objects that were followed, and what each held."""

    def __init__(self, *roots: Any) -> None:
        self.held: dict[int, tuple[Any, list[tuple[Rule, Any]]]] = {}
        self.tensors: dict[int, Kept] = {}
        self.fresh: list[Any] = []
        self.copied = 0
        self.add(*roots)
        self.first = len(self.held), len(self.tensors)

    def add(self, *roots: Any) -> None:
        """Follow these too, from how they are now."""
        waiting = list(roots)
        while waiting and len(self.held) < MOST_OBJECTS:
            value = waiting.pop()
            if isinstance(value, _ATOMS) or id(value) in self.held or id(value) in self.tensors:
                continue
            waiting += self._tensor(value) if isinstance(value, torch.Tensor) else self._save(value)

    def __contains__(self, value: Any) -> bool:
        return id(value) in self.held or id(value) in self.tensors

    def _save(self, value: Any) -> Iterator[Any]:
        read = [(rule, rule.read(value)) for rule in _rules(value)]
        self.held[id(value)] = value, read
        for rule, content in read:
            yield from _members(rule, content)
        yield from _behind(value)

    def _tensor(self, value: torch.Tensor) -> tuple[Any, ...]:
        bare = isinstance(value, (torch.nn.Parameter, UninitializedTensorMixin))
        copied = not bare and self.copied + value.numel() <= COPIED
        self.copied += value.numel() if copied else 0
        version = -1 if value.is_inference() else value._version
        self.tensors[id(value)] = Kept(value, version, value.detach().clone() if copied else None, value.grad_fn)
        return ()

    # ---- after the captured run
    def given(self, argument: Any) -> Any:
        """The argument to run with again: itself, or a copy from before where gradients flow through its change."""
        kept = self.tensors.get(id(argument))
        if kept is None or kept.copy is None or not kept.changed or argument.grad_fn is kept.made_by:
            return argument
        self.tensors[id(argument)] = kept._replace(version=-1)
        copy = kept.copy.requires_grad_(kept.made_by is not None or argument.requires_grad)
        return copy.clone() if kept.made_by is not None else copy

    def lost(self) -> str:
        """Why the state before cannot be had again, if it cannot."""
        changed = [kept for kept in self.tensors.values() if kept.changed]
        if any(isinstance(kept.tensor, torch.nn.Parameter) for kept in changed):
            return "the code changes its parameters"
        if any(kept.copy is None or kept.copy.shape != kept.tensor.shape for kept in changed):
            return "the code changes a tensor that is too large to be copied"
        if any(kept.tensor.grad_fn is not kept.made_by for kept in changed):
            return "the code changes a tensor in place through which gradients flow"
        return ""

    def news(self) -> list[Any]:
        """What objects hold now that they did not hold before, and the tensors that were changed in place, copied.

        Of those that were reached from the start: what was added in the run may have been made in it.
        """
        changed = self._changed(self.first[0])
        pairs = [(_members(rule, rule.read(held)), _members(rule, before)) for held, rule, before in changed]
        members = [new for now, before in pairs for new in now if not any(_alike(new, old) for old in before)]
        tensors = itertools.islice(self.tensors.values(), self.first[1])
        return members + [kept.tensor.detach().clone() for kept in tensors if kept.changed]

    def copy(self, value: Any) -> Any:
        """A value that no longer changes when its tensor is put back."""
        ours = isinstance(value, torch.Tensor) and (value in self or (not value.is_inference() and value._base in self))
        return value.detach().clone() if ours else value

    @contextlib.contextmanager
    def as_before(self) -> Iterator[None]:
        """Everything holds what it held before the captured run; afterwards, what that left in it."""
        left = [(held, rule, rule.read(held)) for held, read in self.held.values() for rule, _ in read]
        numbers = [(kept, kept.tensor.detach().clone() if kept.changed else kept.copy) for kept in self.tensors.values()]
        counted = tuple(kept.tensor for kept in self.tensors.values() if not kept.tensor.is_inference())
        with _unsafe_preserve_version_counter(counted):
            for held, rule, before in self._changed():
                rule.write(held, before)
            _put((kept.tensor, kept.copy) for kept in self.tensors.values() if kept.changed)
            begun = [(kept.tensor, now, kept.tensor._version) for kept, now in numbers if kept.version >= 0]
            try:
                yield
            finally:
                _put((tensor, now) for tensor, now, version in begun if tensor._version != version)
                for held, rule, now in left:
                    if not _same(now, rule.read(held)):
                        rule.write(held, now)

    def _changed(self, most: int | None = None) -> list[tuple[Any, Rule, Any]]:
        """The objects that hold something else than before, by which rule, and what it was."""
        every = ((held, rule, before) for held, read in itertools.islice(self.held.values(), most) for rule, before in read)
        return [(held, rule, before) for held, rule, before in every if not _same(before, rule.read(held))]

    # ---- while it runs
    def made(self, value: Any) -> None:
        """Something that came about in the run: it and what it leads to is no one else's."""
        if not isinstance(value, (*_ATOMS, torch.Tensor)):
            self.fresh.append(value)

    def is_outside(self, owner: Any) -> bool:
        """Whether changing this object is an effect: it is neither put back nor known to be made in the run."""
        return owner not in self and not any(part is owner for part in self._led_to(self.fresh))

    def _led_to(self, values: list[Any]) -> Iterator[Any]:
        seen: set[int] = set()
        waiting = list(values)
        while waiting and len(seen) < MOST_OBJECTS:
            value = waiting.pop()
            if id(value) in seen or value in self or isinstance(value, _ATOMS):
                continue
            seen.add(id(value))
            yield value
            waiting += [part for rule in _rules(value) for part in _members(rule, rule.read(value))]
            waiting += value if isinstance(value, tuple) else ()


def _rules(value: Any) -> list[Rule]:
    found = [next((rule for kind, rule in _RULES.items() if isinstance(value, kind)), None)]
    found.append(_ATTRIBUTES if _has(value, "__dict__") else None)
    found.append(_SLOTS if any("__slots__" in vars(cls) for cls in type(value).__mro__) else None)
    return [rule for rule in found if rule is not None]


def _attributes(value: Any) -> dict[str, Any]:
    found = object.__getattribute__(value, "__dict__")
    return found if isinstance(found, dict) else {}


_ATTRIBUTES = Rule(lambda held: tuple(_attributes(held).items()), lambda held, pairs: _write_dict(_attributes(held), pairs))
_PAIRS = (_RULES[OrderedDict], _RULES[dict], _ATTRIBUTES, _SLOTS)


def _members(rule: Rule, content: Any) -> list[Any]:
    if rule in _PAIRS:
        return [value for _, value in content]
    return [] if isinstance(content, torch.Tensor) else list(content)


def _behind(value: Any) -> list[Any]:
    """What a function leads to: its closure, its defaults, and the globals that the author's code names."""
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.BuiltinMethodType):
        return [value.__self__]
    if not isinstance(value, types.FunctionType):
        return [value.func, value.args, value.keywords] if type(value).__name__ == "partial" else []
    found = [*(value.__closure__ or ()), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if not is_library(value.__code__):
        found += [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
    return found


def _names(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return {*code.co_names}.union(*map(_names, inner))


def _same(before: Any, now: Any) -> bool:
    """The same things in the same order."""
    if isinstance(before, torch.Tensor):
        return torch.equal(before, now)
    if len(before) != len(now):
        return False
    return all(_alike(a, b) for a, b in zip(before, now, strict=True))


def _alike(a: Any, b: Any) -> bool:
    """The same object, or equal numbers or words: those of rewritten code are equal, not the same."""
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    return isinstance(a, _WORDS) and bool(a == b)


_WORDS = (str, bytes, int, float, complex)


def _put(pairs: Iterable[tuple[torch.Tensor, torch.Tensor | None]]) -> None:
    with torch.no_grad():
        for tensor, value in pairs:
            if value is not None:
                tensor.copy_(value)
