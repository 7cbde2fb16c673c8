"""Capture a computation: run it, collect its steps, compare it with a plain run."""

from __future__ import annotations

import functools
import threading
import types
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from workings.trace.hooks import reporting_modules
from workings.trace.record import Trace
from workings.trace.recorder import STATEMENTS, Recorder, written_out
from workings.trace.replay import State
from workings.trace.snapshot import COPIED
from workings.trace.step import Step


def capture(function: Any, *args: Any, depth: int = 2, names: Any = (), replay: bool = True, **kwargs: Any) -> Trace:
    """Run `function(*args, **kwargs)` and return its steps. An exception of the code is kept in the trace, not raised."""
    function, args, kwargs = _unwrapped(function, args, kwargs)
    recorder = Recorder(depth, frozenset(names))
    if depth >= 4:
        from workings.trace.fused import expanding

        recorder.expand = expanding
    before = State(function, args, kwargs) if replay else None
    trace = Trace(recorder.root)
    with _ONE_AT_A_TIME, reporting_modules(recorder, function):
        try:
            trace.result = _start(recorder, function, args, kwargs)
        except Exception as error:
            trace.error = error
            _mark_failure(recorder, error)
    address(trace.root)
    trace.first_bad = first_bad(trace)
    if recorder.snapshots.changed():
        trace.notes.append(CHANGED)
    if before is not None:
        trace.agreement, trace.difference = before.compare(trace, recorder)
    return trace


_ONE_AT_A_TIME = threading.RLock()
"""Captures of several threads take turns: modules are shared, and each capture hooks into their calls."""
CHANGED = (
    f"a tensor of more than {COPIED:,} elements was changed in place after it was recorded: such tensors are not copied, "
    "so its earlier values are shown as they are now"
)


def _unwrapped(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """What is really called: the function of a partial, the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    if isinstance(function, (types.FunctionType, types.MethodType, torch.nn.Module, type)):
        return function, args, kwargs
    own = vars(type(function)).get("__call__")
    return (types.MethodType(own, function) if isinstance(own, types.FunctionType) else function), args, kwargs


def _start(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(function, torch.nn.Module):
        return function(*args, **kwargs)
    function = written_out(function)
    return recorder.run(function, args, kwargs, "call", getattr(function, "__name__", type(function).__name__))


def _mark_failure(recorder: Recorder, error: BaseException) -> None:
    """The statement the code failed in becomes an error step."""
    step = recorder.failing or recorder.root
    step.note = f"{type(error).__name__}: {error}"
    if step.kind in STATEMENTS:
        step.kind = "error"


_NAMED = frozenset(("assign", "input", "gradient", "update", "error"))


def address(parent: Step, prefix: str = "") -> None:
    """Addresses such as `S`, `blocks.1.attn.S` or `turn 2.h`: the modules, calls and turns a step stands in, then its name.

    The statements of the function that was shown have no prefix; a name that is assigned again gets a number, `h#2`.
    """
    seen: dict[str, int] = {}
    for child in parent.children:
        _address_one(parent, child, prefix, seen)


def _address_one(parent: Step, child: Step, prefix: str, seen: dict[str, int]) -> None:
    inner = prefix
    if child.kind in _NAMED and child.name:
        count = seen[child.name] = seen.get(child.name, 0) + 1
        child.address = _joined(prefix, child.name) + (f"#{count}" if count > 1 else "")
    elif child.kind == "module":
        child.address = inner = child.name
    elif child.kind == "call":
        child.address = _joined(prefix, child.name)
        inner = "" if parent.kind == "root" else child.address
    elif child.kind == "turn":
        child.address = inner = _joined(prefix, f"turn {child.name}")
    if child.kind in ("loop", "branch"):
        for turn in child.children:
            _address_one(child, turn, prefix, seen)
        return
    address(child, inner)


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def first_bad(trace: Trace) -> Step | None:
    """The first step whose result has a NaN or an infinity that its operands had not; a written `inf` (a mask) is meant."""
    kinds = ("assign", "return", "expression", "module")
    suspects = (s for s in trace.steps() if s.kind in kinds and _bad(s.result, "inf" in s.source))
    return next((s for s in suspects if not any(_bad(value) for value in s.operands.values())), None)


def _bad(value: Any, infinite_is_meant: bool = False) -> bool:
    tensors = [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]
    suspects = [t for t in tensors if not bool(t.sum().isfinite())]
    return any(bool(t.isnan().any()) if infinite_is_meant else not bool(t.isfinite().all()) for t in suspects)
