"""Linear inequalities in exact fractions: a solution, or the proof that there is none (Farkas 1902; Gordan 1873).

M μ = b, μ ≥ 0     or     uᵀM ≤ 0, u·b > 0      exactly one has a solution
A w > 0            or     λᵀA = 0, λ ≥ 0, Σλ = 1
A w ≥ 0, ≠ 0       or     λᵀA = 0, λ > 0         (Stiemke 1915)
"""

from __future__ import annotations

from fractions import Fraction

import torch
from flint import fmpq, fmpq_mat

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.make import exact


def gordan(A: ExactTensor) -> tuple[ExactTensor | None, ExactTensor | None]:
    """(w, None) with A w > 0, or (None, λ) with λᵀA = 0, λ ≥ 0 and Σλ = 1.

    >>> w, λ = gordan(exact("1; -2"))
    >>> print(λ.text())
    [2/3  1/3]
    """
    rows = _fractions(A)
    n, d = rows.nrows(), rows.ncols()
    M = fmpq_mat(d + 1, n, [*rows.transpose().entries(), *[fmpq(1)] * n])
    found, v = _farkas(M, [fmpq(0)] * d + [fmpq(1)])
    return (None, _as_tensor(v)) if found else (_as_tensor([-u for u in v[:d]]), None)


def stiemke(A: ExactTensor) -> ExactTensor | None:
    """w with A w ≥ 0 and A w ≠ 0; None if there is none.

    >>> print(stiemke(exact("1; 0")).text())
    [1]
    """
    M = _fractions(A).transpose()
    b = [-sum((M[i, j] for j in range(M.ncols())), fmpq(0)) for i in range(M.nrows())]
    found, v = _farkas(M, b)
    return None if found else _as_tensor([-u for u in v])


def _fractions(A: ExactTensor) -> fmpq_mat:
    """A matrix of numbers as one of fractions."""
    return fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in A.fraction()])


def _as_tensor(values: list[fmpq]) -> ExactTensor:
    return exact([Fraction(int(v.p), int(v.q)) for v in values])


def _farkas(M: fmpq_mat, b: list[fmpq]) -> tuple[bool, list[fmpq]]:
    """Either (True, μ) with M μ = b and μ ≥ 0, or (False, u) with uᵀM ≤ 0 and u·b > 0, in exact fractions.

    The first phase of the simplex method on [M I], with Bland's rule (1977), which cannot cycle: artificial variables are
    driven down to 0, or as far as they go; then the dual u is the proof that they go no further. It starts where floats end.
    """
    m, n = M.nrows(), M.ncols()
    signs = [fmpq(-1) if v < 0 else fmpq(1) for v in b]
    M = fmpq_mat(m, n, [signs[i] * M[i, j] for i in range(m) for j in range(n)])
    basis, inverse, values = _starting_point(M, [s * v for s, v in zip(signs, b, strict=True)])
    while True:
        u = fmpq_mat(1, m, [fmpq(int(k >= n)) for k in basis]) * inverse
        enter = next((j for j, gain in enumerate((u * M).entries()) if gain > 0), None)
        if enter is None:
            break
        column = (inverse * fmpq_mat(m, 1, [M[i, enter] for i in range(m)])).entries()
        leave = min((values[i] / column[i], basis[i], i) for i in range(m) if column[i] > 0)[2]
        _pivot(inverse, values, column, leave)
        basis[leave] = enter
    if any(k >= n and v > 0 for k, v in zip(basis, values, strict=True)):
        return False, [s * v for s, v in zip(signs, u.entries(), strict=True)]
    μ = dict(zip(basis, values, strict=True))
    return True, [μ.get(j, fmpq(0)) for j in range(n)]


def _pivot(inverse: fmpq_mat, values: list[fmpq], column: list[fmpq], row: int) -> None:
    """Bring a column into the basis in place of the one of `row`, in place."""
    m = len(values)
    top = [inverse[row, j] / column[row] for j in range(m)]
    value = values[row] / column[row]
    for i in range(m):
        if i != row and column[i] != 0:
            for j in range(m):
                inverse[i, j] -= column[i] * top[j]
            values[i] -= column[i] * value
    for j in range(m):
        inverse[row, j] = top[j]
    values[row] = value


def _starting_point(M: fmpq_mat, b: list[fmpq]) -> tuple[list[int], fmpq_mat, list[fmpq]]:
    """A basis of [M I], its exact inverse and its values ≥ 0: the one that floats find, else the artificial one."""
    m, n = M.nrows(), M.ncols()
    for basis in (float_basis(M, b), [n + i for i in range(m)]):
        B = fmpq_mat(m, m, [M[i, k] if k < n else fmpq(int(i == k - n)) for i in range(m) for k in basis])
        if B.det() != 0:
            inverse = B.inv()
            values = (inverse * fmpq_mat(m, 1, b)).entries()
            if min(values) >= 0:
                break
    return basis, inverse, values


def float_basis(M: fmpq_mat, b: list[fmpq], small: float = 1e-9) -> list[int]:
    """Where the simplex method ends in float64, on rows scaled to 1 and a slightly moved `b`, which has no ties."""
    m, n = M.nrows(), M.ncols()
    T = torch.tensor([[int(v.p) / int(v.q) for v in row] for row in M.tolist()], dtype=torch.float64)
    scale = T.abs().amax(dim=1, keepdim=True).clamp(min=1e-300)
    moved = torch.tensor([int(v.p) / int(v.q) for v in b], dtype=torch.float64) / scale[:, 0]
    moved = moved + 1e-6 * torch.linspace(1, 2, m, dtype=torch.float64).sqrt()
    T = torch.cat([T / scale, torch.eye(m, dtype=torch.float64), moved.unsqueeze(1)], dim=1)
    basis = [n + i for i in range(m)]
    for _ in range(20 * (m + n)):
        gains = T[[i for i, k in enumerate(basis) if k >= n], :n].sum(dim=0)
        if not len(gains) or gains.max() <= small:
            break
        enter = int(gains.argmax())
        ratios = torch.where(T[:, enter] > small, T[:, -1] / T[:, enter], torch.inf)
        leave = int(ratios.argmin())
        T[leave] /= T[leave, enter].clone()
        others = torch.arange(m) != leave
        T[others] -= T[others, enter].unsqueeze(1) * T[leave]
        basis[leave] = enter
    return basis
