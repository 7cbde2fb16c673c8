"""`exactify`: an `nn.Module` whose parameters and buffers are exact."""

from __future__ import annotations

import functools
import weakref
from typing import Any, TypeVar

import torch

from workings.errors import WorkingsError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.make import exact

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

    convert = functools.partial(_convert, recover=recover)  # not a closure: the module may be pickled
    _check_free(module)
    for part in module.modules():
        part.register_load_state_dict_pre_hook(functools.partial(_before_loading, convert))
    swapping = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)  # a parameter changes its class, but not its identity
    try:
        return module._apply(convert)
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
        name = str(error).rpartition(" ")[2]
        raise WorkingsError(_refusal(name, "something else holds on to it")) from error
    finally:
        torch.__future__.set_swap_module_params_on_conversion(swapping)


def _convert(t: torch.Tensor, *, recover: bool) -> torch.Tensor:
    if isinstance(t, ExactTensor) or not t.is_floating_point():
        return t
    return exact(t, recover=recover)


def _check_free(module: torch.nn.Module) -> None:
    """Refuse, before anything has changed, a parameter that cannot be exchanged in place."""
    # The weak references of an RNN are its own: it drops them.
    own = {id(ref) for part in module.modules() for ref in getattr(part, "_flat_weight_refs", ())}
    for name, p in module.named_parameters():
        if isinstance(p, ExactTensor) or not p.is_floating_point():
            continue
        if any(id(ref) not in own for ref in weakref.getweakrefs(p)):
            raise WorkingsError(_refusal(name, "a weak reference leads to it"))
        if p._use_count() > _HELD_BY_A_GRAPH:  # type: ignore[attr-defined]
            raise WorkingsError(_refusal(name, "a view of it is in use, such as w.T or w.view(-1)"))


def _refusal(name: str, why: str) -> str:
    return (
        f"exactify turns parameters exact in place, which {name} does not allow: {why}. "
        "Drop that first, or take a copy: exactify(copy.deepcopy(module))."
    )


_HELD_BY_A_GRAPH = 2
"""PyTorch's own count of uses: the tensor itself, and a graph that leads to it."""


def _before_loading(convert: Any, module: torch.nn.Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    """What `load_state_dict` is about to copy into exact tensors becomes exact first."""
    for name, own in (*module._parameters.items(), *module._buffers.items()):
        if isinstance(own, ExactTensor) and isinstance(state.get(prefix + name), torch.Tensor):
            state[prefix + name] = convert(state[prefix + name])
