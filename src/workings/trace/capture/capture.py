"""Capture a computation: run it, collect its steps, compare it with a plain run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import FunctionMeta
from torch.utils._pytree import tree_leaves

from workings.trace.address import address
from workings.trace.capture.modules import record_modules
from workings.trace.capture.recorder import STATEMENTS, Recorder
from workings.trace.code.arguments import check_unambiguous, unwrap
from workings.trace.code.decorated import with_inmost
from workings.trace.code.functions import run_to_end, written_out
from workings.trace.first_bad import first_bad, first_nan
from workings.trace.formula.tree import Apply, Leaf
from workings.trace.record import Trace
from workings.trace.replay.plain_run import PlainRun
from workings.trace.step import Step
from workings.trace.tensors.snapshot import COPIED

__all__ = ["address", "capture", "check_unambiguous", "first_bad"]

_DEPTH = 2
BeforeBackward = Callable[[Trace, torch.Tensor], None]


def capture(
    function: Any,
    *args: Any,
    depth: int = _DEPTH,
    names: Any = (),
    replay: bool = True,
    before_backward: BeforeBackward | None = None,
    **kwargs: Any,
) -> Trace:
    """Run `function(*args, **kwargs)` and return its steps. An exception of the code is kept in the trace, not raised.

    With `names`, only the statements that assign these are recorded, which costs little. A generator is asked for its first
    50 values, and the result is the list of them; a coroutine is run to its end. Where there is no source, the steps are
    PyTorch's operations. A parameter of the function's own that is called depth, names or replay is given by
    `functools.partial(function, depth=…)`. Where the code calls `loss.backward()`, `before_backward` gets the trace up to
    there and the loss, while autograd's graph is there.
    """
    function, args, kwargs = unwrap(function, args, kwargs)
    given = (("depth", depth, _DEPTH), ("names", names, ()), ("replay", replay, True))
    check_unambiguous(function, args, kwargs, **{name: value for name, value, usual in given if value != usual})
    recorder = Recorder(depth, frozenset([names] if isinstance(names, str) else names))
    if depth >= 4:
        from workings.trace.capture.fused import expand_call, record_expansion

        recorder.expand, recorder.record_expansion = expand_call, record_expansion
    before = PlainRun(function, args, kwargs) if replay else None
    recorder.saved_state = None if before is None else before.saved_state
    trace = Trace(recorder.root)
    if before_backward is not None:
        recorder.before_backward = functools.partial(tell, before_backward, trace, recorder)
    with ONE_AT_A_TIME, record_modules(recorder, function, watch=replay):
        try:
            trace.result = run_to_end(_start(recorder, function, args, kwargs))
        except Exception as error:
            trace.error = error
            mark_failure(recorder, error)
        finally:
            recorder.muted += 1  # a generator or closure that outlives the capture reports no more
            recorder.before_backward = None
            recorder.bound.clear()  # its functions lead back to the recorder, which would wait for the garbage collector
    if recorder.names:
        _prune(trace.root)
    address(trace.root)
    trace.later(modules=lambda _: recorder.modules(), first_bad=first_bad, first_nan=first_nan)
    if recorder.snapshots.has_changes():
        trace.notes.append(CHANGED)
    if before is not None:
        trace.agreement, trace.difference, trace.matches = before.compare(trace, recorder.effects, recorder.failed)
        trace.undo = before.undo if trace.error is not None else None
        varies = any(isinstance(a, torch.Tensor) and a.requires_grad for a in tree_leaves((args, kwargs)))
        trace.cut = before.cut if varies else None
    return trace


def tell(
    before_backward: BeforeBackward, trace: Trace, recorder: Recorder, loss: torch.Tensor, gradient: Any = None
) -> None:
    """The code is about to call `loss.backward()`: hand over the trace so far, with what it takes to read it."""
    if isinstance(gradient, torch.Tensor) and loss.requires_grad and not (gradient.numel() == 1 and gradient == 1):
        loss = _add_weighted(recorder.stack[-1], loss, gradient.detach())
    address(trace.root)
    trace.modules = recorder.modules()
    before_backward(trace, loss)


def _add_weighted(step: Step, y: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """The number whose gradients `y.backward(g)` takes: L = Σ (g ⊙ y), as a line of its own under the statement."""
    name = step.source.partition(".backward(")[0] or "output"
    with torch.enable_grad():
        L = (g * y).sum()
    weighted = Apply("mul", (Leaf("g"), Leaf(name)))
    formula = Apply("sum", (weighted,)) if y.dim() else weighted
    line = Step("assign", "L", f"L = (g * {name}).sum()", formula, {"g": g.clone(), name: y.detach().clone()}, L.detach())
    line.live, line.lives = L, {name: y}
    line.note = "added here: backward() is given the gradient g, so these are the gradients of L"
    step.children.append(line)
    return L


ONE_AT_A_TIME = threading.RLock()
"""Captures of several threads take turns: modules are shared, and each capture hooks into their calls."""
CHANGED = (
    f"a tensor of more than {COPIED:,} elements was changed in place after it was recorded: such tensors are not copied, "
    "so its earlier values are shown as they are now"
)


def _start(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(function, torch.nn.Module):
        return function(*args, **kwargs)
    if (definition := written_out(function)) is not function:
        return with_inmost(definition, recorder.trace)(*args, **kwargs)
    if isinstance(getattr(function, "__self__", None), FunctionMeta):  # Spike.apply, which runs Spike.forward
        return recorder.call(function)(*args, **kwargs)
    return recorder.run(function, args, kwargs, "call", getattr(function, "__name__", type(function).__name__))


def mark_failure(recorder: Recorder, error: BaseException) -> None:
    """The statement the code failed in becomes an error step."""
    step = recorder.failing or recorder.root
    step.note = f"{type(error).__name__}: {error}"
    if step.kind in STATEMENTS or step.kind == "operation":
        step.kind, step.live = "error", None


def _prune(step: Step) -> None:
    """Where only some names were asked for: the calls, modules and turns in which none of them stands go."""
    for child in step.children:
        _prune(child)
    empty = ("call", "module", "loop", "turn", "folded")
    step.children = [c for c in step.children if c.children or c.kind not in empty or step.kind == "root"]
