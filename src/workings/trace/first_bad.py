"""The first NaN or infinity: where it came about. Of a call, the statement inside it, not the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from workings.trace.record import Trace
from workings.trace.step import Step

_KINDS = frozenset(("assign", "return", "expression", "module", "operation"))


def first_bad(trace: Trace) -> Step | None:
    """The first step whose result has a NaN or an infinity that its operands had not; a written `inf` (a mask) is meant."""
    made = (s for s in _suspects(trace) if _makes_nan(s) or ("inf" not in s.source and _makes(s, _has_nonfinite)))
    return next(made, None)


def first_nan(trace: Trace) -> Step | None:
    """The first step whose result has a NaN that its operands had not, where an infinity came before it."""
    if trace.first_bad is None or _has_nan(trace.first_bad.result):
        return None
    return next((s for s in _suspects(trace) if _makes_nan(s)), None)


def bad_gradient(trace: Trace) -> tuple[Step, Step] | None:
    """The gradient that the first NaN or infinity of the backward pass is in, and the statement it stands under: it has one
    that the gradients it was computed from have not."""
    found = [(child, step) for step in trace.root.walk() for child in step.children if child.kind == "gradient"]
    return next(((g, step) for g, step in reversed(found) if _makes(g, _has_nonfinite)), None)


def _suspects(trace: Trace) -> Iterator[Step]:
    steps = [s for s in _inside_out(trace.root) if s.kind in _KINDS and s is not trace.root]
    infinite = _nonfinite_sums({id(t): t for s in steps for t in _tensors(s.result)})
    return (s for s in steps if infinite and any(id(t) in infinite for t in _tensors(s.result)))


def _inside_out(step: Step) -> Iterator[Step]:
    """Steps in the order in which they end."""
    for child in step.children:
        yield from _inside_out(child)
    yield step


def _makes_nan(step: Step) -> bool:
    return _makes(step, _has_nan)


def _makes(step: Step, has: Callable[[Any], bool]) -> bool:
    return has(step.result) and not any(has(value) for value in step.operands.values())


def _nonfinite_sums(tensors: dict[int, torch.Tensor]) -> set[int]:
    """The tensors whose sum is not finite, asked once for all of a kind: a sum is finite only if all its terms are."""
    kinds: dict[Any, dict[int, torch.Tensor]] = {}
    for key, t in tensors.items():
        kinds.setdefault((type(t), t.dtype, t.device), {})[key] = t.sum()
    found = [(sums, torch.stack([*sums.values()]).isfinite().tolist()) for sums in kinds.values()]
    return {key for sums, finite in found for key, fine in zip(sums, finite, strict=True) if not fine}


def _tensors(value: Any) -> list[torch.Tensor]:
    parts = (
        [value] if isinstance(value, torch.Tensor) else tree_leaves(value) if isinstance(value, (tuple, list, dict)) else ()
    )
    return [t for t in parts if isinstance(t, torch.Tensor) and t.is_floating_point() and not t.is_meta]


def _has_nonfinite(value: Any) -> bool:
    return any(not bool(t.isfinite().all()) for t in _nonfinite_tensors(value))


def _has_nan(value: Any) -> bool:
    return any(bool(t.isnan().any()) for t in _nonfinite_tensors(value))


def _nonfinite_tensors(value: Any) -> list[torch.Tensor]:
    return [t for t in _tensors(value) if not bool(t.sum().isfinite())]
