"""An ordinary tensor that exact values are written into turns exact, in place.

    y = torch.zeros(2, dtype=x.dtype)
    y[0] = x[1]
    y[1] += x[0]

Nobody can see it half exact: the tensor keeps its identity and its values, as they are, and so does the one it is a view of.
Where that cannot be (memory that another tensor or an array shares, a tensor that autograd follows), the write is refused.
"""

from __future__ import annotations

import gc
import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_flatten

from workings.exact.dispatch.mode import ExactFactories
from workings.exact.tensor.exact_tensor import HOOKS, PlainTargetError
from workings.exact.tensor.make import exact

_OPERATORS = frozenset(f"__{name}__" for name in "setitem iadd isub imul itruediv ifloordiv imod ipow".split())
_ALONE = 1
"""How often a tensor, or its memory, is held when nobody shares it."""


def _before_write(func: Any, args: Any, kwargs: Any) -> None:
    """Turn the ordinary tensors exact that this call writes into, if there are any."""
    name = getattr(func, "__name__", "")
    if _is_write(name):
        _turn_exact(name, args[0] if args else None)
    elif "out" in kwargs:
        for out in kwargs["out"] if isinstance(kwargs["out"], (tuple, list)) else [kwargs["out"]]:
            _turn_exact(f"{name}(…, out=y)", out)
    elif func in _RUNNING:
        given = inspect.signature(func).bind(*args, **kwargs)
        if given.arguments.get(_RUNNING[func]):
            for running in ("running_mean", "running_var"):
                _turn_exact(name, given.arguments.get(running))


_RUNNING = {F.batch_norm: "training", F.instance_norm: "use_input_stats"}
"""Functions that write into their running mean and variance, though their name does not say so, and when they do."""


def _run_with_exact_targets(func: Any, args: Any, kwargs: Any, error: PlainTargetError) -> Any:
    """Call a function of PyTorch again that writes exact values into a tensor it makes itself, as `pad_sequence` does."""
    given = tree_flatten((args, kwargs))[0]
    if _is_write(func.__name__) or any(error.target is t for t in given):  # what is written by now would be written twice
        raise error
    with ExactFactories():
        return func(*args, **kwargs)


def _is_write(name: str) -> bool:
    """Whether a function of this name writes into its first argument."""
    return name in _OPERATORS or (name.endswith("_") and not name.endswith("__"))


def _turn_exact(name: str, y: Any) -> None:
    if type(y) not in (torch.Tensor, torch.nn.Parameter) or not y.is_floating_point():
        return
    owner = y._base if y._is_view() else y
    views = _views(owner, y)
    if any(t.requires_grad and (torch.is_grad_enabled() or not t.is_leaf) for t in (owner, *views)):
        raise refusal(name, y, "autograd follows it")
    if held := _held_by(owner, views):
        raise refusal(name, y, f"{held}, and would not follow")
    whole = _like(owner, exact(owner))
    pairs = [(owner, whole), *[(v, whole.as_strided(v.shape, v.stride(), v.storage_offset())) for v in views]]
    done = []
    try:
        for a, b in pairs:
            _exchange(a, b)
            done.append((a, b))
    except RuntimeError:
        for a, b in done:
            _exchange(a, b)
        raise refusal(name, y, "something else holds on to it") from None


def _views(owner: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    """The views of a tensor that are alive: y itself, or, where others hold the memory too, all that Python knows, such as
    the y[i] of `y[i][j] += x`."""
    views = [] if y is owner else [y]
    if _holders(owner) > _ALONE + len(views):
        views = [t for t in gc.get_objects() if type(t) is torch.Tensor and t._is_view() and t._base is owner]
    return views


def _holders(owner: torch.Tensor) -> int:
    """How many tensors and arrays hold the memory of this one."""
    return int(torch._C._storage_Use_Count(owner.untyped_storage()._cdata)) - 1  # the question holds it too


def _held_by(owner: torch.Tensor, views: list[torch.Tensor]) -> str:
    """What holds on to this tensor or to its memory, beside these views."""
    if _holders(owner) > _ALONE + len(views) or not owner.untyped_storage().resizable():
        return "a tensor or an array shares its memory"
    if any(t._backward_hooks or t._post_accumulate_grad_hooks for t in (owner, *views)):
        return "a hook waits for its gradient"
    tensors = owner._use_count() - len(views), *[v._use_count() for v in views]  # type: ignore[attr-defined]
    return "a computed result leads back to it" if max(tensors) > _ALONE else ""


def _like(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """x as what y is: a parameter, with its gradient, and with the attributes that somebody gave it."""
    made = torch.nn.Parameter(x, y.requires_grad) if isinstance(y, torch.nn.Parameter) else x
    made.grad = None if y.grad is None else exact(y.grad)
    vars(made).update({name: value for name, value in vars(y).items() if name not in vars(made)})
    return made


def _exchange(a: Any, b: Any) -> None:
    """Let two Python objects change their tensors. As `torch.utils.swap_tensors`, which refuses tensors that have a view.

    The versions by which PyTorch, and whoever keeps a copy, sees that a tensor has changed, go on.
    """
    if not a.is_inference() and not b.is_inference() and a._version >= b._version:
        torch._C._autograd._unsafe_set_version_counter((b,), (a._version + 1,))
    torch._C._swap_tensor_impl(a, b)
    a.__class__, b.__class__ = b.__class__, a.__class__
    a.__dict__, b.__dict__ = b.__dict__, a.__dict__


def refusal(name: str, y: torch.Tensor, why: str = "") -> PlainTargetError:
    """The error of a write that cannot be: what would be written into, and why it does not turn exact."""
    reason = f", which does not turn exact in place: {why}" if why else ""
    return PlainTargetError(
        f"{name} would write exact values into an ordinary {y.dtype} tensor of shape {[*y.shape]}{reason}. Make that "
        "tensor exact: exact.zeros(…), x.new_zeros(…), exact.exactify(module), or create it inside `with exact.mode():`.",
        y,
    )


HOOKS.before_write, HOOKS.run_with_exact_targets = _before_write, _run_with_exact_targets
