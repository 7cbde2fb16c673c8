"""What clips gradients and what sets the learning rate, in code that is recorded: their lines under the statement.

clip_grad_norm_(ws, 1)     total_norm = √(‖w.grad‖² + …)     c = 1/(total_norm + ε)     w.grad = c w.grad
scheduler.step()           η = γ η
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from threading import get_ident
from types import SimpleNamespace
from typing import Any

from torch import Tensor
from torch.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from torch.optim import lr_scheduler

from workings.trace.capture.recorder import Recorder
from workings.trace.capture.substitute import copy_function, substitute_code, substitute_method
from workings.trace.optimizer.clipping import norm_clipping_steps, value_clipping_steps
from workings.trace.optimizer.names import better, names_around
from workings.trace.optimizer.schedules import rates, schedule_steps
from workings.trace.step import Step


@contextlib.contextmanager
def record_training(recorder: Recorder, thread: int) -> Iterator[None]:
    """While this is open, clipping and schedules in this thread add their lines. Nothing stays patched."""

    def is_watched() -> bool:
        return get_ident() == thread and not recorder.muted

    with contextlib.ExitStack() as opened:
        for function, steps in ((clip_grad_norm_, _norm_clipping), (clip_grad_value_, _value_clipping)):
            plain: Any = getattr(function, "__wrapped__", function)
            opened.enter_context(substitute_code(plain, _watch_clipping(recorder, copy_function(plain), steps, is_watched)))
        for kind in _schedulers():
            plain = copy_function(kind.step)
            opened.enter_context(substitute_method(kind.step, plain, _watch_schedule(recorder, plain, is_watched), set()))
        yield


# ---- scheduler.step()


def _schedulers() -> list[type[lr_scheduler.LRScheduler]]:
    """The classes of schedulers that have a step of their own, written in Python as it is."""
    found = [kind for kind in vars(lr_scheduler).values() if isinstance(kind, type) and "step" in vars(kind)]
    return [kind for kind in dict.fromkeys(found) if issubclass(kind, lr_scheduler.LRScheduler)]


def _watch_schedule(recorder: Recorder, plain: Any, is_watched: Callable[[], bool]) -> Any:
    def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None or not is_watched() or not hasattr(optimizer, "_opt_called"):  # it is being made
            return plain(scheduler, *args, **kwargs)
        before = rates(optimizer)
        recorder.muted += 1  # a schedule may be made of others
        try:
            result = plain(scheduler, *args, **kwargs)
        finally:
            recorder.muted -= 1
        recorder.stack[-1].children += schedule_steps(scheduler, before, rates(optimizer))
        return result

    return step


# ---- clipping

_Steps = Callable[..., tuple[list[Step], str]]


def _watch_clipping(recorder: Recorder, plain: Any, steps: _Steps, is_watched: Callable[[], bool]) -> Any:
    """The function that clips, with its lines under the statement that calls it."""

    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        if not is_watched():
            return plain(tensors, *args, **kwargs)
        named = {name: t for name, t in _names(recorder, tensors).items() if t.grad is not None}
        before = {name: t.grad.clone() for name, t in named.items() if t.grad is not None}
        result = plain(tensors, *args, **kwargs)
        after = {name: t.grad.clone() for name, t in named.items() if t.grad is not None}
        lines, note = steps(before, after, result, *args, **kwargs)
        recorder.stack[-1].children += lines
        recorder.stack[-1].note = note
        return result

    return clip


def _names(recorder: Recorder, tensors: list[Tensor]) -> dict[str, Tensor]:
    """The tensors by the names that they have in the code."""
    known = recorder.parameter_names(SimpleNamespace(param_groups=[{"params": tensors}]))
    around = names_around(tensors)
    return {better(name, around.get(id(tensor), "")): tensor for name, tensor in known.items()}


def _norm_clipping(
    before: Any, after: Any, total: Tensor, max_norm: Any, norm_type: float = 2.0, *others: Any, **options: Any
) -> tuple[list[Step], str]:
    return norm_clipping_steps(before, after, float(max_norm), float(norm_type), total.detach())


def _value_clipping(
    before: Any, after: Any, _: None, clip_value: float, *others: Any, **options: Any
) -> tuple[list[Step], str]:
    return value_clipping_steps(before, after, float(clip_value))
