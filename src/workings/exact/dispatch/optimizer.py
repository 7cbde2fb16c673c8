"""Optimizers of exact parameters: what they keep turns exact, and what they compute with their settings stays exact.

An optimizer computes 1 − β₁ᵗ in Python's floats, of which 0.09999999999999998 is not the nearest to 1/10. For the time of a
step its settings are floats that know their exact value and compute with it, so that their floats are the nearest, and are
recognised. State made before `exactify` (momenta, averages) turns exact when the parameters have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._pytree import tree_map

from workings.errors import WorkingsError
from workings.exact.dispatch.scalar import scalar
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.value import Value, rational
from workings.exact.reading.recover import as_is, recover, remember
from workings.exact.tensor.arena import ARENA
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.make import exact


class _Setting(float):
    """A float that knows the number it is nearest to, and computes with that."""

    value: Value

    def __new__(cls, value: Value) -> _Setting:
        x = to_float(value)
        self = super().__new__(cls, x)
        self.value = value
        remember(x, value)
        return self

    def __neg__(self) -> _Setting:
        return _computed("neg", self)

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)


def _value(x: float) -> Value:
    if isinstance(x, _Setting):
        return x.value
    if isinstance(x, int):
        return rational(x)
    found = recover(x)
    return as_is(x) if found is None else found


def _computed(operation: str, *xs: float) -> Any:
    with ARENA.working():
        return _Setting(scalar(operation, *map(_value, xs)))


def _operator(operation: str, plain: Callable[[Any, Any], Any], *, swapped: bool) -> Callable[[Any, Any], Any]:
    def compute(self: float, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return plain(self, other)
        try:
            return _computed(operation, *((other, self) if swapped else (self, other)))
        except (WorkingsError, ArithmeticError):
            return plain(self, other)

    return compute


for _name, _operation in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow"}.items():
    for _prefix in ("", "r"):
        _method = f"__{_prefix}{_name}__"
        setattr(_Setting, _method, _operator(_operation, getattr(float, _method), swapped=bool(_prefix)))


def _before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    """The float tensors kept for exact parameters become exact, taken as they are (counts of steps stay); so do settings."""
    for p, held in optimizer.state.items():
        if isinstance(p, ExactTensor):
            held.update({name: tree_map(_lift, x) for name, x in held.items() if name != "step"})
    _change_settings(optimizer, lambda x: _computed("add", x, 0) if type(x) is float else x)


def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    _change_settings(optimizer, lambda x: float(x) if type(x) is _Setting else x)


def _change_settings(optimizer: Any, change: Callable[[Any], Any]) -> None:
    for group in optimizer.param_groups:
        if any(isinstance(p, ExactTensor) for p in group["params"]):
            group.update({name: tree_map(change, x) for name, x in group.items() if isinstance(x, (float, tuple))})


def _lift(x: Any) -> Any:
    return exact(x) if type(x) is torch.Tensor and x.is_floating_point() else x


register_optimizer_step_pre_hook(_before_step)  # optimizers of ordinary parameters are left alone
register_optimizer_step_post_hook(_after_step)
