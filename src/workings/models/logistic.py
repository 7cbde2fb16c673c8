r"""Logistic regression, and whether it has a solution at all.

    L(w) = Σ log(1 + e^(−y wᵀx)) + λ/2 ‖w‖²,   y = ±1

Put A = diag(y) X. Exactly one of the two holds in each line:

    A w > 0 for some w          or   λᵀA = 0 for some λ ≥ 0 with Σλ = 1      separable, or not (Gordan 1873)
    A w ≥ 0, ≠ 0 for some w     or   λᵀA = 0 for some λ > 0                  (Stiemke 1915)

In the first case of either line L falls for ever along w, so without a penalty (λ = 0) no w is the best one. The test is a
linear programme in exact fractions: its answer is a proof, w or λ, that anybody can check.

Axes: n examples, d features (a column of ones makes an intercept).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import torch
from flint import fmpq, fmpq_mat
from jaxtyping import Float
from torch import Tensor

from workings.errors import BudgetError, DomainError
from workings.exact.make import exact
from workings.exact.tensor import ExactTensor
from workings.nn.losses import labels, logistic_loss, logistic_loss_gradient

Examples = Float[Tensor, "n d"]
Labels = Float[Tensor, " n"]
Vector = Float[Tensor, " d"]
Scalar = Float[Tensor, ""]


class Separation(NamedTuple):
    """Either `w` with y wᵀx > 0 for every example, or the certificate λ that there is none. True if separable."""

    separable: bool
    w: ExactTensor | None
    certificate: ExactTensor | None

    def __bool__(self) -> bool:
        return self.separable


class Fit(NamedTuple):
    """The weights found, the loss there with its penalty, the length of its gradient, and the steps taken."""

    w: Vector
    loss: Scalar
    gradient: float
    steps: int


def separation(X: Examples, y: Labels) -> Separation:
    """Whether some w has y wᵀx > 0 for every example, with the proof.

    >>> X = torch.tensor([[1.0, 2.0], [1.0, -1.0], [1.0, -3.0]])
    >>> bool(separation(X, torch.tensor([1.0, -1.0, -1.0])))
    True
    >>> print(separation(X, torch.tensor([1.0, -1.0, 1.0])).certificate.text())
    [1/5  1/2  3/10]
    """
    A = signed(X, y)
    n, d = A.nrows(), A.ncols()
    M = fmpq_mat(d + 1, n, [*A.transpose().entries(), *[fmpq(1)] * n])
    b = [fmpq(0)] * d + [fmpq(1)]
    found, v = farkas(M, b)
    if found:
        return Separation(False, None, as_tensor(v))
    return Separation(True, as_tensor([-u for u in v[:d]]), None)


def falling_direction(X: Examples, y: Labels) -> ExactTensor | None:
    """A direction with y wᵀx ≥ 0 for all examples and > 0 for some, along which L falls for ever; None if there is none.

    >>> X = torch.tensor([[1.0], [0.0]])
    >>> print(falling_direction(X, torch.tensor([1.0, -1.0])).text())
    [1]
    """
    M = signed(X, y).transpose()
    b = [-sum((M[i, j] for j in range(M.ncols())), fmpq(0)) for i in range(M.nrows())]
    found, v = farkas(M, b)
    return None if found else as_tensor([-u for u in v])


def along_ray(w: Vector, X: Examples, y: Labels, α: Float[Tensor, " a"]) -> Float[Tensor, " a"]:
    r"""The loss at points of the ray through `w`.

    $$L(\alpha w) = \sum_i \log\left(1 + e^{-\alpha y_i w^\top x_i}\right)$$

    >>> X, y = torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, -1.0])
    >>> along_ray(torch.tensor([1.0]), X, y, torch.tensor([0.0, 3.0]))
    tensor([1.3863, 0.0972])
    """
    return torch.stack([logistic_loss(a * w, X, y) for a in α])


def penalised_loss(w: Vector, X: Examples, y: Labels, λ: float) -> Scalar:
    r"""$$L + \frac\lambda2 \lVert w \rVert^2$$"""
    L = logistic_loss(w, X, y) + λ / 2 * (w @ w)
    return L


def newton(X: Examples, y: Labels, λ: float = 0.0, steps: int = 100, tolerance: float = 1e-10) -> Fit:
    r"""The minimiser, by Newton's method with halved steps where the full one would climb.

    $$w \leftarrow w - H^{-1} g \qquad g = X^\top(P - t) + \lambda w
      \qquad H = X^\top \operatorname{diag}(P(1 - P)) X + \lambda I$$

    Without a penalty the data must have a minimiser; if they do not, the error names the direction.

    >>> X = torch.tensor([[1.0], [1.0], [1.0]], dtype=torch.float64)
    >>> newton(X, torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)).w  # two of three are +1: σ(w) = 2/3
    tensor([0.6931], dtype=torch.float64)
    """
    has_minimiser(X, y, λ)
    X, y = X.double(), y.double()
    w, I = X.new_zeros(X.shape[1]), torch.eye(X.shape[1], dtype=X.dtype)
    for step in range(steps + 1):
        g = logistic_loss_gradient(w, X, y) + λ * w
        if g.norm() <= tolerance * max(1.0, X.abs().sum().item()):
            return Fit(w, penalised_loss(w, X, y, λ), g.norm().item(), step)
        P = torch.sigmoid(X @ w)
        H = X.T @ ((P * (1 - P)).unsqueeze(1) * X) + λ * I
        direction = torch.linalg.lstsq(H, g.unsqueeze(1), driver="gelsd").solution.squeeze(1)
        w = w - halved(direction, g, w, X, y, λ) * direction
    raise BudgetError(f"Newton's method did not reach a gradient of {tolerance:g} in {steps} steps; it is {g.norm():g}.")


def descent(X: Examples, y: Labels, rate: float, steps: int, λ: float = 0.0) -> Float[Tensor, "s d"]:
    r"""The path of gradient descent from 0, a row for each step. On separable data ‖w‖ grows like log t and w/‖w‖ converges.

    $$w \leftarrow w - \eta \frac{\partial L}{\partial w}$$

    >>> descent(torch.tensor([[1.0]]), torch.tensor([1.0]), rate=2.0, steps=1)
    tensor([[0.],
            [1.]])
    """
    if not rate > 0:
        raise DomainError(f"Gradient descent needs a rate above 0; rate = {rate:g}.")
    path = [X.new_zeros(X.shape[1])]
    for _ in range(steps):
        w = path[-1]
        g = logistic_loss_gradient(w, X, y) + λ * w
        path.append(w - rate * g)
    return torch.stack(path)


def halved(direction: Tensor, g: Tensor, w: Tensor, X: Tensor, y: Tensor, λ: float) -> float:
    """1, 1/2, 1/4 …: the first share of the step that lowers the loss enough (Armijo 1966)."""
    L, slope = penalised_loss(w, X, y, λ), (g @ direction).item()
    rounding = 1e-14 * (1 + L)
    share = 1.0
    while share > 1e-10 and penalised_loss(w - share * direction, X, y, λ) > L - 1e-4 * share * slope + rounding:
        share /= 2
    return share


def has_minimiser(X: Tensor, y: Tensor, λ: float) -> None:
    """Raise unless a best w exists: any λ > 0 sees to that, for the penalty outgrows what the loss can still fall."""
    if not λ >= 0:
        raise DomainError(f"A penalty λ/2 ‖w‖² needs λ ≥ 0; λ = {λ:g}.")
    w = None if λ else falling_direction(X, y)
    if w is not None:
        raise DomainError(
            f"Σ log(1 + exp(−y wᵀx)) has no minimiser on these data: it falls for ever along w = {w.text()}. "
            "Add a penalty, as in λ=1, or watch it fall with descent(…)."
        )


def signed(X: Tensor, y: Tensor) -> fmpq_mat:
    """diag(y) X in exact fractions."""
    y = labels(torch.zeros(X.shape[1:]), X, y)
    if not len(X):
        raise DomainError("Separability is a question about examples; X has none.")
    rows = exact(y.detach().unsqueeze(1) * X.detach()).fraction()
    return fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in rows])


def as_tensor(values: list[fmpq]) -> ExactTensor:
    return exact([Fraction(int(v.p), int(v.q)) for v in values])


def farkas(M: fmpq_mat, b: list[fmpq]) -> tuple[bool, list[fmpq]]:
    """Either (True, μ) with M μ = b and μ ≥ 0, or (False, u) with uᵀM ≤ 0 and u·b > 0, in exact fractions.

    The first phase of the simplex method on [M I], with Bland's rule (1977), which cannot cycle: artificial variables are
    driven down to 0, or as far as they go; then the dual u is the proof that they go no further. It starts where floats end.
    """
    m, n = M.nrows(), M.ncols()
    signs = [fmpq(-1) if v < 0 else fmpq(1) for v in b]
    M = fmpq_mat(m, n, [signs[i] * M[i, j] for i in range(m) for j in range(n)])
    basis, inverse, values = starting_point(M, [s * v for s, v in zip(signs, b, strict=True)])
    while True:
        u = fmpq_mat(1, m, [fmpq(int(k >= n)) for k in basis]) * inverse
        enter = next((j for j, gain in enumerate((u * M).entries()) if gain > 0), None)
        if enter is None:
            break
        column = (inverse * fmpq_mat(m, 1, [M[i, enter] for i in range(m)])).entries()
        leave = min((values[i] / column[i], basis[i], i) for i in range(m) if column[i] > 0)[2]
        pivot(inverse, values, column, leave)
        basis[leave] = enter
    if any(k >= n and v > 0 for k, v in zip(basis, values, strict=True)):
        return False, [s * v for s, v in zip(signs, u.entries(), strict=True)]
    μ = dict(zip(basis, values, strict=True))
    return True, [μ.get(j, fmpq(0)) for j in range(n)]


def pivot(inverse: fmpq_mat, values: list[fmpq], column: list[fmpq], row: int) -> None:
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


def starting_point(M: fmpq_mat, b: list[fmpq]) -> tuple[list[int], fmpq_mat, list[fmpq]]:
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
    T = torch.tensor([[float(Fraction(int(v.p), int(v.q))) for v in row] for row in M.tolist()], dtype=torch.float64)
    scale = T.abs().amax(dim=1, keepdim=True).clamp(min=1e-300)
    moved = torch.tensor([float(Fraction(int(v.p), int(v.q))) for v in b], dtype=torch.float64) / scale[:, 0]
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
