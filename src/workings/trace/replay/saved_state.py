"""What a run may change and can be put back: the objects it can reach, each with what it holds, one level deep.

From a function, its module and its arguments the objects are followed through attributes, containers, closures and the
globals that the author's code names. Before the run each is read; the plain run starts from that, and afterwards each holds
again what the captured run left in it, as after one run. Tensors and arrays are copied; parameters and very large tensors
are not, but it is known whether they changed.
"""

from __future__ import annotations

import contextlib
import itertools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter

from workings.trace.code.effects import is_uncounted, names_in
from workings.trace.code.functions import is_library
from workings.trace.replay.holding import ATOMS, Rule, alike, rules, same
from workings.trace.replay.iterators import cannot_be_put_back, place
from workings.trace.tensors.state import TensorState, is_lazy, tensor_state, write_numbers

_COPIED = 1 << 26
"""Elements of tensors that are copied in all."""
_SMALL = 1 << 16
"""A tensor of at most this many elements is copied in any case."""
MOST_OBJECTS = 100_000
"""Objects that are followed; one that lies beyond is not put back, and changing it is an effect."""


class SavedState:
    """The objects that were followed, and what each held."""

    def __init__(self, *roots: Any) -> None:
        self.held: dict[int, tuple[Any, list[tuple[Rule, Any]]]] = {}
        self.tensors: dict[int, TensorState] = {}
        self.arrays: list[np.ndarray] = []  # their ids are keys, so they must live
        self.iterators: list[tuple[Any, Any]] = []
        self.fresh: list[Any] = []
        self.fresh_ids: set[int] = set()
        self.moved: list[TensorState] = []
        self.copied, self.sums = 0, False
        self.add(*roots)
        self.first = len(self.held), len(self.tensors)

    def add(self, *roots: Any) -> None:
        """Follow these too, from how they are now."""
        waiting = list(roots)
        while waiting and len(self.held) < MOST_OBJECTS:
            value = waiting.pop()
            if isinstance(value, ATOMS) or id(value) in self.held or id(value) in self.tensors:
                continue
            if id(value) in self.fresh_ids:
                continue  # there was nothing before the run to put back
            if isinstance(value, torch.Tensor):
                self._tensor(value)
            elif isinstance(value, np.ndarray):
                self._array(value)
            else:
                waiting += self._save(value)

    def __contains__(self, value: Any) -> bool:
        return id(value) in self.held or id(value) in self.tensors

    def _save(self, value: Any) -> Iterator[Any]:
        read = [(rule, rule.read(value)) for rule in rules(value)]
        self.held[id(value)] = value, read
        if cannot_be_put_back(value):
            self.iterators.append((value, place(value)))
        for rule, content in read:
            yield from rule.members(content)
        if not self.sums and _may_write_uncounted(value):
            self._sum_all()
        yield from _behind(value)

    def _tensor(self, value: torch.Tensor) -> None:
        copied = not isinstance(value, torch.nn.Parameter) and not is_lazy(value) and self._fits(value.numel())
        self.tensors[id(value)] = tensor_state(value, copied, summed=self.sums)

    def _fits(self, size: int) -> bool:
        """Whether a tensor of this size is copied: all small ones are, and large ones as long as there is room."""
        fits = size <= _SMALL or self.copied + size <= _COPIED
        self.copied += size if fits else 0
        return fits

    def _array(self, value: np.ndarray) -> None:
        """An array of numbers, as a tensor of the same memory; such a change is never counted."""
        if not value.flags.writeable:
            return
        if value.dtype == object:
            self.add(*value.flat)
            return
        try:
            shared = torch.from_numpy(value)
        except (TypeError, ValueError):  # of texts, or read backwards
            return
        self.arrays.append(value)
        self.tensors[id(value)] = tensor_state(shared, self._fits(value.size), summed=True)

    def _sum_all(self) -> None:
        """From now on, and of those that were reached."""
        self.sums = True
        for key, one in self.tensors.items():
            if one.copy is None and not one.is_changed:
                self.tensors[key] = tensor_state(one.tensor, copied=False, summed=True)

    # ---- after the captured run
    def settle(self) -> None:
        """The captured run is over: which tensors did it change?"""
        self.moved = [one for one in self.tensors.values() if one.is_changed]

    def argument_again(self, argument: Any) -> Any:
        """The argument to run with again: itself, or a copy from before where gradients flow through its change."""
        one = next((one for one in self.moved if one.tensor is argument), None)
        if one is None or one.copy is None or argument.grad_fn is one.made_by:
            return argument
        self.moved = [other for other in self.moved if other is not one]
        self.tensors[id(argument)] = one._replace(version=-1, copy=None)
        copy = one.copy.requires_grad_(one.made_by is not None or argument.requires_grad)
        return copy.clone() if one.made_by is not None else copy

    def has_used_up_iterator(self) -> bool:
        """Whether an iterator gave something that it does not give again."""
        return any(place(iterator) != before for iterator, before in self.iterators)

    def lost_reason(self) -> str:
        """Why the state before cannot be had again, if it cannot."""
        if any(type(one.tensor) is not one.kind for one in self.moved):
            return "the code makes the parameters of a lazy module"
        if any(isinstance(one.tensor, torch.nn.Parameter) for one in self.moved):
            return "the code changes its parameters"
        if any(one.copy is None or _form(one.copy) != _form(one.tensor) for one in self.moved):
            return "the code changes a tensor that is too large to be copied"
        if any(one.tensor.grad_fn is not one.made_by for one in self.moved):
            return "the code changes a tensor in place through which gradients flow"
        return "the code changes gradients" if any(one.has_other_gradient for one in self.tensors.values()) else ""

    def news(self) -> list[Any]:
        """What objects hold now that they did not hold before, and the tensors that were changed in place, copied.

        Of those that were reached from the start: what was added in the run may have been made in it.
        """
        changed = self._changes(self.first[0])
        pairs = [(rule.members(rule.read(held)), rule.members(before)) for held, rule, before in changed]
        members = [new for now, before in pairs for new in now if not any(alike(new, old) for old in before)]
        tensors = itertools.islice(self.tensors.values(), self.first[1])
        return members + [one.tensor.detach().clone() for one in tensors if one.has_other_numbers]

    def copy(self, value: Any) -> Any:
        """A value that no longer changes when its tensor is put back."""
        ours = isinstance(value, torch.Tensor) and (value in self or (not value.is_inference() and value._base in self))
        return value.detach().clone() if ours else value

    @contextlib.contextmanager
    def as_before(self) -> Iterator[None]:
        """Everything holds what it held before the captured run; afterwards, what that left in it."""
        left = [(held, rule, rule.read(held)) for held, read in self.held.values() for rule, _ in read]
        numbers = {id(one.tensor): one.tensor.detach().clone() for one in self.moved}
        # Autograd compares version counters to find tensors that were changed after they were saved for the backward pass.
        # Putting numbers back and forth is no change to it: the captured run's graph stays good.
        with _unsafe_preserve_version_counter(tuple(one.tensor for one in self.tensors.values() if one.version >= 0)):
            for held, rule, before in self._changes():
                rule.write(held, before)
            for one in self.moved:
                write_numbers(one.tensor, one.copy)
            try:
                yield
            finally:
                for one in self.tensors.values():  # all, not those that moved: the second run may have changed others
                    write_numbers(one.tensor, numbers.get(id(one.tensor), one.copy))
                for held, rule, now in left:
                    if not same(now, rule.read(held)):
                        rule.write(held, now)

    def restore(self) -> None:
        """Everything holds what it held before the captured run."""
        self.settle()
        for held, rule, before in self._changes():
            rule.write(held, before)
        for one in self.moved:
            if one.copy is not None and _form(one.copy) == _form(one.tensor):
                write_numbers(one.tensor, one.copy)

    def _changes(self, most: int | None = None) -> list[tuple[Any, Rule, Any]]:
        """The objects that hold something else than before, by which rule, and what it was."""
        every = ((held, rule, before) for held, read in itertools.islice(self.held.values(), most) for rule, before in read)
        return [(held, rule, before) for held, rule, before in every if not same(before, rule.read(held))]

    # ---- while it runs
    def note_new(self, value: Any) -> None:
        """Something that came about in the run: it and what it leads to is no one else's."""
        if not isinstance(value, (*ATOMS, torch.Tensor)):
            self.fresh.append(value)
            self.fresh_ids.add(id(value))

    def is_outside(self, owner: Any) -> bool:
        """Whether changing this object is an effect: it is neither put back nor known to be made in the run."""
        return owner not in self and not any(part is owner for part in self._reachable(self.fresh))

    def _reachable(self, values: list[Any]) -> Iterator[Any]:
        seen: set[int] = set()
        waiting = list(values)
        while waiting and len(seen) < MOST_OBJECTS:
            value = waiting.pop()
            if id(value) in seen or value in self or isinstance(value, ATOMS):
                continue
            seen.add(id(value))
            yield value
            waiting += [part for rule in rules(value) for part in rule.members(rule.read(value))]
            waiting += value if isinstance(value, tuple) else ()


def _behind(value: Any) -> list[Any]:
    """What a function leads to: its closure, its defaults, and the globals that the author's code names. A compiled module
    leads to its parameters and buffers, which are not among its attributes."""
    if isinstance(value, torch.jit.ScriptModule):
        return [*value.parameters(), *value.buffers()]
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        return [value.__self__]
    if not isinstance(value, types.FunctionType):
        return [value.func, value.args, value.keywords] if type(value).__name__ == "partial" else []
    found = [*(value.__closure__ or ()), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if not is_library(value.__code__):
        found += [value.__globals__[name] for name in names_in(value.__code__) if name in value.__globals__]
    return found


def _may_write_uncounted(value: Any) -> bool:
    if isinstance(value, torch.optim.Optimizer):  # which may be fused
        return True
    return isinstance(value, types.FunctionType) and not is_library(value.__code__) and is_uncounted(value.__code__)


def _form(tensor: torch.Tensor) -> Any:
    return tensor.shape, tensor.dtype, tensor.layout
