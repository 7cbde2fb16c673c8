"""`scheduler.step()` as steps: the learning rate before and after it, by the schedule's own equation.

    StepLR, ExponentialLR      η = γ η
    LambdaLR                   η = η₀ f(t)
    CosineAnnealingLR          η = η_min + (η₀ − η_min)(1 + cos(π t/T))/2

A schedule without an equation here, or off it (after a warm restart), shows the two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import lr_scheduler

from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, leaves
from workings.trace.step import Step

_Equation = Callable[[Any, int, float], tuple[Formula, dict[str, Any]]]
"""The new η from the scheduler, the number of the group and the old η: a formula and the values of its letters."""


def _scaled(scheduler: Any, group: int, η: float) -> tuple[Formula, dict[str, Any]]:
    return Apply("mul", (Leaf("γ"), Leaf("η"))), {"γ": scheduler.gamma, "η": η}


def _by_function(scheduler: Any, group: int, η: float) -> tuple[Formula, dict[str, Any]]:
    value = scheduler.lr_lambdas[group](scheduler.last_epoch)
    return Apply("mul", (Leaf("η₀"), Leaf("f(t)"))), {"η₀": scheduler.base_lrs[group], "f(t)": value}


def _cosine(scheduler: Any, group: int, η: float) -> tuple[Formula, dict[str, Any]]:
    angle = Apply("div", (Apply("mul", (Leaf("math.pi"), Leaf("t"))), Leaf("T")))
    wave = Apply("div", (Apply("add", (Number(1), Apply("cos", (angle,)))), Number(2)))
    height = Apply("sub", (Leaf("η₀"), Leaf("η_min")))
    known = {"η₀": scheduler.base_lrs[group], "η_min": scheduler.eta_min, "t": scheduler.last_epoch, "T": scheduler.T_max}
    return Apply("add", (Leaf("η_min"), Apply("mul", (height, wave)))), {**known, "math.pi": math.pi}


_EQUATIONS: dict[type, _Equation] = {
    lr_scheduler.StepLR: _scaled,
    lr_scheduler.MultiStepLR: _scaled,
    lr_scheduler.ExponentialLR: _scaled,
    lr_scheduler.LambdaLR: _by_function,
    lr_scheduler.CosineAnnealingLR: _cosine,
}


def schedule_steps(scheduler: Any, before: list[float], after: list[float]) -> list[Step]:
    """A line for each group of parameters whose learning rate a schedule changed."""
    kind = type(scheduler)
    names = ["η"] if len(after) == 1 else [f"η of group {i + 1}" for i in range(len(after))]
    steps = []
    for group, (name, was, now) in enumerate(zip(names, before, after, strict=True)):
        if was != now:
            step = Step("update", name, operands={"η": was}, result=now, note=f"{kind.__name__}: {was:g} before")
            _write_out(step, kind, scheduler, group, was)
            steps.append(step)
    return steps


def _write_out(step: Step, kind: type, scheduler: Any, group: int, was: float) -> None:
    """The equation, where it gives the number that the schedule gave."""
    if kind not in _EQUATIONS:
        return
    formula, known = _EQUATIONS[kind](scheduler, group, was)
    ours = evaluate(formula, {text: torch.as_tensor(float(value), dtype=torch.float64) for text, value in known.items()})
    if math.isclose(float(ours), step.result, rel_tol=1e-9):
        step.formula, step.operands = formula, {text: known[text] for text in leaves(formula)}
        step.note = kind.__name__


def rates(optimizer: Any) -> list[float]:
    """The learning rates of an optimizer's groups, as plain numbers."""
    return [float(group["lr"]) for group in optimizer.param_groups]
