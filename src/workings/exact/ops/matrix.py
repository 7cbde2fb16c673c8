"""Matrices as lists of rows of values: what the factorisations share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from flint import fmpq_mat

from workings.errors import DomainError
from workings.exact.dispatch.operation import wrap
from workings.exact.numbers import algebra
from workings.exact.numbers.proof import is_proved_zero
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.sign import sign
from workings.exact.numbers.value import HALF, ONE, ZERO, Value, rational
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import payload
from workings.exact.typeset.text import text

Vector = list[Value]
Matrix = list[Vector]


def matrices(x: Any) -> list[Matrix]:
    """The matrices of a batch, in row-major order of the leading axes."""
    p = payload(x)
    m, n = p.shape[-2:]
    flat = values_of(p)
    rows = [flat[i * n : (i + 1) * n] for i in range(math.prod(p.shape[:-1]))]
    return [rows[i * m : (i + 1) * m] for i in range(math.prod(p.shape[:-2]))]


def batch(found: Sequence[Matrix], lead: Sequence[int], m: int, n: int) -> ExactTensor:
    """These matrices of m rows and n columns as one tensor with the leading axes `lead`."""
    return wrap(payload_of([v for A in found for row in A for v in row], (*lead, m, n)))


def vectors(found: Sequence[Vector], lead: Sequence[int], n: int) -> ExactTensor:
    """These vectors of n elements as one tensor."""
    return wrap(payload_of([v for x in found for v in x], (*lead, n)))


def vanishes(v: Value) -> bool:
    """Whether v = 0. Letters are generic: a formula in letters vanishes only where that is proved."""
    return v is ZERO or (is_proved_zero(v) if v.free else v.kind != "q" and sign(v) == 0)


def transpose(A: Matrix) -> Matrix:
    return [list(column) for column in zip(*A, strict=True)]


def inner(x: Vector, y: Vector) -> Value:
    """Σ xᵢ yᵢ"""
    return algebra.dot(tuple(x), tuple(y))


def norm(x: Vector) -> Value:
    """√Σ xᵢ²"""
    return algebra.power(inner(x, x), HALF)


def plus(x: Vector, c: Value, y: Vector) -> Vector:
    """x + c y"""
    return [a + c * b for a, b in zip(x, y, strict=True)]


def times(c: Value, x: Vector) -> Vector:
    return [c * a for a in x]


def product(A: Matrix, B: Matrix) -> Matrix:
    columns = transpose(B)
    return [[inner(row, column) for column in columns] for row in A]


def identity(n: int) -> Matrix:
    return [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]


def gram_schmidt(columns: Sequence[Vector]) -> list[Vector]:
    """Gram–Schmidt without normalisation: uᵢ = aᵢ − Σ (aᵢ·uⱼ / uⱼ·uⱼ) uⱼ. Rational vectors stay rational."""
    found: list[Vector] = []
    for a in columns:
        u = a
        for w in found:
            if any(v is not ZERO for v in w):
                u = plus(u, -(inner(a, w) / inner(w, w)), w)
        found.append([ZERO] * len(u) if all(vanishes(v) for v in u) else u)
    return found


def rationals(A: Matrix, what: str) -> fmpq_mat:
    """The matrix in FLINT's form, where every element is a rational number."""
    for row in A:
        for v in row:
            if v.kind != "q":
                raise DomainError(
                    f"{what} is found exactly for matrices of rational numbers; this one holds {text(v)}. "
                    "Leave exact values before this step with x.float64()."
                )
    n = len(A[0]) if A else 0
    return fmpq_mat(len(A), n, [v.args[0] for row in A for v in row])


def from_rationals(A: fmpq_mat) -> Matrix:
    return [[rational(A[i, j]) for j in range(A.ncols())] for i in range(A.nrows())]


def echelon(A: Matrix, n: int | None = None) -> tuple[Matrix, list[int]]:
    """The non-zero rows of the reduced row echelon form, and the columns of their leading ones, among the first n."""
    rows, pivots = [list(row) for row in A], list[int]()
    for j in range(n if n is not None else len(A[0]) if A else 0):
        i = len(pivots)
        p = next((k for k in range(i, len(rows)) if not vanishes(rows[k][j])), None)
        if p is None:
            continue
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = times(algebra.power(rows[i][j], -1), rows[i])
        rows = [row if k == i else plus(row, -row[j], rows[i]) for k, row in enumerate(rows)]
        pivots.append(j)
    return rows[: len(pivots)], pivots


def kernel(A: Matrix, n: int) -> list[Vector]:
    """A basis of the vectors x of n elements with A x = 0."""
    rows, pivots = echelon(A)
    basis = []
    for j in (j for j in range(n) if j not in pivots):
        x = [ONE if k == j else ZERO for k in range(n)]
        for row, pivot in zip(rows, pivots, strict=True):
            x[pivot] = -row[j]
        basis.append(x)
    return basis


def floats(A: Matrix) -> torch.Tensor:
    """The nearest doubles."""
    return torch.tensor([[to_float(v) for v in row] for row in A], dtype=torch.float64)
