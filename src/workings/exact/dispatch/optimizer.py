"""Optimizers made before `exactify`: their state (momenta, averages) turns exact when their parameters have."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._pytree import tree_map

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.make import exact


def _lift_state(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Before a step: the float tensors kept for exact parameters become exact, taken as they are. Counts of steps stay."""
    for p, held in optimizer.state.items():
        if isinstance(p, ExactTensor):
            held.update({name: tree_map(_lift, x) for name, x in held.items() if name != "step"})


def _lift(x: Any) -> Any:
    return exact(x) if type(x) is torch.Tensor and x.is_floating_point() else x


@functools.cache
def watch() -> None:
    """Have `_lift_state` run before every optimizer's step. Optimizers of ordinary parameters are left alone."""
    register_optimizer_step_pre_hook(_lift_state)
