"""A loss that is not among the recorded statements, added to them: the sum of the result, or a function of it; and the
gradients of one whose `backward()` the code itself calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from workings.trace.address import address
from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Apply, Call, Leaf, Sequence
from workings.trace.gradient.backward import backward
from workings.trace.gradient.choice import is_called_loss, is_number
from workings.trace.gradient.loss import GradientError
from workings.trace.record import Trace
from workings.trace.step import Step
from workings.trace.tensors.dense import ordinary


def add_sum(trace: Trace) -> str | None:
    """A result of several numbers is summed to one, in a step of its own, so that it has a gradient; of several results, the
    first that has one."""
    name, result, note = (
        _result_name(trace),
        trace.result,
        "added here: the result is summed to give one number to differentiate",
    )
    if isinstance(result, (tuple, list)):
        varying = [(i, x) for i, x in enumerate(result) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not varying or any(x.numel() == 1 for _, x in varying) or _computes_loss(trace):
            return None
        (place, result), count = varying[0], len(result)
        name = _part_name(trace, place) or f"{name}[{place}]"
        note = f"added here: the sum of {name}, one of {count} results; loss= chooses another number to differentiate"
    if not isinstance(result, torch.Tensor) or result.numel() == 1 or not trace.root.children:
        return None
    step = Step("assign", "L", f"L = {name}.sum()", Apply("sum", (Leaf(name),)), {name: ordinary(result)})
    step.lives = {name: result}
    return _add(trace, step, result.sum(), note)


def add_loss(trace: Trace, loss: Callable[..., Any], depth: int) -> str:
    """`L = loss(result)` as a last step, with the statements of the loss inside. Several results are several arguments where
    the loss takes as many."""
    several = isinstance(trace.result, tuple) and _takes(loss, len(trace.result))
    given = trace.result if several else (trace.result,)
    name = _result_name(trace)
    names = [f"{name}[{i}]" for i in range(len(given))] if several else [name]
    inner = capture(functools.partial(loss, *given), depth=depth, replay=False)
    text = getattr(loss, "__name__", type(loss).__name__).replace("<lambda>", "loss")
    if inner.error is not None:
        raise GradientError(f"loss={text} fails on the result: {inner.error}") from inner.error
    if not isinstance(inner.result, torch.Tensor) or inner.result.numel() != 1:
        came = f"shape {[*inner.result.shape]}" if isinstance(inner.result, torch.Tensor) else type(inner.result).__name__
        raise GradientError(f"loss={text} is to make one number of the result, a tensor of one element, and made {came}.")
    step = Step("assign", "L", f"L = {text}({', '.join(names)})", Call(text, tuple(map(Leaf, names))))
    step.children = inner.root.children
    step.lives = {text: value for text, value in zip(names, given, strict=True) if isinstance(value, torch.Tensor)}
    step.operands = {text: ordinary(value) for text, value in step.lives.items()}
    trace.modules = {**inner.modules, **trace.modules}
    return _add(trace, step, inner.result, "added here: the loss that was given")


def add_gradients(trace: Trace, loss: torch.Tensor) -> None:
    """The gradients of a loss whose `backward()` the code is about to call, while autograd's graph is there. Those of an
    earlier call, in another turn of a loop, stay."""
    notes = list(trace.notes)
    try:
        backward(trace, loss)
    except GradientError as reason:
        notes.append(str(reason))
    trace.notes, trace.is_differentiated = notes, True


def _add(trace: Trace, step: Step, value: torch.Tensor, note: str) -> str:
    step.live, step.result, step.note = value, value.detach(), note
    trace.root.children[0].children.append(step)
    address(trace.root)
    return step.name


def _result_name(trace: Trace) -> str:
    """What the function calls the value it returns."""
    top = trace.root.children[0]
    last = top.children[-1] if top.children else top
    return last.formula.text if isinstance(last.formula, Leaf) else "output"


def _computes_loss(trace: Trace) -> bool:
    """Whether the function has a number of its own that it calls a loss."""
    made = ((step.name, step.live) for step in trace.root.children[0].children)
    return any(is_called_loss(name) and isinstance(live, torch.Tensor) and is_number(live) for name, live in made)


def _part_name(trace: Trace, place: int) -> str:
    """What the function calls one of the values it returns."""
    top = trace.root.children[0]
    last = top.children[-1].formula if top.children else None
    item = last.items[place] if isinstance(last, Sequence) and place < len(last.items) else None
    return item.text if isinstance(item, Leaf) else ""


def _takes(loss: Callable[..., Any], count: int) -> bool:
    """Whether a function takes so many arguments."""
    try:
        inspect.signature(getattr(loss, "forward", loss)).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True
