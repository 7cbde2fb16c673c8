"""Reference runs in float64 throughout: inside `widened()`, what asks for float32 or bfloat16 gets float64.

Some code drops to a narrower type by its own decision, whatever the dtype of the model: `x.float()` in a rotary
embedding, `softmax(…, dtype=torch.float32)`, `x.bfloat16()` in Muon. A float64 run is then accurate to 1e-7 at best,
which is no reference for exact results. The block remembers the functions that would have narrowed a float64 tensor,
and to what.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

NARROW = frozenset({torch.float32, torch.bfloat16})
METHODS = {torch.Tensor.float: torch.float32, torch.Tensor.bfloat16: torch.bfloat16}

WRAPPERS = frozenset({__name__, "torch.overrides", "torch.nn.functional"})
"""Modules that pass a call on."""


class widened(TorchFunctionMode):  # a context manager, named like one
    """Give float64 where less is asked for.

    >>> with widened() as reference:
    ...     wide = torch.ones(1, dtype=torch.float64).float().dtype
    >>> wide, reference.narrowed
    (torch.float64, {'<module> in float32'})
    """

    def __init__(self) -> None:
        super().__init__()
        self.narrowed: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in METHODS:
            func, args = torch.Tensor.to, (*args, METHODS[func])
        if _is_wide(args):
            asked = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.dtype) and x in NARROW]
            self.narrowed |= {f"{_caller()} in {str(dtype).removeprefix('torch.')}" for dtype in asked}
        args, kwargs = tree_map(_wide, (args, kwargs))
        return func(*args, **kwargs)


def _wide(x: Any) -> Any:
    return torch.float64 if isinstance(x, torch.dtype) and x in NARROW else x


def _is_wide(args: tuple[Any, ...]) -> bool:
    return bool(args) and isinstance(args[0], torch.Tensor) and args[0].dtype == torch.float64


def _caller() -> str:
    """The function whose own code made the call."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__") in WRAPPERS:
        frame = frame.f_back
    return frame.f_code.co_qualname
