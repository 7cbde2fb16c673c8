"""Least squares and the Moore–Penrose inverse, without singular values where no tolerance asks for them.

    A = C R                       C: the pivot columns of A, R: the non-zero rows of its reduced echelon form
    A⁺ = Rᵀ (R Rᵀ)⁻¹ (Cᵀ C)⁻¹ Cᵀ
    A⁺ = Σ vᵢ uᵢᵀ / σᵢ            over σᵢ > max(atol, rtol σ₁), where the caller sets a tolerance

The letters are those of A = U Σ Vᵀ (`spectral.py`).
"""

from __future__ import annotations

from typing import Any

import torch

from workings.exact.dispatch.operation import rule, wrap
from workings.exact.dispatch.scalar import CHOICES
from workings.exact.numbers import algebra
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import ZERO, Value
from workings.exact.ops.linalg import exact_tensor, is_vector, solve
from workings.exact.ops.matrix import Matrix, batch, echelon, matrices, product, transpose, vectors
from workings.exact.ops.spectral import exact_svd
from workings.exact.tensor.arena import values_of
from workings.exact.tensor.lift import lift_number, payload


def _rank(A: Matrix) -> int:
    """The rank, by elimination."""
    return len(echelon(A)[1])


def _pseudoinverse(A: Matrix, n: int) -> Matrix:
    rows, pivots = echelon(A)
    if not pivots:
        return [[ZERO] * len(A) for _ in range(n)]
    C, R = [[row[j] for j in pivots] for row in A], rows
    r = len(pivots)
    left = solve(batch([product(transpose(C), C)], (), r, r), batch([transpose(C)], (), r, len(A)))
    right = solve(batch([product(R, transpose(R))], (), r, r), left)
    return product(transpose(R), matrices(right)[0])


def _rank_above(sigma: list[Value], atol: Value, rtol: Value) -> int:
    """How many singular values (they descend) exceed the tolerance."""
    limit = CHOICES["maximum"](atol, rtol * sigma[0]) if sigma else ZERO
    return sum(compare(s, limit) > 0 for s in sigma)


def _truncated_pseudoinverse(A: Matrix, n: int, atol: Value, rtol: Value) -> Matrix:
    U, sigma, V = exact_svd(A, with_vectors=True)
    kept = range(_rank_above(sigma, atol, rtol))
    if not kept:
        return [[ZERO] * len(A) for _ in range(n)]
    scaled = [[v * algebra.power(sigma[i], -1) for v in V[i]] for i in kept]
    return product(transpose(scaled), [U[i] for i in kept])


@rule("linalg_pinv.atol_rtol_tensor")
def pinv(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The exact pseudoinverse: by default nothing but a zero counts as a zero singular value."""
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    if hermitian:
        A = A.tril() + A.tril(-1).mT
    if atol is None and rtol is None:
        return batch([_pseudoinverse(M, n) for M in matrices(A)], lead, n, m)
    limits = [_spread(t, lead) for t in (atol, rtol)]
    found = [_truncated_pseudoinverse(M, n, a, r) for M, a, r in zip(matrices(A), *limits, strict=True)]
    return batch(found, lead, n, m)


def _spread(tolerance: Any, lead: torch.Size) -> list[Value]:
    t = torch.zeros(()) if tolerance is None else tolerance
    return values_of(payload(t).expand(lead))


_WITH_RANK = frozenset({"gelsy", "gelss", "gelsd"})
_WITH_SINGULAR_VALUES = frozenset({"gelss", "gelsd"})


@rule("linalg_lstsq")
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """X = A⁺ B; the sums of squares that remain (full rank, more rows than columns); the rank; the singular values."""
    driver = driver or "gelsy"
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    vector = is_vector(B, A)
    B = exact_tensor(B).unsqueeze(-1) if vector else exact_tensor(B)
    found = matrices(A)
    tolerance = None if rcond is None or rcond < 0 or driver == "gels" else lift_number(rcond)
    if tolerance is None:
        ranks, inverse = [_rank(M) for M in found], pinv(A)
    else:
        ranks = [_rank_above(exact_svd(M, with_vectors=False)[1], ZERO, tolerance) for M in found]
        inverse = pinv(A, rtol=wrap(payload(tolerance)))
    X = torch.matmul(inverse, B)
    residuals = wrap(torch.zeros(0, dtype=torch.float64))
    if m > n and driver != "gelsy" and all(r == n for r in ranks):
        residuals = (torch.matmul(exact_tensor(A), X) - B).square().sum(-2)
    numbers = torch.tensor(ranks if driver in _WITH_RANK else [], dtype=torch.int64)
    numbers = numbers.reshape(lead) if driver in _WITH_RANK else numbers
    sigma = [exact_svd(M, with_vectors=False)[1] for M in found] if driver in _WITH_SINGULAR_VALUES else []
    singular_values = vectors(sigma, lead, min(m, n)) if sigma else vectors([], (), 0)
    return (X.squeeze(-1) if vector else X), residuals, numbers, singular_values
