"""Masks and indices that rest on assumptions.

A comparison gives an ordinary tensor of booleans, `argmax` one of integers. When the answer was assumed (a sample
value decided, a random draw), it is a `_NotedTensor`: an ordinary tensor that carries the assumptions to whatever is
computed with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from workings.exact.numbers.assume import NONE, Assumption, Notes, merge


class _NotedTensor(torch.Tensor):
    """An ordinary tensor with `assumptions`."""

    notes: Notes = NONE

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What these booleans or integers rest on."""
        return tuple(sorted(self.notes))

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        written = repr(self.as_subclass(torch.Tensor))
        return f"{written.removesuffix(')')}, assumptions={len(self.notes)})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        notes = notes_among((args, kwargs))
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        return tree_map(lambda t: with_notes(t, notes), result)


def with_notes(t: Any, notes: Notes) -> Any:
    """The tensor with these notes; exact tensors have `shared` notes of their own."""
    if not notes or type(t) not in (torch.Tensor, _NotedTensor):
        return t
    marked = t.as_subclass(_NotedTensor)
    marked.notes = merge([getattr(t, "notes", NONE), notes])
    return marked


def notes_among(values: Any) -> Notes:
    """The notes of the noted tensors among some arguments."""
    found = [t.notes for t in tree_flatten(values)[0] if type(t) is _NotedTensor]
    return merge(found) if found else NONE


def without_notes(values: Any) -> Any:
    """Arguments with noted tensors as ordinary ones: kernels see no subclass."""
    return tree_map(lambda t: t.as_subclass(torch.Tensor) if type(t) is _NotedTensor else t, values)
