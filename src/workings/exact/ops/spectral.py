"""Eigenvalues of symmetric matrices and singular values, exactly, for matrices of rational numbers.

    A v = λ v      λ a root of det(xI − A), v in the kernel of A − λI over ℚ(λ), divided by √(v·v)
    A = U Σ Vᵀ     σ² the eigenvalues of AᵀA, V its eigenvectors, U = A V Σ⁻¹, completed by the kernel of Aᵀ

A vector is determined up to its sign; it is taken as PyTorch's own kernel gives it on the nearest doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from flint import fmpq_mat, fmpq_poly

from workings.errors import DomainError
from workings.exact.dispatch.operation import rule
from workings.exact.numbers import algebra
from workings.exact.numbers.roots import Field, Root, real_roots
from workings.exact.numbers.value import HALF, ONE, ZERO, Value
from workings.exact.ops.matrix import (
    Matrix,
    Vector,
    batch,
    floats,
    from_rationals,
    gram_schmidt,
    identity,
    inner,
    kernel,
    matrices,
    norm,
    rationals,
    times,
    transpose,
    vectors,
)


def _eigenvectors(A: fmpq_mat, root: Root) -> list[Vector]:
    """An orthonormal basis of the eigenspace of one eigenvalue."""
    field = Field(root)
    x = fmpq_poly([0, 1])
    n = A.nrows()
    shifted = [[field.reduced(fmpq_poly([A[i, j]]) - (x if i == j else 0)) for j in range(n)] for i in range(n)]
    found = []
    for v in field.gram_schmidt(field.kernel(shifted)):
        length = algebra.power(field.value(field.inner(v, v)), -HALF)
        found.append([field.value(p) * length for p in v])
    return found


def _eigenpairs(A: fmpq_mat, with_vectors: bool) -> tuple[list[Value], list[Vector]]:
    """Eigenvalues of a symmetric matrix, ascending, and an orthonormal eigenvector for each."""
    roots = real_roots(A.charpoly()) if A.nrows() else []
    values = [root.value for root in roots for _ in range(root.count)]
    return values, [v for root in roots for v in _eigenvectors(A, root)] if with_vectors else []


def _signs(found: Sequence[Vector], kernel_columns: torch.Tensor) -> list[int]:
    """1 or −1 for each vector: the sign that makes it look the way of the kernel's column."""
    pairs = zip(found, kernel_columns.unbind(-1), strict=True)
    return [-1 if float(floats([v])[0] @ w) < 0 else 1 for v, w in pairs]


def _orient(found: Sequence[Vector], signs: Sequence[int]) -> list[Vector]:
    """Each vector, turned round where its sign is −1; those beyond the signs stay."""
    turned = [v if s == 1 else [-x for x in v] for v, s in zip(found, signs, strict=False)]
    return [*turned, *found[len(signs) :]]


@rule("_linalg_eigh")
def eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    lead, n = A.shape[:-2], A.shape[-1]
    A = A.triu() + A.triu(1).mT if UPLO == "U" else A.tril() + A.tril(-1).mT
    values, columns = [], []
    for M in matrices(A):
        w, V = _eigenpairs(rationals(M, "An eigenvalue"), compute_v)
        if compute_v and n:
            V = _orient(V, _signs(V, torch.linalg.eigh(floats(M), UPLO=UPLO)[1]))
        values.append(w)
        columns.append(transpose(V))
    k = n if compute_v else 0
    return vectors(values, lead, n), batch(columns, lead, k, k) if compute_v else vectors([], (), 0)


@rule("linalg_eig", "_linalg_eigvals")
def eig(A: Any) -> Any:
    raise DomainError(
        "Eigenvalues of a general matrix may be complex, and exact values are real. For a symmetric matrix of rational "
        "numbers torch.linalg.eigvalsh(A) and torch.linalg.eigh(A) give them exactly; else leave exact values first, "
        "torch.linalg.eig(A.float64())."
    )


def _tall_svd(A: Matrix, with_vectors: bool) -> tuple[list[Vector], list[Value], list[Vector]]:
    """U, σ and V of a matrix with at least as many rows as columns; U and V as lists of columns, U complete."""
    R = rationals(A, "A singular value")
    squares, V = _eigenpairs(R.transpose() * R, with_vectors)
    sigma = [algebra.power(s, HALF) if s is not ZERO else ZERO for s in reversed(squares)]
    if not with_vectors:
        return [], sigma, []
    V = V[::-1]
    U = [times(algebra.power(s, -1), _times(A, v)) for s, v in zip(sigma, V, strict=True) if s is not ZERO]
    rest = gram_schmidt(kernel(from_rationals(R.transpose()), len(A)))
    return [*U, *[times(ONE / norm(u), u) for u in rest]], sigma, V


def _times(A: Matrix, v: Vector) -> Vector:
    return [inner(row, v) for row in A]


def exact_svd(A: Matrix, with_vectors: bool) -> tuple[list[Vector], list[Value], list[Vector]]:
    """U, σ and V of any matrix; the longer of U and V is complete. Signs as PyTorch's kernel has them."""
    if not A or not A[0]:
        return [], [], []
    wide = len(A) < len(A[0])
    U, sigma, V = _tall_svd(transpose(A) if wide else A, with_vectors)
    if not with_vectors:
        return U, sigma, V
    _, _, Vh = torch.linalg.svd(floats(transpose(A) if wide else A), full_matrices=False)
    signs = _signs(V, Vh.mT)
    U, V = _orient(U, signs), _orient(V, signs)
    return (V, sigma, U) if wide else (U, sigma, V)


@rule("_linalg_svd")
def svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k = min(m, n)
    left, values, right = [], [], []
    for M in matrices(A):
        U, sigma, V = exact_svd(M, compute_uv)
        if not k:
            U, V = identity(m), identity(n)
        left.append(transpose(U[: m if full_matrices else k]))
        values.append(sigma)
        right.append(V[: n if full_matrices else k])
    S = vectors(values, lead, k)
    if not compute_uv:
        return vectors([], (), 0), S, vectors([], (), 0)
    p, q = (m, n) if full_matrices else (k, k)
    return batch(left, lead, m, p), S, batch(right, lead, q, n)
