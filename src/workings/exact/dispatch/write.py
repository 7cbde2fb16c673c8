"""An ordinary tensor that exact values are written into turns exact, in place.

    y = torch.zeros(2, dtype=x.dtype)
    y[0] = x[1]

Nobody can see it half exact: the tensor keeps its identity and its values, as they are. Where that cannot be (a view, memory
that another tensor shares, a tensor that autograd follows), the write is refused.
"""

from __future__ import annotations

from typing import Any

import torch

from workings.exact.tensor.exact_tensor import HOOKS
from workings.exact.tensor.make import exact

_OPERATORS = frozenset(f"__{name}__" for name in "setitem iadd isub imul itruediv ifloordiv imod ipow".split())
_ALONE = 2
"""How often the memory of a tensor is held when nobody shares it: by the tensor, and by the question."""


def _before_write(func: Any, y: torch.Tensor) -> None:
    """Turn `y` exact if this call writes into it."""
    name = getattr(func, "__name__", "")
    if not y.is_floating_point() or not (name in _OPERATORS or (name.endswith("_") and not name.endswith("__"))):
        return
    if y._is_view():
        raise _refusal(name, y, "it is a view of another tensor, which would not follow")
    if y.requires_grad:
        raise _refusal(name, y, "autograd follows it")
    storage = y.untyped_storage()
    shared = torch._C._storage_Use_Count(storage._cdata) > _ALONE or not storage.resizable()
    if shared:  # by another tensor, or by a NumPy array
        raise _refusal(name, y, "a tensor or an array shares its memory, and would not follow")
    try:
        torch.utils.swap_tensors(y, exact(y))
    except RuntimeError:
        raise _refusal(name, y, "something else holds on to it") from None


def _refusal(name: str, y: torch.Tensor, why: str) -> TypeError:
    return TypeError(
        f"{name} would write exact values into an ordinary {y.dtype} tensor of shape {[*y.shape]}, which does not turn "
        f"exact in place: {why}. Make that tensor exact: exact.zeros(…), x.new_zeros(…), or create it inside "
        "`with exact.mode():`."
    )


HOOKS.before_write = _before_write
