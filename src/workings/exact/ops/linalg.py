"""Linear algebra by elimination. Pivots are chosen as LAPACK does (largest absolute value), so factors agree too.

    A X = B      Gauss–Jordan elimination on [A | B]
    A = L Lᵀ     Cholesky
    P A = L U    with the pivots' product as determinant

`info` is 0, or the first place (from 1) where the factorisation breaks down: PyTorch then raises its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workings.exact.dispatch.operation import is_exact, rule, wrap
from workings.exact.dispatch.scalar import absolute, known_sign
from workings.exact.numbers import algebra
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import HALF, NAN, ZERO, Value
from workings.exact.ops.determinant import WRITTEN_OUT, adjugate, determinant
from workings.exact.ops.matrix import (
    Matrix,
    batch,
    echelon,
    from_rationals,
    inner,
    matrices,
    plus,
    product,
    rationals,
    transpose,
    vanishes,
)
from workings.exact.tensor.arena import payload_of
from workings.exact.tensor.lift import payload


def exact_tensor(x: Any) -> Any:
    """An ordinary tensor beside exact ones, as an exact one."""
    return x if is_exact(x) else wrap(payload(x))


def is_vector(b: Any, a: Any) -> bool:
    """Whether the right side of A x = b is a vector for each matrix, not a matrix of columns."""
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and a.shape[:-1] == b.shape)


def integers(found: Sequence[Any], shape: Sequence[int]) -> torch.Tensor:
    """Pivots and `info`, as PyTorch has them."""
    return torch.tensor(found, dtype=torch.int32).reshape(tuple(shape))


def _solution(A: Matrix, B: Matrix) -> Matrix:
    """X with A X = B; NaN where A is singular."""
    n, none = len(A), [[NAN] * len(row) for row in B]
    entries = [v for M in (A, B) for row in M for v in row]
    if any(v.special for v in entries):
        return none
    if all(v.kind == "q" for v in entries):
        try:
            return from_rationals(rationals(A, "").solve(rationals(B, "")))
        except ZeroDivisionError:
            return none
    if n < WRITTEN_OUT:
        d = determinant(A)
        return none if vanishes(d) else [[v / d for v in x] for x in product(adjugate(A), B)]
    rows, pivots = echelon([a + b for a, b in zip(A, B, strict=True)], n)
    return [row[n:] for row in rows] if len(pivots) == n else none


def solve(a: Any, b: Any, left: bool = True) -> Any:
    """A⁻¹ B, or B A⁻¹."""
    a, b = exact_tensor(a), exact_tensor(b)
    if not left:
        return solve(a.mT, b.mT).mT
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n = b.shape[-2:]
    if not a.numel() or not b.numel():
        return wrap(torch.zeros(*lead, m, n, dtype=torch.float64))
    pairs = zip(matrices(a.expand(*lead, m, m)), matrices(b.expand(*lead, m, n)), strict=True)
    return batch([_solution(A, B) for A, B in pairs], lead, m, n)


def _identity(a: Any) -> Any:
    return wrap(torch.eye(a.shape[-1], dtype=torch.float64))


@rule("linalg_inv_ex")
def inverse(a: Any, check_errors: bool = False) -> Any:
    return solve(a, _identity(a)), lu_factor(a)[2]


def _cholesky(A: Matrix) -> tuple[Matrix, int]:
    n = len(A)
    L: Matrix = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = A[i][j] - inner(L[i][:j], L[j][:j])
            if i == j and (s.special or known_sign(s) in (-1, 0)):
                return L, i + 1
            L[i][j] = algebra.power(s, HALF) if i == j else s / L[j][j]
    return L, 0


@rule("linalg_cholesky_ex")
def cholesky_ex(a: Any, upper: bool = False, check_errors: bool = False) -> Any:
    lead, n = a.shape[:-2], a.shape[-1]
    found = [_cholesky(M) for M in matrices(a.mT if upper else a)]
    L = batch([transpose(M) if upper else M for M, _ in found], lead, n, n)
    return L, integers([info for _, info in found], lead)


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
    return solve(_gram(exact_tensor(factor), upper), b)


def largest(column: list[Value]) -> int:
    """The first place of largest absolute value; with letters, the first that does not vanish: no order is assumed."""
    if any(v.free for v in column):
        return next((i for i, v in enumerate(column) if not vanishes(v)), 0)
    best = 0
    for i, v in enumerate(column):
        if i and compare(absolute(v), absolute(column[best])) > 0:
            best = i
    return best


def _lu(A: Matrix, pivot: bool) -> tuple[Matrix, list[int], int]:
    """L below the diagonal and U above it, the exchanged rows (from 1), and where a pivot is 0."""
    m, n = len(A), len(A[0]) if A else 0
    rows, pivots, info = [list(row) for row in A], list[int](), 0
    for i in range(min(m, n)):
        p = i + largest([row[i] for row in rows[i:]]) if pivot else i
        pivots.append(p + 1)
        rows[i], rows[p] = rows[p], rows[i]
        if vanishes(rows[i][i]):
            info = info or i + 1
            continue
        for row in rows[i + 1 :]:
            row[i] = row[i] / rows[i][i]
            row[i + 1 :] = plus(row[i + 1 :], -row[i], rows[i][i + 1 :])
    return rows, pivots, info


@rule("linalg_lu_factor_ex")
def lu_factor(a: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    found = [_lu(M, pivot) for M in matrices(a)] if a.numel() else []
    LU = batch([M for M, _, _ in found], lead, m, n)
    if not found:
        return LU, torch.zeros(*lead, min(m, n), dtype=torch.int32), torch.zeros(lead, dtype=torch.int32)
    pivots = integers([p for _, p, _ in found], (*lead, min(m, n)))
    return LU, pivots, integers([info for _, _, info in found], lead)


@rule("linalg_lu")
def lu(a: Any, pivot: bool = True) -> Any:
    LU, pivots, _ = lu_factor(a, pivot)
    return torch.lu_unpack(LU, pivots)


@rule("linalg_lu_solve")
def lu_solve(LU: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    P, L, U = torch.lu_unpack(exact_tensor(LU), pivots)
    a = P @ L @ U
    return solve(a.mT if adjoint else a, b, left)


@rule("_linalg_det")
def det(a: Any) -> Any:
    """The determinant, with the factors its backward asks for."""
    LU, pivots, _ = lu_factor(a.mT if a.is_contiguous() else a)
    return wrap(payload_of([determinant(M) for M in matrices(a)], a.shape[:-2])), LU, pivots


@rule("_linalg_slogdet")
def slogdet(a: Any) -> Any:
    d, LU, pivots = det(a)
    return d.sign(), d.abs().log(), LU, pivots


@rule("_linalg_solve_ex")
def solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    vector = is_vector(b, a)
    x = solve(a, b.unsqueeze(-1) if vector else b, left)
    LU, pivots, info = lu_factor(exact_tensor(a))
    return (x.squeeze(-1) if vector else x), LU, pivots, info


def _triangle(a: Any, upper: bool, unit: bool) -> Any:
    a = exact_tensor(a)
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
    return solve(t.mT if transpose else t, b), exact_tensor(a).clone()
