"""Reductions over runs of rows: bags of embeddings and segments of an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from workings.exact.dispatch.operation import arguments, rule, wrap
from workings.exact.dispatch.order import order
from workings.exact.dispatch.scalar import COMPARISONS, scalar
from workings.exact.dispatch.sums import product_of, sum_of
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, ZERO, Value, rational
from workings.exact.ops.losses import REDUCTIONS
from workings.exact.ops.matrix import Matrix, batch, matrices
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.lift import lift_number, payload

_SUM, _MEAN, _MAX = range(3)


# ---- embedding bags
def _bags(count: int, offsets: list[int], include_last: bool) -> list[range]:
    """The places of the indices that belong to each bag."""
    ends = offsets[1:] if include_last else [*offsets[1:], count]
    starts = offsets[:-1] if include_last else offsets
    return [range(a, b) for a, b in zip(starts, ends, strict=True)]


@rule("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: Any,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Sum, mean or maximum of the rows of each bag; then which bag each index is in, and the bags' sizes."""
    index, rows = indices.tolist(), matrices(weight)[0]
    bags = _bags(len(index), offsets.tolist(), include_last_offset)
    width, padding = weight.shape[1], padding_idx % len(rows) if padding_idx >= 0 else -1
    of_bag = torch.tensor([b for b, bag in enumerate(bags) for _ in bag], dtype=indices.dtype)
    kept = [[j for j in bag if index[j] != padding] for bag in bags]
    sizes = torch.tensor([len(js) for js in kept], dtype=indices.dtype)
    if mode == _MAX:
        given = dict(weight=weight, indices=indices, offsets=offsets, mode=mode, padding_idx=padding_idx)
        func = torch.ops.aten._embedding_bag.default
        result = order(func, arguments(func, (), {**given, "include_last_offset": include_last_offset}))
        largest = torch.where((sizes == 0)[:, None], torch.zeros_like(result[0]), result[0])
        return largest, of_bag, sizes, result[3]
    factors = [ONE] * len(index) if per_sample_weights is None else values_of(payload(per_sample_weights))
    out: Matrix = []
    for js in kept:
        sums = [sum_of([scalar("mul", factors[j], rows[index[j]][c]) for j in js]) for c in range(width)]
        out.append([scalar("div", s, rational(len(js))) for s in sums] if mode == _MEAN and js else sums)
    return batch([out], (), len(bags), width), of_bag, sizes, torch.zeros(0, dtype=indices.dtype)


@rule("_embedding_bag_backward")
def embedding_bag_backward(
    g: Any, indices: Any, offsets: Any, of_bag: Any, sizes: Any, maxima: Any, count: int, *rest: Any, **options: Any
) -> Any:
    scale, mode, _, weights = rest[:4]
    padding = rest[4] if len(rest) > 4 else options.get("padding_idx", -1)
    return embedding_bag_dense_backward(g, indices, of_bag, sizes, maxima, count, scale, mode, weights, padding)


@rule("_embedding_bag_dense_backward")
def embedding_bag_dense_backward(
    g: Any,
    indices: torch.Tensor,
    of_bag: torch.Tensor,
    sizes: torch.Tensor,
    maxima: torch.Tensor,
    count: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:
    """Each row of the table receives what the bags it is in receive, by its share in them."""
    rows, width = matrices(g)[0], g.shape[1]
    collected: list[list[list[Value]]] = [[[] for _ in range(width)] for _ in range(count)]
    if mode == _MAX:
        for b, columns in enumerate(maxima.tolist()):
            for c, r in enumerate(columns):
                if r >= 0 and int(sizes[b]):
                    collected[r][c].append(rows[b][c])
        return batch([[[sum_of(vs) for vs in row] for row in collected]], (), count, width)
    index = indices.tolist()
    factors = [ONE] * len(index) if per_sample_weights is None else values_of(payload(per_sample_weights))
    for r, b, factor in zip(index, of_bag.tolist(), factors, strict=True):
        if r == padding_idx:
            continue
        share = factor / rational(int(sizes[b])) if mode == _MEAN else factor
        share = share / rational(index.count(r)) if scale_grad_by_freq else share
        for c in range(width):
            collected[r][c].append(scalar("mul", share, rows[b][c]))
    return batch([[[sum_of(vs) for vs in row] for row in collected]], (), count, width)


@rule("_embedding_bag_per_sample_weights_backward")
def per_sample_weights_backward(
    g: Any, weight: Any, indices: torch.Tensor, offsets: Any, of_bag: torch.Tensor, mode: int, padding_idx: int = -1
) -> Any:
    dots = (g[of_bag] * weight[indices]).sum(-1)
    return torch.where(indices == padding_idx, torch.zeros_like(dots), dots)


# ---- segments
_NOTHING: dict[str, Value] = {"sum": ZERO, "mean": NAN, "prod": ONE, "max": NEG_INF, "min": INF}
_FOLDS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "sum": sum_of,
    "mean": sum_of,
    "prod": product_of,
    "max": REDUCTIONS["amax"],
    "min": REDUCTIONS["amin"],
}


def _segments(data: Any, lengths: Any, offsets: Any, axis: int) -> tuple[list[int], Iterator[list[int]]]:
    """The shape of the result, and the places in the flat data of each of its elements."""
    lengths = offsets.diff(dim=-1) if lengths is None else lengths
    shape = list(data.shape)
    outer, inner, n = math.prod(shape[:axis]), math.prod(shape[axis + 1 :]), shape[axis]
    count = lengths.shape[-1]
    ends = torch.cat([torch.zeros(outer, 1, dtype=torch.int64), lengths.reshape(outer, count).cumsum(-1)], -1).tolist()

    def places() -> Iterator[list[int]]:
        for o in range(outer):
            for s in range(count):
                for i in range(inner):
                    yield [(o * n + j) * inner + i for j in range(ends[o][s], ends[o][s + 1])]

    return [*shape[:axis], count, *shape[axis + 1 :]], places()


@rule("segment_reduce")
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """Each segment reduced, starting from `initial`."""
    flat = values_of(payload(data))
    shape, places = _segments(data, lengths, offsets, axis)
    out = []
    for js in places:
        start = [] if initial is None else [lift_number(initial)]
        v = _FOLDS[reduce]([*start, *[flat[j] for j in js]]) if js or start else _NOTHING[reduce]
        out.append(scalar("div", v, rational(len(js))) if reduce == "mean" and js else v)
    return wrap(payload_of(out, shape))


@rule("_segment_reduce_backward")
def segment_reduce_backward(
    g: Any,
    output: Any,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    initial: Any = None,
) -> Any:
    flat, results, gs = (values_of(payload(t)) for t in (data, output, g))
    grads = [ZERO] * len(flat)
    _, places = _segments(data, lengths, offsets, axis)
    start = ONE if initial is None else lift_number(initial)
    for k, js in enumerate(places):
        xs = [flat[j] for j in js]
        for j, share in zip(js, _shares(reduce, xs, results[k], start), strict=True):
            grads[j] = scalar("mul", gs[k], share)
    return wrap(payload_of(grads, data.shape))


def _shares(reduce: str, xs: list[Value], result: Value, start: Value) -> list[Value]:
    """∂result/∂x for every x of a segment; several maxima share equally."""
    if reduce == "sum":
        return [ONE] * len(xs)
    if reduce == "mean":
        return [ONE / rational(len(xs)) for _ in xs]
    if reduce == "prod":
        return [product_of([start, *xs[:i], *xs[i + 1 :]]) for i in range(len(xs))]
    chosen = [COMPARISONS["eq"](x, result) for x in xs]
    return [ONE / rational(sum(chosen)) if c else ZERO for c in chosen]
