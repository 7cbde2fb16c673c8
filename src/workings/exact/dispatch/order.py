"""Order: operations that only compare run the real kernel on ranks, exact ones, and map the ranks back."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import torch
from torch.utils._pytree import tree_map

from workings.exact.dispatch.operation import carries_values, run_on_stand_ins, schema_of, wrap
from workings.exact.dispatch.shapes import axes
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import NAN, ZERO, Value
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import lift_number, payload

ORDER = frozenset(
    """
    sort topk kthvalue median nanmedian mode max min amax amin aminmax argmax argmin argsort cummax cummin equal nonzero
    nonzero_static count_nonzero any all max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d
    adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d _unique2 unique_dim unique_consecutive searchsorted
    bucketize isin is_nonzero argwhere msort
    """.split()
)

_CLOSE = 1e-12
"""Doubles this far apart (relatively) order their values: each is within one rounding of its value."""


_ABOUT_ZERO = frozenset("nonzero nonzero_static count_nonzero any all is_nonzero argwhere".split())
"""These tell zeros from the rest; the others never compare with zero, so letters need not be compared with it."""


def _ranks(values: set[Value]) -> dict[Value, float]:
    """Rank of each value, 0 for zero if it is there, equal values sharing one; ∞ and NaN as themselves."""
    groups = _groups_in_order([v for v in values if not v.special])
    origin = next((i for i, group in enumerate(groups) if ZERO in group), 0)
    rank = {v: float(i - origin) for i, group in enumerate(groups) for v in group}
    return {**rank, **{v: to_float(v) for v in values if v.special}}


def _groups_in_order(values: list[Value]) -> list[list[Value]]:
    """Sorted, with equal values together. Doubles decide where they can: they are found faster than signs of differences."""
    free = any(v.free for v in values)  # then doubles decide nothing: all get the same
    numbered = sorted(((0.0 if free else to_float(v), v) for v in values), key=lambda item: item[0])
    if any(_near(a[0], b[0]) for a, b in itertools.pairwise(numbered)):
        numbered.sort(key=functools.cmp_to_key(_compare_numbered))
    groups: list[list[tuple[float, Value]]] = []
    for item in numbered:
        if groups and _compare_numbered(groups[-1][-1], item) == 0:
            groups[-1].append(item)
        else:
            groups.append([item])
    return [[v for _, v in group] for group in groups]


def _near(a: float, b: float) -> bool:
    """Equal doubles are near too: both may have overflowed to ∞ or vanished to 0."""
    return a == b or abs(a - b) <= _CLOSE * (abs(a) + abs(b))


def _compare_numbered(a: tuple[float, Value], b: tuple[float, Value]) -> int:
    return compare(a[1], b[1]) if _near(a[0], b[0]) else (a[0] > b[0]) - (a[0] < b[0])


def order(func: Any, given: dict[str, Any]) -> Any:
    """Run the kernel on ranks; letters are compared only within a line along `dim`, as the operation itself does."""
    x = given.get("self")
    if (
        isinstance(x, ExactTensor)
        and x.dim() > 1
        and isinstance(given.get("dim"), int)
        and any(v.free for v in x.elements())
    ):
        return _line_by_line(func, given, x)
    return _on_ranks(func, given)


def _line_by_line(func: Any, given: dict[str, Any], x: ExactTensor) -> Any:
    (dim,) = axes(given["dim"], x.dim())
    lines = x.movedim(dim, -1).reshape(-1, x.shape[dim]).unbind()
    found = [_on_ranks(func, {**given, "self": line, "dim": 0}) for line in lines]
    others = [n for d, n in enumerate(x.shape) if d != dim]

    def join(parts: Any) -> torch.Tensor:
        stacked = torch.stack(list(parts))
        whole = stacked.reshape(*others, *stacked.shape[1:])
        return whole.movedim(-1, dim) if stacked.dim() > 1 else whole

    if isinstance(found[0], torch.Tensor):
        return join(found)
    return tuple(join(parts) for parts in zip(*found, strict=True))


def _on_ranks(func: Any, given: dict[str, Any]) -> Any:
    numbers = schema_of(func).numbers
    present: list[Value] = []
    for name, x in given.items():
        for part in x if isinstance(x, (list, tuple)) else [x]:
            if carries_values(name, part):
                present += values_of(payload(part))
            elif name in numbers and part is not None:
                present.append(lift_number(part))
    rank = _ranks({*present, ZERO} if schema_of(func).name in _ABOUT_ZERO else set(present))
    back: dict[Any, Value] = {}
    for v in dict.fromkeys(present):
        back.setdefault(rank[v] if v is not NAN else "nan", v)  # NaN is no key: it does not equal itself

    def stand_in(x: Any) -> torch.Tensor:
        p = payload(x)
        return torch.tensor([rank[v] for v in values_of(p)], dtype=torch.float64).reshape(p.shape)

    def value_of_rank(r: float) -> Value:
        found = back.get(r if r == r else "nan")
        return found if found is not None else lift_number(r)

    def restore(t: Any) -> Any:
        if isinstance(t, torch.Tensor) and t.dtype == torch.float64:
            return wrap(payload_of([value_of_rank(r) for r in t.reshape(-1).tolist()], t.shape))
        return t

    return tree_map(restore, run_on_stand_ins(func, given, stand_in, lambda x: rank[lift_number(x)]))
