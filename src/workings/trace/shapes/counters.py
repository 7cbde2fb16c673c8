"""Watching a forward pass: multiply-adds as PyTorch does them, the call that fails, and what was flattened before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_RESHAPES = frozenset("flatten view reshape".split())


class MultiplyAdds(TorchDispatchMode):
    """Counts the multiply-adds of matrix products, convolutions and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; saying so spares importing PyTorch's compiler, which takes two seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.count += formula(*args, **(kwargs or {}), out_val=out) // 2
        return out


class Calls(TorchFunctionMode):
    """Remembers the PyTorch call that failed, and the shapes before and after each flattening."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
        self.error: BaseException | None = None
        self.reshapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            out = func(*args, **(kwargs or {}))
        except Exception as error:
            if self.error is not error:
                self.failed, self.error = (func, args, kwargs or {}), error
            raise
        if getattr(func, "__name__", "") in _RESHAPES and isinstance(out, Tensor):
            self.reshapes.append((tuple(args[0].shape), tuple(out.shape)))
        return out

    def before_flattening(self, features: int) -> tuple[int, ...] | None:
        return flattened_from(self.reshapes, features)


def flattened_from(reshapes: list[tuple[tuple[int, ...], tuple[int, ...]]], features: int) -> tuple[int, ...] | None:
    """The shape that the last flattening to `features` started from, without the axes it kept in front.

    >>> flattened_from([((1, 16, 3, 3), (1, 144))], 144)
    (16, 3, 3)
    """
    for before, after in reversed(reshapes):
        if before != after and after and after[-1] == features:
            kept = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
            return before[kept:]
    return None


@contextmanager
def without_shortcuts() -> Iterator[None]:
    """PyTorch without shortcuts that skip modules or hide their products; no gradients, and no random numbers used up."""
    fast, compiled = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)
    try:
        with torch.no_grad(), torch.random.fork_rng(), sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        torch._C._set_mkldnn_enabled(compiled)
