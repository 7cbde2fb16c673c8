"""The plain run beside the captured one: from the same state, and how the two compare.

The code runs twice, and what it changes is changed once: before the plain run everything the code can reach (its module, its
arguments, its closure, the globals it names) is put back to where the captured run began, and afterwards to where that left
it. Results are compared, and so is what was changed. Code that changes something else, such as a file or the gradients of
parameters, is not run a second time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.code.functions import run_to_end
from workings.trace.record import Agreement, Trace
from workings.trace.replay.saved_state import SavedState
from workings.trace.shapes.counters import Calls
from workings.trace.tensors.dense import is_ordinary
from workings.trace.tensors.difference import is_rounding, largest_difference
from workings.trace.tensors.snapshot import of_array
from workings.trace.tensors.state import parts_of

Failed = tuple[Any, Any, Any]
"""A module's call that failed: the module, the arguments, the options."""


class PlainRun:
    """What a plain run needs to start from where the captured run started."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.random = _draws()
        self.saved_state = SavedState(function, args, kwargs)

    def compare(self, trace: Trace, effects: list[str], failed: Failed | None) -> Agreement:
        """How an unmodified run compares with the captured one, whose effects, and whose call that failed, these are."""
        if effect := effects[0] if effects else self._used_up_reason():
            return Agreement(f"not compared with an unmodified run, which would repeat a side effect: {effect}")
        self.saved_state.settle()
        args = tuple(self.saved_state.argument_again(a) for a in self.args)
        kwargs = {name: self.saved_state.argument_again(a) for name, a in self.kwargs.items()}
        if reason := self.saved_state.lost_reason():
            return Agreement(f"not compared with an unmodified run: {reason}")
        ours, calls = _comparable([trace.result, *self.saved_state.news()]), Calls()
        try:
            with self._as_before(), calls if trace.error is not None else contextlib.nullcontext():
                plain = run_to_end(self.function(*args, **kwargs))
                theirs = [self.saved_state.copy(part) for part in _comparable([plain, *self.saved_state.news()])]
        except Exception as error:
            _explain_failure(trace, failed, calls)
            same = type(error) is type(trace.error) and str(error) == str(trace.error)
            return Agreement("fails like the unmodified run" if same else f"the unmodified run fails differently: {error}")
        if trace.error is not None:
            return Agreement("the unmodified run does not fail")
        return _agreement(ours, theirs)

    def undo(self) -> None:
        """Everything is as it was before the captured run, as far as it can be put back."""
        self.saved_state.restore()
        _set_draws(self.random)

    def cut(self, own: Any) -> None:
        """The author's tensors do not lead to the copies that were given in place of the author's own arguments."""
        from workings.trace.replay.cut import cut

        cut(self.saved_state, (self.args, self.kwargs), own)

    def _used_up_reason(self) -> str:
        """What a second run would find used up."""
        if any(hasattr(a, "__next__") for a in tree_flatten((self.args, self.kwargs))[0]):
            return "an argument is an iterator, which is used up"
        return "an iterator within its reach may be used up" if self.saved_state.has_used_up_iterator() else ""

    @contextlib.contextmanager
    def _as_before(self) -> Iterator[None]:
        """Everything as it was before the captured run; afterwards as that left it."""
        drawn = _draws()  # a program goes on drawing where the captured run ended, as if there had been no second one
        _set_draws(self.random)
        try:
            with self.saved_state.as_before():
                yield
        finally:
            _set_draws(drawn)


def _draws() -> Any:
    other = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), random.getstate(), np.random.get_state(), other


def _set_draws(state: Any) -> None:
    torch.set_rng_state(state[0])
    random.setstate(state[1])
    np.random.set_state(state[2])
    if state[3] is not None:
        torch.cuda.set_rng_state_all(state[3])


def _explain_failure(trace: Trace, failed: Failed | None, calls: Calls) -> None:
    """What the failing operation needed, what came and the fix to try, where shapes are at fault."""
    if trace.error is None:
        return
    from workings.trace.shapes.explain import explain

    found = None
    if failed is not None:
        module, args, kwargs = failed
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


def _agreement(ours: list[Any], theirs: list[Any]) -> Agreement:
    if [_form(a) for a in ours] != [_form(b) for b in theirs]:
        return Agreement("differs from the unmodified run: different shapes or types of results", matches=False)
    if not ours or all(isinstance(part, torch.Tensor) and part.is_meta for part in ours):
        return Agreement("ran like the unmodified run; there is no result to compare")
    pairs = list(zip(ours, theirs, strict=True))
    if any(a != b for a, b in pairs if isinstance(a, str)):
        return Agreement("differs from the unmodified run: different text", matches=False)
    tensors = [(torch.as_tensor(a), torch.as_tensor(b)) for a, b in pairs if not isinstance(a, str)]
    largest = max([_distance(a, b) for a, b in tensors], default=0.0)
    if is_rounding(largest, *(t for pair in tensors for t in pair)):
        return Agreement(f"matches the unmodified run (largest difference {largest:.3g})", largest, matches=True)
    return Agreement(f"differs from the unmodified run by {largest:.3g}", largest, matches=False)


def _comparable(value: Any) -> list[Any]:
    """The parts of a result that have a value to compare; an object of a dataclass has its fields."""
    found: list[Any] = []
    for part in tree_flatten(value)[0]:
        if isinstance(part, torch.Tensor):
            found += [part] if is_ordinary(part) or part.is_meta else parts_of(part)
        elif isinstance(part, np.ndarray):
            found += [numbers] if isinstance(numbers := of_array(part), torch.Tensor) else []
        elif isinstance(part, (bool, int, float, complex, str)):
            found.append(part)
        elif dataclasses.is_dataclass(part) and not isinstance(part, type):
            found += [inner for known in dataclasses.fields(part) for inner in _comparable(getattr(part, known.name))]
    return found


def _form(value: Any) -> Any:
    return value.shape if isinstance(value, torch.Tensor) else type(value)


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    if not a.numel() or a.is_meta:
        return 0.0
    if isinstance(a, ExactTensor) and isinstance(b, ExactTensor):
        one = all(x is y for x, y in zip(a.elements(), b.elements(), strict=True))  # so most of them are: no proof is needed
        return 0.0 if one else largest_difference(a, b)
    return largest_difference(a, b)
