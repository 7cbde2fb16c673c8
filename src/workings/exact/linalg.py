"""Exact linear algebra by elimination. Pivots are chosen as LAPACK does (largest absolute value), so factors agree too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from workings.exact.lift import payload
from workings.exact.operation import is_exact, rule, wrap


def _exact(x: Any) -> Any:
    return x if is_exact(x) else wrap(payload(x))


def _batched(f: Callable[..., Any], *xs: Any) -> Any:
    """f over the broadcast leading axes of matrices."""
    lead = torch.broadcast_shapes(*[x.shape[:-2] for x in xs])
    count = math.prod(lead)
    flat = [x.expand(*lead, *x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in xs]
    results = [f(*matrices) for matrices in zip(*flat, strict=True)]
    return torch.stack(results).reshape(*lead, *results[0].shape)


def _pivot(column: Any) -> int:
    return int(column.abs().argmax())


def _solve_one(a: Any, b: Any) -> Any:
    """x with A x = B, by Gauss–Jordan elimination on [A | B]."""
    n = a.shape[-1]
    rows = list(torch.cat([a, b], -1).unbind())
    for i in range(n):
        p = i + _pivot(torch.stack([row[i] for row in rows[i:]]))
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = rows[i] / rows[i][i]
        rows = [row if j == i else row - row[i] * rows[i] for j, row in enumerate(rows)]
    return torch.stack(rows)[:, n:]


def solve(a: Any, b: Any, left: bool = True) -> Any:
    """A⁻¹ B, or B A⁻¹."""
    a, b = _exact(a), _exact(b)
    if not a.numel() or not b.numel():
        lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return wrap(torch.zeros(*lead, *b.shape[-2:], dtype=torch.float64))
    if left:
        return _batched(_solve_one, a, b)
    return _batched(lambda p, q: _solve_one(p.mT, q.mT).mT, a, b)


def _identity(a: Any) -> Any:
    return wrap(torch.eye(a.shape[-1], dtype=torch.float64))


def _info(a: Any) -> torch.Tensor:
    return torch.zeros(a.shape[:-2], dtype=torch.int32)


@rule("linalg_inv_ex")
def inverse(a: Any, check_errors: bool = False) -> Any:
    return solve(a, _identity(a)), _info(a)


def _cholesky_one(a: Any) -> Any:
    n = a.shape[-1]
    zero = torch.zeros_like(a[0, 0])
    L: list[list[Any]] = [[zero] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - L[i][k] * L[j][k]
            L[i][j] = s.sqrt() if i == j else s / L[j][j]
    return torch.stack([torch.stack(row) for row in L])


@rule("linalg_cholesky_ex")
def cholesky_ex(a: Any, upper: bool = False, check_errors: bool = False) -> Any:
    a = a.mT if upper else a
    L = _batched(_cholesky_one, a) if a.numel() else torch.zeros_like(a)
    return (L.mT.clone() if upper else L), _info(a)


@rule("cholesky")
def cholesky(a: Any, upper: bool = False) -> Any:
    return cholesky_ex(a, upper)[0]


def _gram(factor: Any, upper: bool) -> Any:
    return factor.mT @ factor if upper else factor @ factor.mT


@rule("cholesky_inverse")
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return solve(_gram(factor, upper), _identity(factor))


@rule("_cholesky_solve_helper")
def cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    return solve(_gram(_exact(factor), upper), b)


def _lu_one(a: Any) -> tuple[Any, list[int]]:
    m, n = a.shape
    rows = list(a.unbind())
    pivots = []
    for i in range(min(m, n)):
        p = i + _pivot(torch.stack([row[i] for row in rows[i:]]))
        pivots.append(p + 1)
        rows[i], rows[p] = rows[p], rows[i]
        if bool(rows[i][i] == 0):
            continue
        for j in range(i + 1, m):
            factor = rows[j][i] / rows[i][i]
            rest = rows[j][i + 1 :] - factor * rows[i][i + 1 :]
            rows[j] = torch.cat([rows[j][:i], factor[None], rest])
    return torch.stack(rows), pivots


@rule("linalg_lu_factor_ex")
def lu_factor(a: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    lead, k = a.shape[:-2], min(a.shape[-2:])
    if not a.numel():
        return torch.zeros_like(a), torch.zeros(*lead, k, dtype=torch.int32), _info(a)
    factored = [_lu_one(x) for x in a.reshape(-1, *a.shape[-2:]).unbind()]
    LU = torch.stack([x for x, _ in factored]).reshape(a.shape)
    return LU, torch.tensor([p for _, p in factored], dtype=torch.int32).reshape(*lead, k), _info(a)


@rule("linalg_lu")
def lu(a: Any, pivot: bool = True) -> Any:
    LU, pivots, _ = lu_factor(a, pivot)
    return torch.lu_unpack(LU, pivots)


@rule("linalg_lu_solve")
def lu_solve(LU: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    P, L, U = torch.lu_unpack(_exact(LU), pivots)
    a = P @ L @ U
    return solve(a.mT if adjoint else a, b, left)


@rule("_linalg_det")
def det(a: Any) -> Any:
    """Π of the pivots, with the sign of the row exchanges."""
    LU, pivots, _ = lu_factor(a.mT if a.is_contiguous() else a)
    exchanges = (pivots != torch.arange(1, a.shape[-1] + 1)).sum(-1)
    sign = exchanges % 2 * -2 + 1
    return torch.diagonal(LU, dim1=-2, dim2=-1).prod(-1) * sign, LU, pivots


@rule("_linalg_slogdet")
def slogdet(a: Any) -> Any:
    d, LU, pivots = det(a)
    return d.sign(), d.abs().log(), LU, pivots


@rule("_linalg_solve_ex")
def solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and a.shape[:-1] == b.shape)
    x = solve(a, b.unsqueeze(-1) if vector else b, left)
    LU, pivots, info = lu_factor(_exact(a))
    return (x.squeeze(-1) if vector else x), LU, pivots, info


def _triangle(a: Any, upper: bool, unit: bool) -> Any:
    a = _exact(a)
    a = a.triu() if upper else a.tril()
    if unit:
        a = a - torch.diag_embed(torch.diagonal(a, dim1=-2, dim2=-1)) + _identity(a)
    return a


@rule("linalg_solve_triangular")
def solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    return solve(_triangle(a, upper, unitriangular), b, left)


@rule("triangular_solve")
def triangular_solve(b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    t = _triangle(a, upper, unitriangular)
    return solve(t.mT if transpose else t, b), _exact(a).clone()
