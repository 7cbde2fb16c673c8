"""Two runs side by side: the first statement whose result differs."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import torch

from workings.show.ask.answer import Answer, in_words
from workings.show.options import Options
from workings.trace.record import Trace
from workings.trace.step import Step


def diff(a: Trace, b: Trace) -> Answer:
    """A sentence: the runs agree, or where they part."""
    return in_words(_first_difference(a, b))


def _first_difference(a: Trace, b: Trace) -> str:
    for x, y in zip_longest(a.steps(), b.steps()):
        if x is None or y is None:
            return f"One run goes on where the other ends: {_place(x or y)}."
        if (x.kind, x.name, x.source) != (y.kind, y.name, y.source):
            return f"The runs take different ways: {_place(x)} here, {_place(y)} there."
        difference = "" if x.children else _difference(x.result, y.result)  # the steps inside say where it begins
        if difference:
            return f"First difference: {_place(x)}: {difference}."
    return "The runs agree in every step."


def _place(step: Step) -> str:
    at = f" ({step.where})" if step.where is not None else ""
    return f"{step.source or step.name or step.kind}{at}"


def _difference(x: Any, y: Any) -> str:
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        return tensor_difference(x, y)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            return f"{len(x)} values here, {len(y)} there"
        return next((d for d in map(_difference, x, y) if d), "")
    if isinstance(x, (int, float, bool, str)) and x != y and not (x != x and y != y):
        return f"{x} here, {y} there"
    return ""


def tensor_difference(x: torch.Tensor, y: torch.Tensor) -> str:
    """How many entries differ and the first that does; nothing if none does."""
    from workings.show.value.value import text_of

    if x.shape != y.shape:
        return f"shape {[*x.shape]} here, {[*y.shape]} there"
    unequal = ~((x == y) | ((x != x) & (y != y)))
    if not bool(unequal.any()):
        return ""
    at = tuple(int(i) for i in unequal.nonzero()[0])
    one, other = (text_of(t[at], Options(digits=6)) for t in (x, y))
    count = int(unequal.sum())
    return f"{count} of {x.numel()} entries differ, first at {list(at)}: {one} here, {other} there"
