"""Exact tensors without PyTorch's first look at them, which takes a second.

Before PyTorch hands an operation to a tensor subclass for the first time, it imports its distributed tensors (and SymPy with
them), only to ask whether the subclass is one of those. A dispatch mode comes before that question: inside `with direct():`
operations on exact tensors go straight to our own rules, with the same results.
"""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from workings.exact.dispatch.dispatch import dispatch
from workings.exact.tensor.exact_tensor import ExactTensor


class direct(TorchDispatchMode):  # a context manager, named like one
    """Hand operations on exact tensors to their rules; all others run as they are."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; saying so spares importing PyTorch's compiler, which takes two seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not any(issubclass(kind, ExactTensor) for kind in types):
            return func(*args, **(kwargs or {}))
        return dispatch(func, args, kwargs or {})
