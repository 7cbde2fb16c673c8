"""Counts over intervals: bin i holds eᵢ ≤ x < eᵢ₊₁, the last bin its right edge too."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from flint import fmpq

from workings.errors import ShapeError
from workings.exact.dispatch.operation import rule, wrap
from workings.exact.dispatch.scalar import scalar
from workings.exact.dispatch.sums import sum_of
from workings.exact.numbers import algebra
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import HALF, ONE, Value, rational
from workings.exact.ops.matrix import vectors
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import lift_number, payload

_ORDERED = functools.cmp_to_key(compare)


def _edges(low: Value, high: Value, bins: int) -> list[Value]:
    """bins + 1 evenly spaced edges."""
    if bins < 1:
        raise ShapeError(f"A histogram needs at least 1 bin; {bins} were asked for.")
    return [low + algebra.scale(high - low, fmpq(i, bins)) for i in range(bins + 1)]


def _bin(x: Value, edges: Sequence[Value]) -> int | None:
    """The bin of x, or None outside."""
    if x.special or compare(x, edges[0]) < 0 or compare(x, edges[-1]) > 0:
        return None
    return min(bisect.bisect_right(edges, _ORDERED(x), key=_ORDERED), len(edges) - 1) - 1


def _range(xs: Sequence[Value], given: Sequence[Any] | None, widen: Value) -> tuple[Value, Value]:
    """The given ends, else the least and the greatest element; equal ends are moved apart on both sides."""
    if given is not None:
        low, high = (lift_number(end) for end in given)
    elif xs:
        low, high = min(xs, key=_ORDERED), max(xs, key=_ORDERED)
    else:
        low, high = lift_number(0), lift_number(1)
    return (low - widen, high + widen) if compare(low, high) == 0 else (low, high)


@rule("histc")
def histc(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> ExactTensor:
    xs = values_of(payload(x))
    low, high = _range(xs, None if min == max else (min, max), ONE)
    return _histogram([[v] for v in xs], [_edges(low, high, bins)], None, False)


def _histogram(
    points: Sequence[Sequence[Value]], edges: Sequence[Sequence[Value]], weight: Any, density: bool
) -> ExactTensor:
    """The weights of the points in each cell; as a density, divided by their sum and the cell's volume."""
    shape = [len(e) - 1 for e in edges]
    cells: dict[tuple[int | None, ...], list[Value]] = {place: [] for place in itertools.product(*map(range, shape))}
    weights = [ONE] * len(points) if weight is None else values_of(payload(weight))
    for point, w in zip(points, weights, strict=True):
        place = tuple(_bin(v, e) for v, e in zip(point, edges, strict=True))
        if place in cells:  # none where the point lies outside
            cells[place].append(w)
    totals = [sum_of(cell) for cell in cells.values()]
    if density:
        whole = sum_of(totals)
        totals = [scalar("div", t, whole * volume) for t, volume in zip(totals, _volumes(edges), strict=True)]
    return wrap(payload_of(totals, shape))


def _volumes(edges: Sequence[Sequence[Value]]) -> list[Value]:
    found = [ONE]
    for e in edges:
        found = [v * (b - a) for v in found for a, b in itertools.pairwise(e)]
    return found


def _even_edges(x: Any, bins: Sequence[int], given: Sequence[float] | None) -> list[list[Value]]:
    """Evenly spaced edges for each coordinate of the points in x (its last axis)."""
    p = payload(x)
    columns = [values_of(c) for c in p.reshape(-1, p.shape[-1]).unbind(-1)]
    ends = [None if given is None else given[2 * i : 2 * i + 2] for i in range(len(columns))]
    return [_edges(*_range(xs, e, rational(HALF)), n) for xs, e, n in zip(columns, ends, bins, strict=True)]


def _points(x: Any) -> list[list[Value]]:
    p = payload(x)
    return [values_of(row) for row in p.reshape(-1, p.shape[-1])]


@rule("bincount")
def bincount(x: torch.Tensor, weights: Any = None, minlength: int = 0) -> ExactTensor:
    """The weights of each whole number in x, from 0, summed."""
    places = x.tolist()
    cells: list[list[Value]] = [[] for _ in range(max(minlength, *[i + 1 for i in places], 0))]
    for i, w in zip(places, values_of(payload(weights)), strict=True):
        cells[i].append(w)
    return wrap(payload_of([sum_of(cell) for cell in cells], (len(cells),)))


@rule("histogram.bin_ct")
def histogram(x: Any, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    edges = _even_edges(x.reshape(-1, 1), [bins], range)
    return _histogram(_points(x.reshape(-1, 1)), edges, weight, density), vectors(edges, (), len(edges[0]))


@rule("histogram.bins_tensor")
def histogram_between(x: Any, bins: Any, *, weight: Any = None, density: bool = False) -> Any:
    edges = values_of(payload(bins))
    return _histogram(_points(x.reshape(-1, 1)), [edges], weight, density), vectors([edges], (), len(edges))


@rule("_histogramdd_bin_edges")
def histogramdd_edges(
    x: Any, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False
) -> list[ExactTensor]:
    return [vectors([e], (), len(e)) for e in _even_edges(x, bins, range)]


@rule("_histogramdd_from_bin_cts")
def histogramdd(x: Any, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    return _histogram(_points(x), _even_edges(x, bins, range), weight, density)


@rule("_histogramdd_from_bin_tensors")
def histogramdd_between(x: Any, bins: Sequence[torch.Tensor], *, weight: Any = None, density: bool = False) -> Any:
    return _histogram(_points(x), [values_of(payload(b)) for b in bins], weight, density)
