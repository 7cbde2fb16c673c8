"""Tensors that are stored in other ways than row by row, as ordinary ones: sparse, nested, quantized, of eight bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_LARGEST = 1 << 16
"""Entries of a sparse tensor that are written out, zeros among them."""
_MOST = 1 << 26
"""Entries of a sparse gradient that are written out, to be compared with the rule's."""
_TINY = frozenset(
    t for n, t in vars(torch).items() if n.startswith("float") and isinstance(t, torch.dtype) and t.itemsize == 1
)
_QUANTIZED = frozenset((torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4))
_ODD = _TINY | _QUANTIZED
"""Kinds of numbers that PyTorch does not add up."""


@dataclass(frozen=True)
class _Unshown:
    """What stands for a tensor whose entries are not shown."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"


def is_ordinary(x: Tensor) -> bool:
    """Whether a tensor is stored row by row, in numbers that PyTorch computes with."""
    return x.layout is torch.strided and x.dtype not in _ODD and not x.is_nested


def ordinary(x: Tensor) -> Any:
    """The same numbers in an ordinary tensor; a list of those for a nested one.

    >>> ordinary(torch.tensor([[0.0, 2.0]]).to_sparse())
    tensor([[0., 2.]])
    >>> ordinary(torch.sparse_coo_tensor([[0], [1]], [1.0], (300, 300), check_invariants=True))
    <sparse 300×300, 1 entry, not shown>
    """
    x = x.detach()
    if is_ordinary(x):
        return x
    if x.is_nested:
        return [ordinary(part) for part in x.unbind()]
    if x.is_quantized:
        return x.dequantize()
    if x.layout is not torch.strided:
        sparse = x.layout is not torch._mkldnn  # type: ignore[attr-defined]
        return _Unshown(_sparse_text(x)) if sparse and x.numel() > _LARGEST else ordinary(x.to_dense())
    return x.float()


def _sparse_text(x: Tensor) -> str:
    count = x._nnz()
    return f"sparse {'×'.join(map(str, x.shape))}, {count} {'entry' if count == 1 else 'entries'}, not shown"


def dense(x: Tensor) -> Tensor | None:
    """The same numbers row by row, of a sparse gradient; None where there are too many zeros in it."""
    return x.to_dense() if x.numel() <= _MOST else None
