"""A = L D Lᵀ of a symmetric matrix, by Bunch–Kaufman pivoting as LAPACK's `sytf2` has it (lower triangle).

D has blocks of one or two rows. A pivot p > 0 at place k says: rows k and p were exchanged; the same p < 0 at places k
and k + 1: a block of two, rows k + 1 and −p were exchanged. (Bunch and Kaufman 1977; α = (1 + √17)/8.)
"""

from __future__ import annotations

from typing import Any

import torch
from flint import fmpq

from workings.exact.dispatch.operation import rule
from workings.exact.dispatch.scalar import absolute
from workings.exact.numbers import algebra
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import HALF, ONE, ZERO, Value, rational
from workings.exact.ops.linalg import exact_tensor, integers, largest, solve
from workings.exact.ops.matrix import Matrix, batch, identity, matrices, plus, product, transpose, vanishes


def _alpha() -> Value:
    return algebra.scale(ONE + algebra.power(rational(17), HALF), fmpq(1, 8))


def _choice(A: Matrix, k: int) -> tuple[int, int]:
    """The row to exchange, and whether the block has one or two rows."""
    n, alpha = len(A), _alpha()
    here = absolute(A[k][k])
    if k == n - 1:
        return k, 1
    r = k + 1 + largest([A[i][k] for i in range(k + 1, n)])
    below = absolute(A[r][k])
    if compare(here, alpha * below) >= 0:
        return k, 1
    others = [absolute(A[r][j]) for j in range(k, n) if j != r]
    beside = others[largest(others)]
    if compare(here * beside, alpha * below * below) >= 0:
        return k, 1
    return (r, 1) if compare(absolute(A[r][r]), alpha * beside) >= 0 else (r, 2)


def _exchange(A: Matrix, i: int, j: int, first: int) -> None:
    """Exchange rows and columns i and j of the part from `first` on (earlier columns of L stay, as in LAPACK)."""
    A[i][first:], A[j][first:] = A[j][first:], A[i][first:]
    for row in A[first:]:
        row[i], row[j] = row[j], row[i]


def _factor(A: Matrix) -> tuple[Matrix, list[int], int]:
    A = [list(row) for row in A]
    n, k = len(A), 0
    pivots: list[int] = []
    info = 0
    while k < n:
        p, size = _choice(A, k)
        last = k + size
        if p != last - 1:
            _exchange(A, last - 1, p, k)
        block = [row[k:last] for row in A[k:last]]
        if size == 1 and vanishes(block[0][0]):
            info = info or k + 1
        else:
            below = product([row[k:last] for row in A[last:]], _inverse(block)) if last < n else []
            for i in range(last, n):
                for c in range(size):
                    A[i][last:] = plus(A[i][last:], -below[i - last][c], A[k + c][last:])
            for i in range(last, n):
                A[i][k:last] = below[i - last]
        pivots += [p + 1] if size == 1 else [-(p + 1)] * 2
        k = last
    return A, pivots, info


def _inverse(block: Matrix) -> Matrix:
    if len(block) == 1:
        return [[algebra.power(block[0][0], -1)]]
    (a, b), (c, d) = block
    scale = algebra.power(a * d - b * c, -1)
    return [[d * scale, -b * scale], [-c * scale, a * scale]]


@rule("linalg_ldl_factor_ex")
def ldl_factor(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    lead, n = A.shape[:-2], A.shape[-1]
    found = [_factor(M) for M in matrices(A.tril() + A.tril(-1).mT)]
    LD = batch([M for M, _, _ in found], lead, n, n).tril()
    return LD, integers([p for _, p, _ in found], (*lead, n)), integers([info for _, _, info in found], lead)


def _product_of_factors(LD: Matrix, pivots: list[int]) -> Matrix:
    """The matrix whose factors these are: M D Mᵀ with M = P₁ L₁ P₂ L₂ ⋯"""
    n = len(LD)
    D = [[LD[i][i] if i == j else ZERO for j in range(n)] for i in range(n)]
    k = 0
    steps: list[Matrix] = []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        L, P = identity(n), identity(n)
        for c in range(k, k + size):
            for i in range(k + size, n):
                L[i][c] = LD[i][c]
        if size == 2:
            D[k][k + 1] = D[k + 1][k] = LD[k + 1][k]
        i, j = k + size - 1, abs(pivots[k]) - 1
        P[i], P[j] = P[j], P[i]
        steps.append(product(P, L))
        k += size
    M = identity(n)
    for step in steps:
        M = product(M, step)
    return product(product(M, D), transpose(M))


@rule("linalg_ldl_solve")
def ldl_solve(LD: Any, pivots: torch.Tensor, B: Any, *, hermitian: bool = False) -> Any:
    n = LD.shape[-1]
    if not LD.numel() or not B.numel():
        return solve(LD, B)
    rows = pivots.reshape(-1, n).tolist()
    found = [_product_of_factors(M, p) for M, p in zip(matrices(LD), rows, strict=True)]
    return solve(batch(found, LD.shape[:-2], n, n), exact_tensor(B))
