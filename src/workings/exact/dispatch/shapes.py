"""Shapes that do not fit are refused in PyTorch's own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Dim = int | Sequence[int] | None


def axes(dim: Dim, count: int) -> list[int]:
    """The axes that `dim` names in a tensor of `count` axes, from 0; all of them for None or []."""
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    limit, found = max(count, 1), list[int]()
    for d in dims:
        if not -limit <= d < limit:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})")
        if d % limit in found:
            raise RuntimeError(f"dim {d % limit} appears multiple times in the list of dims")
        found.append(d % limit)
    return sorted(found) if found and count else list(range(count))


def refusal(operation: Callable[..., Any], *operands: torch.Tensor, **options: Any) -> RuntimeError:
    """The error of PyTorch's own kernel for operands of these shapes."""
    try:
        operation(*[torch.zeros(x.shape, dtype=torch.float64) for x in operands], **options)
    except RuntimeError as error:
        return RuntimeError(str(error))
    raise AssertionError(f"{operation} takes operands of shapes {[[*x.shape] for x in operands]}")
