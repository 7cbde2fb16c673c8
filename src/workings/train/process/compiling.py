"""torch.compile when it pays off: measured, not assumed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import nn

from workings.errors import WorkingsError

_REPEATS = 5
WORTH = 60.0
"""Seconds that a run must take for compiling, which takes about half of that, to be tried at all."""


def compiler() -> str | None:
    """The C++ compiler that torch.compile would call."""
    return next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)


def compile_objective(how: str, objective: nn.Module, batch: Any, steps: int, say: Callable[[str], None]) -> bool:
    """Compile the objective if `how` is yes, or if it is auto and that makes steps quicker; say what was found."""
    if how == "no":
        return False
    if compiler() is None:
        if how == "yes":
            raise WorkingsError("torch.compile needs a C++ compiler (g++ or clang++); install one, or set compile to auto.")
        say("not compiled: there is no C++ compiler")
        return False
    if how == "yes":
        objective.compile(dynamic=False)
        return True
    return _compile_if_faster(objective, batch, steps, say)


def _compile_if_faster(objective: nn.Module, batch: Any, steps: int, say: Callable[[str], None]) -> bool:
    """Whether compiled steps are quicker, after a few of each; nothing is learnt from them."""
    plain = seconds(objective, batch)
    if plain * steps < WORTH:
        say(f"not compiled: the run takes about {plain * steps:.0f} s as it is")
        return False
    began = perf_counter()
    objective.compile(dynamic=False)
    try:
        quick = seconds(objective, batch)
    except Exception as error:  # whatever stops PyTorch's compiler does not stop the training
        say(f"not compiled: PyTorch's compiler failed ({type(error).__name__})")
        objective._compiled_call_impl = None
        return False
    spent = perf_counter() - began
    better = quick < 0.95 * plain
    if not better:
        objective._compiled_call_impl = None
    word = "compiled" if better else "not compiled"
    say(f"{word}: {quick * 1e3:.2f} ms a step compiled, {plain * 1e3:.2f} ms plain; finding out took {spent:.0f} s")
    return better


def seconds(objective: nn.Module, batch: Any) -> float:
    """The median time of a forward and backward pass. Buffers and gradients are as before afterwards."""
    buffers = [(b, b.detach().clone()) for b in objective.buffers()]
    times = []
    for _ in range(_REPEATS + 1):  # the first one warms up
        began = perf_counter()
        objective(batch).backward()
        times.append(perf_counter() - began)
        objective.zero_grad()
    with torch.no_grad():
        for b, before in buffers:
            b.copy_(before)
    return median(times[1:])
