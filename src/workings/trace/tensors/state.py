"""Tensors that a run may change: what each held before, whether it still does, and how it is put back.

PyTorch counts changes in place, but not all of them: the running statistics of batch norm, what is written through `.data`
or through a NumPy array of the same memory, and the steps of fused optimizers do not count. So numbers are compared with a
copy, bit by bit; the count is asked where there is none.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from workings.exact.tensor.exact_tensor import ExactTensor

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By the size of an element in bytes."""


class TensorState(NamedTuple):
    """A tensor before the run: its class, how often it had been changed in place (−1: not known), a copy or a sum of its
    bits where there is one, what it came from, and its gradient."""

    tensor: Tensor
    kind: type
    version: int
    copy: Tensor | None
    bits: int | None
    made_by: Any
    grad: tuple[Any, int]

    @property
    def is_changed(self) -> bool:
        """Whether it was changed in place, as far as can be known."""
        if type(self.tensor) is not self.kind:  # a lazy parameter that has a size now
            return True
        counted = self.version >= 0 and version_of(self.tensor) != self.version
        return counted or self.has_other_numbers or (self.bits is not None and sum_of_bits(self.tensor) != self.bits)

    @property
    def has_other_numbers(self) -> bool:
        return self.copy is not None and not same_bits(self.tensor, self.copy)

    @property
    def has_other_gradient(self) -> bool:
        grad = _grad(self.tensor)
        return grad[0] is not self.grad[0] or grad[1] != self.grad[1]


def tensor_state(tensor: Tensor, copied: bool, summed: bool = False) -> TensorState:
    """What there is to know about a tensor now."""
    if is_lazy(tensor):
        return TensorState(tensor, type(tensor), -1, None, None, None, (None, 0))
    copy = tensor.detach().clone() if copied else None
    bits = sum_of_bits(tensor) if summed and not copied else None
    return TensorState(tensor, type(tensor), version_of(tensor), copy, bits, tensor.grad_fn, _grad(tensor))


def is_lazy(tensor: Tensor) -> bool:
    """Whether this is a parameter or buffer that has no size yet."""
    return isinstance(tensor, UninitializedTensorMixin)


def version_of(tensor: Tensor) -> int:
    """How often it was changed in place; −1 for tensors of inference mode, which do not count that."""
    return -1 if tensor.is_inference() else tensor._version


def _grad(tensor: Tensor) -> tuple[Any, int]:
    grad = None if is_lazy(tensor) or not tensor.is_leaf else tensor.grad
    return grad, 0 if grad is None else version_of(grad)


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same numbers, bit by bit; True where nobody can look, as on the meta device.

    >>> nan, zero = torch.tensor(torch.nan), torch.tensor(0.0)
    >>> same_bits(nan, nan.clone()), same_bits(zero, -zero)
    (True, False)
    """
    if (a.dtype, a.layout, a.is_nested) != (b.dtype, b.layout, b.is_nested):
        return False
    with torch.no_grad():
        try:
            mine, theirs = parts_of(a), parts_of(b)
            return len(mine) == len(theirs) and all(map(torch.equal, map(_bits, mine), map(_bits, theirs)))
        except (RuntimeError, NotImplementedError):  # of a kind of tensor that has no such operation
            return True


def sum_of_bits(tensor: Tensor) -> int:
    """A number that is another one if any single entry is: for tensors that are too large to be copied."""
    try:
        return sum(int(_long(_bits(part)).sum(dtype=torch.int64)) for part in parts_of(tensor))
    except (RuntimeError, NotImplementedError):
        return 0


def parts_of(tensor: Tensor) -> tuple[Tensor, ...]:
    """The dense tensors that a tensor consists of."""
    tensor = tensor.detach()
    if isinstance(tensor, ExactTensor):
        return (tensor.payload,)
    if tensor.is_nested:
        return tensor.unbind()
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    if tensor.layout is not torch.strided:
        return (tensor.to_dense(),)
    return (tensor.int_repr() if tensor.is_quantized else tensor,)


def _bits(tensor: Tensor) -> Tensor:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg().view(_INTEGERS[tensor.element_size()])


def _long(bits: Tensor) -> Tensor:
    """The same memory as integers of eight bytes, where it divides into them: these are added up thirty times as fast."""
    whole = bits.is_contiguous() and bits.numel() * bits.element_size() % 8 == 0 and bits.data_ptr() % 8 == 0
    start = bits.storage_offset() * bits.element_size()
    return bits.flatten().view(torch.int64) if whole and start % 8 == 0 else bits


def write_numbers(tensor: Tensor, value: Tensor | None) -> None:
    """Write these numbers into a tensor, where it has others."""
    if value is None or same_bits(tensor, value):
        return
    with torch.inference_mode() if tensor.is_inference() else contextlib.nullcontext(), torch.no_grad():
        _once(tensor, tensor).copy_(_once(value, tensor))


def _once(value: Tensor, like: Tensor) -> Tensor:
    """Without the repetitions of an expanded tensor, whose entries are in one place."""
    for axis, step in enumerate(like.stride() if like.layout is torch.strided and not like.is_nested else ()):
        value = value.narrow(axis, 0, 1) if step == 0 and like.shape[axis] > 1 else value
    return value
