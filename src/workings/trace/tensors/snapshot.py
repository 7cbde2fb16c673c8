"""Values as they are at one moment."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import torch

from workings.trace.tensors.dense import is_ordinary, ordinary
from workings.trace.tensors.state import same_bits, sum_of_bits, version_of
from workings.trace.tensors.transformed import is_wrapped, unwrap

COPIED = 1 << 16
"""Tensors of up to this many elements are copied; larger ones are kept by reference."""
_UNCHANGING = frozenset((int, float, bool, str, type(None)))
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_Copy = tuple[int, "weakref.ref[torch.Tensor]", Any]
"""The version of a tensor that was copied, the tensor if it still lives, the copy."""

torch.empty(1 << 24, dtype=torch.uint8)  # glibc then keeps freed memory of this size for the next copies (docs/log.md)


class Snapshots:
    """Copies of values. A tensor that has not changed since it was last copied shares that copy, and so do views of it."""

    def __init__(self) -> None:
        self.known: dict[int, _Copy] = {}
        self.wholes: dict[int, _Copy] = {}
        self.by_reference: list[tuple[int, torch.Tensor, int]] = []
        self.doubtful = False  # the code may change tensors without PyTorch's counting it: copies are compared, not trusted

    def take(self, value: Any) -> Any:
        """The value now: later in-place changes do not reach it (unless it is very large)."""
        if type(value) in _UNCHANGING:
            return value
        if isinstance(value, torch.Tensor):
            version = -1 if value.is_inference() else value._version  # `version_of`, without its call: this runs most often
            found = self.known.get(id(value))
            if found is None or found[0] != version or found[1]() is not value:
                return self._new(value, version)
            return found[2] if not self.doubtful or _is_same(found[2], value) else self._new(value, version)
        if type(value) in (list, tuple):
            return type(value)(self.take(item) for item in value)
        if type(value) is dict:
            return {key: self.take(item) for key, item in value.items()}
        return of_array(value) if isinstance(value, np.ndarray) else value

    def live(self, value: Any, now: Any) -> Any:
        """What stands for the value itself: its copy where no gradients are recorded, so that its memory is free again."""
        if isinstance(value, torch.Tensor):
            return value if (value.requires_grad or torch.is_grad_enabled()) and not is_wrapped(value) else now
        return value if not isinstance(value, (tuple, list)) or torch.is_grad_enabled() else now

    def _new(self, value: torch.Tensor, version: int) -> Any:
        if is_wrapped(value):
            return unwrap(value)
        base = None if version < 0 else value._base
        now = self._copy(value, version) if base is None else self._view(value, base, version)
        if (node := value.grad_fn) is not None and isinstance(now, torch.Tensor):
            ref = _Ref(now, _gone)
            ref.key = key = id(now)
            _MADE[key] = ref, node, value.output_nr
        self.known[id(value)] = version, weakref.ref(value), now
        return now

    def _copy(self, value: torch.Tensor, version: int) -> Any:
        if not is_ordinary(value):
            return ordinary(value)
        if value.numel() <= COPIED:
            return value.detach().clone() if value.requires_grad else value.clone()
        self.by_reference.append((version, value, sum_of_bits(value) if self.doubtful else 0))
        return value.detach()

    def _view(self, value: torch.Tensor, base: torch.Tensor, version: int) -> Any:
        """A view of a tensor that is copied as a whole is the same view of the copy."""
        if type(value) is not torch.Tensor or type(base) not in _PLAIN or value.is_complex():
            return self._copy(value, version)
        offset = value.storage_offset() - base.storage_offset()
        found = self.wholes.get(id(base)) or self.known.get(id(base))
        trusted = found is not None and found[0] == version and found[1]() is base and found[2].dtype == value.dtype
        if found is not None and trusted and not self.doubtful:
            whole = found[2]
            if whole.is_contiguous() and whole.numel() == base.numel():
                return whole.as_strided(value.size(), value.stride(), whole.storage_offset() + offset)
        now = self._copy(value, version)
        if offset == 0 and value.numel() == base.numel() and value.is_contiguous():
            self.wholes[id(base)] = version, weakref.ref(base), now
        return now

    def has_changes(self) -> bool:
        """Whether a tensor that was too large to copy was changed in place after it was recorded."""
        return any(version_of(v) != version or (bits and sum_of_bits(v) != bits) for version, v, bits in self.by_reference)


def of_array(array: np.ndarray) -> Any:
    """A NumPy array as a tensor of its numbers, which is recorded in its place; one of other things as it is.

    >>> of_array(np.array([1.0, 2.0])), of_array(np.array(["a"]))
    (tensor([1., 2.], dtype=torch.float64), array(['a'], dtype='<U1'))
    """
    try:
        return torch.as_tensor(array.copy() if array.size <= COPIED else array)
    except (TypeError, ValueError):
        return array


def _is_same(copy: Any, value: torch.Tensor) -> bool:
    return isinstance(copy, torch.Tensor) and same_bits(copy, value)


def autograd_origin(copy: torch.Tensor) -> tuple[Any, int] | None:
    """Where the tensor stood in autograd's graph when this copy of it was made: the node and which of its outputs."""
    found = _MADE.get(id(copy))
    return found[1:] if found is not None and found[0]() is copy else None


class _Ref(weakref.ref[torch.Tensor]):
    """A weak reference that knows which copy it was to."""

    __slots__ = ("key",)
    key: int


_MADE: dict[int, tuple[_Ref, Any, int]] = {}


def _gone(copy: _Ref) -> None:
    _MADE.pop(copy.key, None)
