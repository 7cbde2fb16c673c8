"""Models in use: in training as their owner left them, otherwise still; with the random numbers of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from workings.train.process.randomness import seed_all
from workings.train.settings import Training


@contextmanager
def _keep_modes(model: nn.Module) -> Iterator[None]:
    """Whether each module trains is afterwards as it was."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def training_mode(model: nn.Module) -> Iterator[None]:
    """A model in training. Modules that were put in `eval()` stay so, unless all were: that says nothing of any of them."""
    with _keep_modes(model):
        if not any(module.training for module in model.modules()):
            model.train()
        yield


def apply_in_eval(model: nn.Module, use: Callable[[nn.Module], Any], settings: Training, step: int) -> Any:
    """Use a model without training it."""
    with _keep_modes(model):
        model.eval()
        return apply_at_step(model, use, settings, step)


def apply_at_step(model: nn.Module, use: Callable[[nn.Module], Any], settings: Training, step: int) -> Any:
    """What `use` makes of a model after a step: with that step's random numbers, so that it is the same at any time."""
    seed_all(settings.seed, step)
    with torch.no_grad(), in_precision(settings.precision, next(model.parameters()).device.type):
        return use(model)


def in_precision(precision: str, device: str) -> AbstractContextManager[Any]:
    """Where the forward pass computes in the number format of the settings."""
    return torch.autocast(device, dtype=torch.bfloat16) if precision == "bfloat16" else nullcontext()
