"""Two runs side by side: the first statement whose result differs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import torch

from workings.show.ask.answer import Answer, in_words
from workings.show.options import Options
from workings.trace.code.functions import in_library
from workings.trace.record import Trace
from workings.trace.step import Step

_Around = tuple[Step, ...]
"""A step and those it stands in, outside in."""
_NOWHERE: _Around = ()


def diff(a: Trace, b: Trace) -> Answer:
    """A sentence: the runs agree, or where they part."""
    return in_words(_first_difference(a, b))


def _first_difference(a: Trace, b: Trace) -> str:
    for here, there in zip_longest(_walk(a.root), _walk(b.root), fillvalue=_NOWHERE):
        if not here or not there:
            return f"One run goes on where the other ends: {_place(here or there)}."
        x, y = here[-1], there[-1]
        if (x.kind, x.name, x.source) != (y.kind, y.name, y.source):
            return f"The runs take different ways: {_place(here)} here, {_place(there)} there."
        difference = "" if x.children else _difference(x.result, y.result)  # the steps inside say where it begins
        if difference:
            return f"First difference: {_place(here)}: {difference}."
    return "The runs agree in every step."


def _walk(step: Step, around: _Around = _NOWHERE) -> Iterator[_Around]:
    """All steps inside a step, in the order they happened, each with those around it."""
    for child in step.children:
        yield (*around, child)
        yield from _walk(child, (*around, child))


def _place(around: _Around) -> str:
    """The author's statement that a step stands in, with the path of its module: blocks.1.k: k = self.k(x) (net.py:7).

    What a library does inside it, the author has not written.
    """
    own = [step for step in around if step.where is not None and not in_library(step.where.file)]
    step = own[-1] if own else around[-1]
    at = f" ({step.where})" if step.where is not None else ""
    path = step.address or next((s.address for s in reversed(around) if s.kind in ("module", "call") and s.address), "")
    text = step.source or step.name or step.kind
    return f"{path}: {text}{at}" if path and path != text else f"{text}{at}"


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
