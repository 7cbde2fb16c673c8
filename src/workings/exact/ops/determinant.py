"""Determinants and adjugates, written out while they are small: ad − bc, and A⁻¹ = adj A / det A.

det A = Σ_j (−1)^j a₀ⱼ det(A without row 0 and column j)
(adj A)ᵢⱼ = (−1)^{i+j} det(A without row j and column i)
"""

from __future__ import annotations

from workings.exact.numbers import algebra
from workings.exact.numbers.value import NAN, ONE, ZERO, Value, rational
from workings.exact.ops.matrix import Matrix, plus, rationals, vanishes

WRITTEN_OUT = 4
"""Matrices of up to this many rows are written out; beyond it the terms are too many, and elimination takes over."""


def determinant(A: Matrix) -> Value:
    """det A: of rational numbers at once, of formulas written out or by elimination."""
    if all(v.kind == "q" for row in A for v in row):
        return rational(rationals(A, "The determinant").det())
    if any(v.special for row in A for v in row):
        return NAN
    return _expansion(A) if len(A) <= WRITTEN_OUT else _by_elimination(A)


def _without(A: Matrix, i: int, j: int) -> Matrix:
    return [row[:j] + row[j + 1 :] for k, row in enumerate(A) if k != i]


def _expansion(A: Matrix) -> Value:
    if not A:
        return ONE
    terms = [algebra.scale(v * _expansion(_without(A, 0, j)), (-1) ** j) for j, v in enumerate(A[0]) if v is not ZERO]
    return algebra.add_all(terms)


def _by_elimination(A: Matrix) -> Value:
    """The product of the pivots, with a change of sign for each exchange of rows."""
    rows, out = [list(row) for row in A], ONE
    for i in range(len(rows)):
        p = next((k for k in range(i, len(rows)) if not vanishes(rows[k][i])), None)
        if p is None:
            return ZERO
        if p != i:
            rows[i], rows[p], out = rows[p], rows[i], -out
        out = out * rows[i][i]
        for k in range(i + 1, len(rows)):
            rows[k] = plus(rows[k], -(rows[k][i] / rows[i][i]), rows[i])
    return out


def adjugate(A: Matrix) -> Matrix:
    """The matrix with A adj A = (det A) I."""
    n = range(len(A))
    return [[algebra.scale(_expansion(_without(A, j, i)), (-1) ** (i + j)) for j in n] for i in n]
