"""The optimizers of `torch.optim` on exact parameters: three steps of logistic regression beside float64.

    loss = mean log(1 + exp(−y (X W V + b))) + (‖W‖² + ‖V‖² + b²)/2

The parameters start at multiples of 1/4. PyTorch's own loops run once over lists of tensors (foreach) and once tensor
by tensor. The default dtype is float64, because some optimizers keep numbers of their own in it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.optim import lr_scheduler

from conformance.row import Pair, Row, row
from conformance.widened import widened
from workings import exact

STEPS = 3
DATA = torch.tensor([[1.0, 0.5], [-0.5, 2.0], [0.25, -1.5]], dtype=torch.float64)
SIGNS = torch.tensor([[1.0], [-1.0], [1.0]], dtype=torch.float64)
START = {
    "W": torch.tensor([[0.5, -0.25, 1.0], [-1.0, 0.75, 0.25]], dtype=torch.float64),
    "V": torch.tensor([[1.0], [-0.5], [0.25]], dtype=torch.float64),
    "b": torch.tensor([0.5], dtype=torch.float64),
}
OUTSIDE: set[str] = set()
"""Optimizers known to be unsupported; see `modules.OUTSIDE`."""

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01},
        {"lr": 0.1, "maximize": True},
    ],
    "Adam": [{"lr": 0.1}, {"lr": 0.1, "amsgrad": True}, {"lr": 0.1, "weight_decay": 0.01}],
    "AdamW": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1}],
    "NAdam": [{"lr": 0.1}],
    "RAdam": [{"lr": 0.1}],
    "Adamax": [{"lr": 0.1}],
    "RMSprop": [{"lr": 0.1}, {"lr": 0.1, "centered": True}, {"lr": 0.1, "momentum": 0.9}],
    "Adagrad": [{"lr": 0.1}, {"lr": 0.1, "lr_decay": 0.1}],
    "Adadelta": [{"lr": 1.0}],
    "Rprop": [{"lr": 0.1}],
    "ASGD": [{"lr": 0.1}],
    "Adafactor": [{"lr": 0.1}],
    "LBFGS": [{"lr": 0.5, "max_iter": 2}, {"lr": 0.5, "max_iter": 2, "line_search_fn": "strong_wolfe"}],
    "Muon": [{"lr": 0.1}],
    "SparseAdam": [],
}
"""Every optimizer of PyTorch with the settings to try. SparseAdam needs sparse gradients: exact tensors have none."""

SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "StepLR": partial(lr_scheduler.StepLR, step_size=2, gamma=0.5),
    "ExponentialLR": partial(lr_scheduler.ExponentialLR, gamma=0.9),
    "LinearLR": partial(lr_scheduler.LinearLR, total_iters=4),
    "PolynomialLR": partial(lr_scheduler.PolynomialLR, total_iters=4, power=2),
    "CosineAnnealingLR": partial(lr_scheduler.CosineAnnealingLR, T_max=4),
    "OneCycleLR": partial(lr_scheduler.OneCycleLR, max_lr=0.2, total_steps=5),
}


@dataclass(frozen=True)
class Trial:
    """An optimizer with settings, perhaps under a schedule."""

    name: str
    optimizer: str
    settings: dict[str, Any]
    schedule: str | None = None


def trials() -> list[Trial]:
    """Every optimizer in every variant, over lists and tensor by tensor; then the schedules with SGD."""
    found = []
    for optimizer, variants in VARIANTS.items():
        lists = "foreach" in inspect.signature(getattr(optim, optimizer)).parameters
        for settings in variants:
            for foreach in (False, True) if lists else (None,):
                given = settings if foreach is None else {**settings, "foreach": foreach}
                found.append(Trial(f"{optimizer}({', '.join(f'{k}={v}' for k, v in given.items())})", optimizer, given))
    return found + [Trial(f"SGD under {name}", "SGD", {"lr": 0.1, "momentum": 0.9}, name) for name in SCHEDULES]


def check(trial: Trial) -> Row:
    """Three steps in float64 and exactly."""
    return row(trial.name, lambda: compare(trial))


def compare(trial: Trial) -> tuple[list[Pair], list[str]]:
    """Parameters and losses of the exact run beside those of the reference, and notes."""
    with float64_by_default(), widened() as reference:
        expected = run(trial, lambda t: t.clone())
    with float64_by_default():
        found = run(trial, exact)
    notes = [f"its own code computes {', '.join(sorted(reference.narrowed))}"] if reference.narrowed else []
    return [Pair(name, found[name], expected[name]) for name in expected], notes


@contextlib.contextmanager
def float64_by_default() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def run(trial: Trial, make: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """The parameters and the loss after every step, by name."""
    names = ["W", "V"] if trial.optimizer == "Muon" else ["W", "V", "b"]  # Muon takes matrices only
    parameters = {name: nn.Parameter(make(START[name])) for name in names}
    optimizer = getattr(optim, trial.optimizer)(list(parameters.values()), **trial.settings)
    schedule = SCHEDULES[trial.schedule](optimizer) if trial.schedule else None
    after: dict[str, Tensor] = {}

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss(parameters)
        value.backward()
        return value

    for step in range(1, STEPS + 1):
        after[f"loss before step {step}"] = optimizer.step(closure).detach()
        if schedule is not None:
            schedule.step()
        after |= {f"{name} after step {step}": p.detach().clone() for name, p in parameters.items()}
    return after


def loss(parameters: dict[str, Tensor]) -> Tensor:
    """Logistic loss of a linear net with two layers, and a quadratic pull towards 0."""
    scores = DATA @ parameters["W"] @ parameters["V"] + parameters.get("b", 0)
    pull = sum((p * p).sum() for p in parameters.values())
    return nn.functional.softplus(-SIGNS * scores).mean() + pull / 2


def rows() -> Iterator[Row]:
    """Every trial, checked."""
    return map(check, trials())
