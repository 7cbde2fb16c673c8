"""A = Q R, by Householder reflections with LAPACK's signs.

    H = I − τ v vᵀ     v₁ = 1, chosen so that H maps a column x to (β, 0, …, 0)
    β = −sign(x₁)‖x‖,  τ = (β − x₁)/β,  v = (x₁ − β)⁻¹ x below the first element
    Q = H₁ H₂ ⋯

Q's columns are those of Gram–Schmidt up to their signs. Where the columns of a rational A are independent they are
written that way: with single square roots, not nested ones.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from workings.exact.dispatch.operation import rule
from workings.exact.numbers import algebra
from workings.exact.numbers.sign import sign
from workings.exact.numbers.value import ONE, ZERO, Value
from workings.exact.ops.matrix import (
    Matrix,
    Vector,
    batch,
    gram_schmidt,
    identity,
    inner,
    matrices,
    norm,
    plus,
    times,
    transpose,
    vanishes,
    vectors,
)
from workings.exact.tensor.arena import values_of
from workings.exact.tensor.lift import payload


def _reflection(x: Vector) -> tuple[Value, Value, Vector]:
    """β, τ and v of the reflection that maps x to (β, 0, …, 0); none (τ = 0) where x is that already."""
    first, rest = x[0], x[1:]
    if all(vanishes(v) for v in rest):
        return first, ZERO, [ONE, *[ZERO] * len(rest)]
    length = norm(x)
    beta = -length if sign(first) >= 0 else length
    return beta, (beta - first) / beta, [ONE, *times(algebra.power(first - beta, -1), rest)]


def _reflect(tau: Value, v: Vector, x: Vector) -> Vector:
    """(I − τ v vᵀ) x"""
    return plus(x, -(tau * inner(v, x)), v)


def _householder(A: Matrix) -> tuple[list[Vector], list[Value], Matrix]:
    """The vectors v (from their 1 on), the τ and R."""
    columns = transpose(A)
    m = len(A)
    vs, taus = [], []
    for i in range(min(m, len(columns))):
        beta, tau, v = _reflection(columns[i][i:])
        columns[i] = [*columns[i][:i], beta, *[ZERO] * (m - i - 1)]
        for j in range(i + 1, len(columns)):
            if tau is not ZERO:
                columns[j] = columns[j][:i] + _reflect(tau, v, columns[j][i:])
        vs.append(v)
        taus.append(tau)
    return vs, taus, transpose(columns)


@rule("geqrf")
def geqrf(A: Any) -> Any:
    """R above the diagonal, the vectors v below it (without their 1), and τ."""
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k = min(m, n)
    packed, taus = [], []
    for M in matrices(A) if k else []:
        vs, tau, R = _householder(M)
        for j, v in enumerate(vs):
            for i in range(j + 1, m):
                R[i][j] = v[i - j]
        packed.append(R)
        taus.append(tau)
    return batch(packed, lead, m, n), vectors(taus, lead, k)


def _unitary(vs: list[Vector], taus: list[Value], m: int, n: int) -> Matrix:
    """The first n columns of H₁ H₂ ⋯ for vectors of m elements."""
    columns = identity(m)[:n]
    for i in reversed(range(len(taus))):
        columns = [x[:i] + _reflect(taus[i], vs[i], x[i:]) for x in columns]
    return transpose(columns)


def _by_gram_schmidt(A: Matrix, R: Matrix) -> tuple[Matrix, Matrix] | None:
    """Q and R in Gram–Schmidt's form with the signs of this R; None where columns are dependent or not rational."""
    columns = transpose(A)
    k = min(len(A), len(columns))
    if any(v.kind != "q" for row in A for v in row):
        return None
    U = gram_schmidt(columns[:k])
    if any(all(v is ZERO for v in u) for u in U):
        return None
    lengths = [norm(u) if sign(R[i][i]) > 0 else -norm(u) for i, u in enumerate(U)]
    Q = [times(ONE / length, u) for length, u in zip(lengths, U, strict=True)]
    upper = [[inner(U[i], a) / lengths[i] if j >= i else ZERO for j, a in enumerate(columns)] for i in range(k)]
    return transpose(Q), upper


@rule("linalg_qr")
def qr(A: Any, mode: str = "reduced") -> Any:
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    Qs, Rs = [], []
    for M in matrices(A) if min(m, n) else []:
        vs, taus, R = _householder(M)
        plain = _by_gram_schmidt(M, R)
        Q = _unitary(vs, taus, m, k) if plain is None or k > min(m, n) else plain[0]
        if plain is not None:
            Q = [p + q[len(p) :] for p, q in zip(plain[0], Q, strict=True)]
            R = plain[1] + [[ZERO] * n for _ in range(m - len(plain[1]))]
        Qs.append(Q)
        Rs.append(R[:k])
    if not min(m, n):
        count = math.prod(lead)
        Qs, Rs = [[row[:k] for row in identity(m)]] * count, [[[ZERO] * n] * k] * count
    upper = batch(Rs, lead, k, n)
    return (vectors([], (), 0), upper) if mode == "r" else (batch(Qs, lead, m, k), upper)


def _unpack(V: Any, tau: Any) -> list[tuple[list[Vector], list[Value]]]:
    """The vectors (v₁ = 1 put back) and τ of every matrix of the batch."""
    k = tau.shape[-1]
    flat = values_of(payload(tau))
    found = []
    for b, M in enumerate(matrices(V)):
        vs = [[ONE, *[row[i] for row in M[i + 1 :]]] for i in range(k)]
        found.append((vs, flat[b * k : (b + 1) * k]))
    return found


@rule("linalg_householder_product")
def householder_product(V: Any, tau: Any) -> Any:
    m, n = V.shape[-2:]
    return batch([_unitary(vs, taus, m, n) for vs, taus in _unpack(V, tau)], V.shape[:-2], m, n)


@rule("ormqr")
def ormqr(V: Any, tau: Any, C: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q C, Qᵀ C, C Q or C Qᵀ, with the whole square Q."""
    m = V.shape[-2]
    Q: Any = batch([_unitary(vs, taus, m, m) for vs, taus in _unpack(V, tau)], V.shape[:-2], m, m)
    Q = Q.mT if transpose else Q
    return torch.matmul(Q, C) if left else torch.matmul(C, Q)
