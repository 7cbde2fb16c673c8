"""Tensors inside `torch.vmap`, `torch.func.grad` and their kind: PyTorch wraps them, and they die when the call is over.

Inside `vmap` a tensor stands for all rows at once; what is recorded is the whole, the rows along its first axis.
"""

from __future__ import annotations

import torch
from torch import Tensor

is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
"""Whether a tensor is one of these."""


def unwrap(x: Tensor) -> Tensor:
    """The tensor behind its wrappers, copied; the rows of `vmap` are its first axis."""
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    with temporarily_clear_interpreter_stack():
        return _behind(x).detach().clone()


def _behind(x: Tensor) -> Tensor:
    if not is_wrapped(x):
        return x
    axis = torch._C._functorch.maybe_get_bdim(x) if torch._C._functorch.is_batchedtensor(x) else None
    inner = _behind(torch._C._functorch.get_unwrapped(x))
    return inner if axis is None else inner.movedim(axis, 0)


def transformation_note() -> str:
    """The remark on a function that runs inside `vmap`; nothing outside of it."""
    if torch._C._functorch.peek_interpreter_stack() is None:
        return ""
    from torch._functorch.pyfunctorch import VmapInterpreter, retrieve_all_functorch_interpreters

    sizes = [str(i.batch_size()) for i in retrieve_all_functorch_interpreters() if isinstance(i, VmapInterpreter)]
    first = "the first axis" if len(sizes) == 1 else f"the first {len(sizes)} axes"
    return f"inside vmap: the {'×'.join(sizes)} calls at once, values stacked along {first}" if sizes else ""
