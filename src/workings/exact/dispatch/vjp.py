"""The backward of an operation as the vector–Jacobian product of its written-out forward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from workings.exact.dispatch.operation import is_exact, wrap
from workings.exact.tensor.lift import payload

_KEYS = (
    torch._C.DispatchKey.AutogradCPU,
    torch._C.DispatchKey.ADInplaceOrView,
    torch._C.DispatchKey.AutogradFunctionality,
)


@contextlib.contextmanager
def _autograd_inside() -> Iterator[None]:
    """Turn autograd on again below the dispatcher.

    It is switched off there, because the operation itself is recorded already; the steps that a backward is made of here
    have to be recorded too.
    """
    before = [torch._C._dispatch_tls_is_dispatch_key_excluded(k) for k in _KEYS]
    for k in _KEYS:
        torch._C._dispatch_tls_set_dispatch_key_excluded(k, False)
    try:
        with torch.enable_grad():
            yield
    finally:
        for k, excluded in zip(_KEYS, before, strict=True):
            torch._C._dispatch_tls_set_dispatch_key_excluded(k, excluded)


def vjp(forward: Callable[..., Any], inputs: Sequence[Any], cotangent: Any) -> tuple[Any, ...]:
    """Jᵀ g of `forward` at these inputs."""
    with _autograd_inside():
        leaves = [(x if is_exact(x) else wrap(payload(x))).detach().requires_grad_() for x in inputs]
        result = forward(*leaves)
        return torch.autograd.grad(result, leaves, cotangent, allow_unused=True, materialize_grads=True)
