"""`exactify`: an `nn.Module` whose parameters and buffers are exact."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import torch

from workings.exact import optimizer
from workings.exact.make import exact
from workings.exact.tensor import ExactTensor

M = TypeVar("M", bound=torch.nn.Module)


def exactify(module: M, *, recover: bool = False) -> M:
    """Turn every floating-point parameter and buffer exact, in place.

    Tied parameters stay tied, and an optimizer made before keeps working: the tensors keep their identity, and its state
    turns exact before its next step. Values are taken as the floats are; `recover=True` reads 0.1 as 1/10. Weights that
    `load_state_dict` brings later are read the same way.

    >>> from workings import exact
    >>> layer = exact.exactify(torch.nn.Linear(2, 1))
    >>> type(layer.weight).__name__, layer.weight.requires_grad
    ('ExactTensor', True)
    """

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"exactify takes a torch.nn.Module, not {type(module).__name__}. A tensor turns exact by exact(x).")

    def convert(t: torch.Tensor) -> torch.Tensor:
        if isinstance(t, ExactTensor) or not t.is_floating_point():
            return t
        return exact(t, recover=recover)

    optimizer.watch()
    for part in module.modules():
        part.register_load_state_dict_pre_hook(functools.partial(_before_loading, convert))
    return module._apply(convert)


def _before_loading(convert: Any, module: torch.nn.Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    """What `load_state_dict` is about to copy into exact tensors becomes exact first."""
    for name, own in (*module._parameters.items(), *module._buffers.items()):
        if isinstance(own, ExactTensor) and isinstance(state.get(prefix + name), torch.Tensor):
            state[prefix + name] = convert(state[prefix + name])
