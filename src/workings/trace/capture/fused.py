"""Depth 4: a fused operation is run as it is, then its written-out definition is recorded beside it and compared."""

from __future__ import annotations

from typing import Any

import torch

from workings.trace.capture.recorder import Recorder
from workings.trace.code.decorated import with_inmost
from workings.trace.definitions.expand import Definition, compare, definition_of
from workings.trace.formula.operation import OPERATIONS
from workings.trace.step import Step


def fused_function(function: Any) -> Any:
    """The table's key of a fused function: itself, or the method of `Tensor` behind `x.softmax`."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, torch.Tensor):
        return getattr(torch.Tensor, getattr(function, "__name__", ""), None)
    if isinstance(function, type):  # it makes a layer; the layer is called later
        return None
    try:
        return function if function in OPERATIONS.definitions else None
    except TypeError:  # unhashable
        return None


def expand_call(recorder: Recorder, function: Any) -> Any:
    """A call that also records the definition, or None where there is none."""
    key = fused_function(function)
    if key is None or key not in OPERATIONS.definitions:
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        owner = getattr(function, "__self__", None)
        given = (owner, *args) if isinstance(owner, torch.Tensor) else args
        record_expansion(recorder, key, given, kwargs, result)
        return result

    return run


def record_expansion(recorder: Recorder, call: Any, args: Any, kwargs: Any, fused: Any) -> None:
    """The definition of this call as a step of its own, compared with the fused result."""
    found = definition_of(call, args, kwargs)
    name = getattr(call, "__name__", type(call).__name__)
    if not isinstance(found, Definition):
        recorder.stack[-1].children.append(Step("expansion", name, note=f"not shown: {found.reason}"))
        return
    with torch.random.fork_rng(devices=[]):
        expansion = with_inmost(found.function, lambda equation: recorder.trace(equation, "expansion", name))
        expanded = expansion(*found.args, **found.kwargs)
    recorder.stack[-1].children[-1].note = compare(fused, expanded)
