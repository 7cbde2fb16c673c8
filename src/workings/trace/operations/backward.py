"""What only gradients are made of: where entries came from, put back there."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.precedence import SUM
from workings.trace.formula import notation
from workings.trace.formula.arguments import index_value
from workings.trace.formula.operation import Operation
from workings.trace.formula.tree import Index
from workings.trace.operations.constants import like
from workings.trace.operations.logic import RELATIONS


def _onehot(operands: Mapping[str, Any], y: Tensor, *, classes: int, dim: int = -1) -> Tensor:
    return F.one_hot(y, classes).movedim(-1, dim).to(like(operands).dtype)


def _indicator(operands: Mapping[str, Any], a: Any, b: Any, *, relation: str) -> Any:
    return RELATIONS[relation](a, b).to(like(operands).dtype)


def _scatter_rows(g: Tensor, x: Tensor, *, rows: int) -> Tensor:
    zeros = torch.zeros_like(g).new_zeros((rows, g.shape[-1]))
    return zeros.index_add(0, x.reshape(-1), g.reshape(-1, g.shape[-1]))


def _scatter(operands: Mapping[str, Any], g: Any, *, at: Index, shape: tuple[int, ...]) -> Tensor:
    place = torch.arange(math.prod(shape)).reshape(shape)[index_value(at, operands)]
    g = g if isinstance(g, Tensor) else like(operands).new_tensor(g).expand(place.shape)
    return g.new_zeros(math.prod(shape)).index_add(0, place.reshape(-1), g.reshape(-1)).reshape(shape)


def _expand(operands: Mapping[str, Any], g: Any, *, shape: tuple[int, ...], dim: int | tuple[int, ...] = ()) -> Tensor:
    g = g if isinstance(g, Tensor) else like(operands).new_tensor(g)  # 1 / n of two plain numbers is one
    return _unsqueeze(g, dim=(dim,) if isinstance(dim, int) else dim).expand(shape)


def _unsqueeze(g: Tensor, *, dim: tuple[int, ...]) -> Tensor:
    for axis in dim:
        g = g.unsqueeze(axis)
    return g


def _order(a: Tensor, *, dim: int = -1, descending: bool = False, k: int | None = None) -> Tensor:
    if k is not None:
        return torch.topk(a, k, dim, descending).indices
    return torch.sort(a, dim=dim, descending=descending).indices


def _unsort(g: Tensor, where: Tensor, *, dim: int = -1, shape: tuple[int, ...]) -> Tensor:
    return g.new_zeros(shape).scatter_add(dim, where, g)


def _sum_copies(g: Tensor, *, shape: tuple[int, ...]) -> Tensor:
    lead = g.dim() - len(shape)
    g = g.sum(tuple(range(lead))) if lead else g
    pairs = [n for have, want in zip(g.shape, shape, strict=True) for n in (have // want, want)]
    return g.reshape(pairs).sum(tuple(range(0, 2 * len(shape), 2))) if shape else g


ROWS = (
    Operation(
        "indicator: [a < b]: 1 where the option relation holds, else 0",
        notation=notation.indicator,
        constant=True,
        elementwise=True,
        compute_in_scope=_indicator,
    ),
    Operation(
        "onehot: rows of zeros with a 1 at a; options classes, dim",
        notation=notation.onehot,
        constant=True,
        compute_in_scope=_onehot,
    ),
    Operation(
        "expand: a repeated to option shape", notation=notation.with_size("repeat"), moves=True, compute_in_scope=_expand
    ),
    Operation(
        "unsqueeze: a with axes of length 1 inserted at option dim (a tuple), so that it broadcasts",
        compute=_unsqueeze,
        notation=notation.unsqueeze,
        moves=True,
    ),
    Operation(
        "unbroadcast: a summed over the axes along which a value of option shape was repeated",
        compute=lambda g, *, shape: g.sum_to_size(shape),
        notation=notation.with_size("sum", "to"),
        linear=True,
    ),
    Operation(
        "scatter: zeros of option shape with a added at [option text]",
        notation=notation.scatter,
        linear=True,
        compute_in_scope=_scatter,
    ),
    Operation(
        "scatter_rows: zeros with option rows rows, the rows of a added at the indices b",
        compute=_scatter_rows,
        notation=notation.scatter,
        linear=True,
    ),
    Operation(
        "scatter_add: zeros of option shape with a added at the indices b along option dim",
        compute=lambda g, i, *, dim, shape: g.new_zeros(shape).scatter_add(dim, i, g),
        notation=notation.in_words("#1 added at #2, to zeros"),
        linear=True,
    ),
    Operation(
        "entries: the entries of a at the places b: a_b", compute=lambda a, i: a[i], notation=notation.subscript, moves=True
    ),
    Operation(
        "order: where the entries of sorted a stood; options dim, descending, k (how many of them)",
        others="argsort",
        compute=_order,
        notation=notation.argsort,
        constant=True,
    ),
    Operation(
        "unsort: the entries of a put back where they stood before they were sorted; args a, where they stood; option dim",
        compute=_unsort,
        notation=notation.unsort,
        linear=True,
    ),
    Operation(
        "sum_of: the sum of all args: a₁ + … + a_n",
        compute=lambda *terms: functools.reduce(operator.add, terms),
        notation=notation.first_to_last("+", SUM),
        linear=True,
    ),
    Operation(
        "reversed_cumsum: sums from each entry to the last along option dim: Σ_{j ≥ i} a_j",
        compute=lambda g, *, dim: g.flip(dim).cumsum(dim).flip(dim),
        notation=notation.big("Σ", "j ≥ i"),
        linear=True,
    ),
    Operation(
        "sum_copies: a summed over the copies that repeating a value of option shape made",
        compute=_sum_copies,
        notation=notation.in_words("#1 summed over the copies"),
        linear=True,
    ),
)
