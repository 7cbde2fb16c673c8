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

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import BudgetError, DomainError, ShapeError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.farkas import gordan, stiemke
from workings.exact.tensor.make import exact
from workings.nn.objectives.losses import check_labels, logistic_loss, logistic_loss_gradient

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
    _check_examples(X, y)
    A = exact(y.detach().unsqueeze(1) * X.detach())
    w, λ = gordan(A)
    return Separation(w is not None, w, λ)


def falling_direction(X: Examples, y: Labels) -> ExactTensor | None:
    """A direction with y wᵀx ≥ 0 for all examples and > 0 for some, along which L falls for ever; None if there is none.

    >>> X = torch.tensor([[1.0], [0.0]])
    >>> print(falling_direction(X, torch.tensor([1.0, -1.0])).text())
    [1]
    """
    _check_examples(X, y)
    A = exact(y.detach().unsqueeze(1) * X.detach())
    w = stiemke(A)
    return w


def along_ray(w: Vector, X: Examples, y: Labels, α: Float[Tensor, " a"]) -> Float[Tensor, " a"]:
    r"""The loss at points of the ray through `w`.

    $$L(\alpha w) = \sum_i \log\left(1 + e^{-\alpha y_i w^\top x_i}\right)$$

    >>> X, y = torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, -1.0])
    >>> along_ray(torch.tensor([1.0]), X, y, torch.tensor([0.0, 3.0]))
    tensor([1.3863, 0.0972])
    """
    if α.dim() != 1 or not len(α):
        raise ShapeError(f"Points of the ray are α₁ w, α₂ w, …, so α is a vector, but it is {[*α.shape]}.")
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
    _check_minimiser(X, y, λ)
    X, y = X.double(), y.double()
    w, I = X.new_zeros(X.shape[1]), torch.eye(X.shape[1], dtype=X.dtype)
    for step in range(steps + 1):
        g = logistic_loss_gradient(w, X, y) + λ * w
        if g.norm() <= tolerance * max(1.0, X.abs().sum().item()):
            return Fit(w, penalised_loss(w, X, y, λ), g.norm().item(), step)
        P = torch.sigmoid(X @ w)
        H = X.T @ ((P * (1 - P)).unsqueeze(1) * X) + λ * I
        direction = torch.linalg.lstsq(H, g.unsqueeze(1), driver="gelsd").solution.squeeze(1)
        w = w - step_share(direction, g, w, X, y, λ) * direction
    raise BudgetError(f"Newton's method did not reach a gradient of {tolerance:g} in {steps} steps; it is {g.norm():g}.")


def descent(X: Examples, y: Labels, rate: float, steps: int, λ: float = 0.0) -> Float[Tensor, "s d"]:
    r"""The path of gradient descent from 0, a row for each step. On separable data ‖w‖ grows like log t and w/‖w‖ converges.

    $$w \leftarrow w - \eta \frac{\partial L}{\partial w}$$

    >>> descent(torch.tensor([[1.0]]), torch.tensor([1.0]), rate=2.0, steps=1)
    tensor([[0.],
            [1.]])
    """
    _check_examples(X, y)
    if not rate > 0:
        raise DomainError(f"Gradient descent needs a rate above 0; rate = {rate:g}.")
    path = [X.new_zeros(X.shape[1])]
    for _ in range(steps):
        w = path[-1]
        g = logistic_loss_gradient(w, X, y) + λ * w
        path.append(w - rate * g)
    return torch.stack(path)


def step_share(direction: Tensor, g: Tensor, w: Tensor, X: Tensor, y: Tensor, λ: float) -> float:
    """1, 1/2, 1/4 …: the first share of the step that lowers the loss enough (Armijo 1966)."""
    L, slope = penalised_loss(w, X, y, λ), (g @ direction).item()
    rounding = 1e-14 * (1 + L)
    share = 1.0
    while share > 1e-10 and penalised_loss(w - share * direction, X, y, λ) > L - 1e-4 * share * slope + rounding:
        share /= 2
    return share


def _check_minimiser(X: Tensor, y: Tensor, λ: float) -> None:
    """Raise unless a best w exists: any λ > 0 sees to that, for the penalty outgrows what the loss can still fall."""
    if not λ >= 0:
        raise DomainError(f"A penalty λ/2 ‖w‖² needs λ ≥ 0; λ = {λ:g}.")
    w = None if λ else falling_direction(X, y)
    if w is not None:
        raise DomainError(
            f"Σ log(1 + exp(−y wᵀx)) has no minimiser on these data: it falls for ever along w = {w.text()}. "
            "Add a penalty, as in λ=1, or watch it fall with descent(…)."
        )


def _check_examples(X: Tensor, y: Tensor) -> None:
    """Refuse no examples, and labels that are not ±1 for each."""
    check_labels(torch.zeros(X.shape[1:]), X, y)
    if not len(X):
        raise DomainError("Separability is a question about examples; X has none.")
