"""The plain run beside the captured one: from the same state, and how the two compare.

Code that changes something outside what is put back here is not run a second time: its effect would happen twice.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map

from workings.trace.agree import is_rounding
from workings.trace.generators import finished
from workings.trace.mismatch import explain
from workings.trace.record import Trace
from workings.trace.recorder import Recorder
from workings.trace.watch import Calls


class State:
    """What a plain run needs to start from where the captured run started."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self.function = function
        self.args, self.kwargs = tree_map(_own_copy, (args, kwargs))
        self.random = torch.get_rng_state()
        self.others = random.getstate(), np.random.get_state()
        given = tree_flatten((args, kwargs))[0]
        self.generators = [(g, g.get_state()) for g in given if isinstance(g, torch.Generator)]
        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        self.module = owner if isinstance(owner, torch.nn.Module) else None
        self.buffers = {n: b.clone() for n, b in self.module.named_buffers()} if self.module is not None else {}
        self.versions = {n: p._version for n, p in self.module.named_parameters()} if self.module is not None else {}

    def compare(self, trace: Trace, recorder: Recorder) -> tuple[str, float | None]:
        effect = self._effect(recorder)
        if effect:
            return f"not compared with a plain run, which would repeat an effect: {effect}", None
        if self.module is not None and any(p._version != self.versions[n] for n, p in self.module.named_parameters()):
            return "not compared with a plain run: the code changes its parameters", None
        after = (
            torch.get_rng_state(),
            {n: b.clone() for n, b in self.module.named_buffers()} if self.module is not None else {},
        )
        self._restore(self.random, self.buffers)
        now = random.getstate(), np.random.get_state()
        drawn = [(generator, generator.get_state()) for generator, _ in self.generators]
        _set_back(self.generators)
        random.setstate(self.others[0])
        np.random.set_state(self.others[1])
        calls = Calls()
        try:
            with calls if trace.error is not None else contextlib.nullcontext():
                plain = finished(self.function(*self.args, **self.kwargs))
        except Exception as error:
            _explain_failure(trace, recorder, calls)
            same = type(error) is type(trace.error) and str(error) == str(trace.error)
            return ("fails as the plain run does" if same else f"the plain run fails differently: {error}"), None
        finally:
            self._restore(*after)
            _set_back(drawn)
            random.setstate(now[0])
            np.random.set_state(now[1])
        if trace.error is not None:
            return "the plain run does not fail", None
        return _agreement(trace.result, plain)

    def _effect(self, recorder: Recorder) -> str:
        """What a second run would do again, outside what is put back here."""
        if recorder.effects:
            return recorder.effects[0]
        if any(hasattr(a, "__next__") for a in tree_flatten((self.args, self.kwargs))[0]):
            return "an argument is an iterator, which is used up"
        mine = {id(b) for b in self.module.buffers()} if self.module is not None else set()
        for buffer, version in recorder.buffers.values():
            if buffer._version != version and id(buffer) not in mine:
                return "a module it calls changes its buffers"
        return ""

    def _restore(self, state: torch.Tensor, buffers: dict[str, torch.Tensor]) -> None:
        torch.set_rng_state(state)
        with torch.no_grad():
            for name, buffer in self.module.named_buffers() if self.module is not None else ():
                buffer.copy_(buffers[name])


def _set_back(generators: list[tuple[torch.Generator, torch.Tensor]]) -> None:
    for generator, state in generators:
        generator.set_state(state)


def _explain_failure(trace: Trace, recorder: Recorder, calls: Calls) -> None:
    """What the failing operation needed, what came and the fix to try, where shapes are at fault."""
    if trace.error is None:
        return
    found = None
    if recorder.failed is not None:
        module, args, kwargs = recorder.failed
        before = (
            calls.before_flattening(args[0].shape[-1])
            if args and isinstance(args[0], torch.Tensor) and args[0].dim()
            else None
        )
        found = explain(trace.error, module, args, kwargs, before)
    if found is None and calls.failed is not None:
        found = explain(trace.error, *calls.failed)
    if found is not None:
        step = next((s for s in trace.steps() if s.kind == "error"), trace.root)
        step.note = f"{found}\n{step.note}" if step.note else str(found)


def _own_copy(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return value
    copy = value.detach().clone().requires_grad_(value.requires_grad)
    return copy if value.is_leaf else copy.clone()


def _agreement(found: Any, plain: Any) -> tuple[str, float | None]:
    ours, theirs = _comparable(found), _comparable(plain)
    if [_form(a) for a in ours] != [_form(b) for b in theirs]:
        return "differs from the plain run: other shapes or kinds of results", None
    if not ours:
        return "ran like the plain run; there is no result to compare", None
    pairs = list(zip(ours, theirs, strict=True))
    if any(a != b for a, b in pairs if isinstance(a, str)):
        return "differs from the plain run: another text", None
    tensors = [(torch.as_tensor(a), torch.as_tensor(b)) for a, b in pairs if not isinstance(a, str)]
    largest = max([_distance(a, b) for a, b in tensors], default=0.0)
    if is_rounding(largest, *(t for pair in tensors for t in pair)):
        return f"agrees with the plain run (largest difference {largest:.3g})", largest
    return f"differs from the plain run by {largest:.3g}", largest


def _comparable(value: Any) -> list[Any]:
    """The parts of a result that have a value to compare; an object of a dataclass has its fields."""
    found: list[Any] = []
    for part in tree_flatten(value)[0]:
        if isinstance(part, (torch.Tensor, bool, int, float, complex, str)):
            found.append(part)
        elif dataclasses.is_dataclass(part) and not isinstance(part, type):
            found += [inner for known in dataclasses.fields(part) for inner in _comparable(getattr(part, known.name))]
    return found


def _form(value: Any) -> Any:
    return value.shape if isinstance(value, torch.Tensor) else type(value)


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    if not a.numel():
        return 0.0
    if hasattr(a, "elements") and hasattr(b, "elements"):
        if all(x is y for x, y in zip(a.elements(), b.elements(), strict=True)):
            return 0.0
        a, b = a.detach().float64(), b.detach().float64()  # type: ignore[attr-defined]
    widest = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    gap = (a.detach().to(widest) - b.detach().to(widest)).abs()
    same = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(same, torch.zeros_like(gap), gap).max())
