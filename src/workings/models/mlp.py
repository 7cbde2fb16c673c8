r"""A network with one hidden layer, its gradients written out, and a check of any gradient.

    h = σ(x W₁ + b₁)
    ŷ = softmax(h W₂ + b₂)
    J = −Σ y log ŷ

    δ₂ = ŷ − y                           ∂J/∂W₂ = hᵀ δ₂    ∂J/∂b₂ = Σ δ₂
    δ₁ = (δ₂ W₂ᵀ) ⊙ h ⊙ (1 − h)          ∂J/∂W₁ = xᵀ δ₁    ∂J/∂b₁ = Σ δ₁
    ∂J/∂x = δ₁ W₁ᵀ

Axes: b examples, i inputs, h hidden units, c classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_indices, check_shapes
from workings.nn.objectives.losses import cross_entropy

Values = Float[Tensor, "..."]


class Weights(NamedTuple):
    """The parameters of the network, or a gradient for each."""

    W_1: Float[Tensor, "i h"]
    b_1: Float[Tensor, " h"]
    W_2: Float[Tensor, "h c"]
    b_2: Float[Tensor, " c"]


class Gradients(NamedTuple):
    """The loss, and its derivative by the input and by each parameter."""

    J: Float[Tensor, ""]
    x: Float[Tensor, "b i"]
    W_1: Float[Tensor, "i h"]
    b_1: Float[Tensor, " h"]
    W_2: Float[Tensor, "h c"]
    b_2: Float[Tensor, " c"]


def forward(x: Float[Tensor, "b i"], weights: Weights) -> tuple[Float[Tensor, "b h"], Float[Tensor, "b c"]]:
    r"""The hidden layer and the predicted probabilities.

    $$h = \sigma(x W_1 + b_1) \qquad \hat y = \operatorname{softmax}(h W_2 + b_2)$$
    """
    check_shapes(forward, x, weights)
    W_1, b_1, W_2, b_2 = weights
    h = torch.sigmoid(x @ W_1 + b_1)
    ŷ = torch.softmax(h @ W_2 + b_2, dim=-1)
    return h, ŷ


def loss(x: Float[Tensor, "b i"], y: Float[Tensor, "b c"], weights: Weights) -> Float[Tensor, ""]:
    r"""Cross-entropy, added up over the examples.

    $$J = -\sum y \log \hat y$$
    """
    check_shapes(loss, x, y, weights)
    W_1, b_1, W_2, b_2 = weights
    h = torch.sigmoid(x @ W_1 + b_1)
    log_ŷ = torch.log_softmax(h @ W_2 + b_2, dim=-1)
    J = -(y * log_ŷ).sum()
    return J


def gradients(x: Float[Tensor, "b i"], y: Float[Tensor, "b c"], weights: Weights) -> Gradients:
    r"""The loss and all its gradients, by hand.

    $$\frac{\partial J}{\partial x} = \big[((\hat y - y) W_2^\top) \odot h \odot (1 - h)\big] W_1^\top$$

    >>> zero, one = torch.zeros(1), torch.ones(1, 1)
    >>> weights = Weights(one, zero, torch.tensor([[1.0, 0.0]]), torch.zeros(2))
    >>> gradients(torch.zeros(1, 1), torch.tensor([[0.0, 1.0]]), weights).b_2
    tensor([ 0.6225, -0.6225])
    """
    check_shapes(gradients, x, y, weights)
    W_1, b_1, W_2, b_2 = weights
    h = torch.sigmoid(x @ W_1 + b_1)
    θ = h @ W_2 + b_2
    ŷ = torch.softmax(θ, dim=-1)
    J = -(y * torch.log_softmax(θ, dim=-1)).sum()
    δ_2 = ŷ - y
    dW_2 = h.T @ δ_2
    db_2 = δ_2.sum(dim=0)
    δ_1 = (δ_2 @ W_2.T) * h * (1 - h)
    dW_1 = x.T @ δ_1
    db_1 = δ_1.sum(dim=0)
    dx = δ_1 @ W_1.T
    return Gradients(J, dx, dW_1, db_1, dW_2, db_2)


class MLP(nn.Module):
    """The network as a module: `forward` gives the scores h W₂ + b₂, whose softmax is ŷ.

    >>> MLP(4, 8, 3)(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        if min(inputs, hidden, classes) < 1:
            raise ShapeError(
                f"Each layer needs at least one unit: inputs = {inputs}, hidden = {hidden}, classes = {classes}."
            )
        self.W_1 = nn.Parameter(torch.empty(inputs, hidden))
        self.b_1 = nn.Parameter(torch.zeros(hidden))
        self.W_2 = nn.Parameter(torch.empty(hidden, classes))
        self.b_2 = nn.Parameter(torch.zeros(classes))
        nn.init.xavier_normal_(self.W_1)
        nn.init.xavier_normal_(self.W_2)

    @property
    def weights(self) -> Weights:
        """The parameters as `forward`, `loss` and `gradients` take them."""
        return Weights(self.W_1, self.b_1, self.W_2, self.b_2)

    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b c"]:
        if x.shape[-1:] != self.W_1.shape[:1]:
            raise ShapeError(f"x W₁ needs x with {len(self.W_1)} inputs in each row, but x is {[*x.shape]}.")
        h = torch.sigmoid(x @ self.W_1 + self.b_1)
        θ = h @ self.W_2 + self.b_2
        return θ

    def loss(self, x: Float[Tensor, "b i"], y: Tensor) -> Float[Tensor, ""]:
        """The mean cross-entropy of class indices, or of probabilities."""
        θ = self(x)
        if y.shape != (θ.shape if y.is_floating_point() else θ.shape[:-1]):
            raise ShapeError(
                f"−Σ y log ŷ needs a class for each row of x, {[*θ.shape[:-1]]}, or its probabilities, {[*θ.shape]}; "
                f"y is {[*y.shape]}."
            )
        if not y.is_floating_point():
            check_indices("Classes", y, θ.shape[-1])
        return cross_entropy(θ, y)


class GradientCheck(NamedTuple):
    """A gradient beside its finite differences, and where they differ most. True if they agree."""

    agrees: bool
    error: float
    at: tuple[int, ...]
    gradient: Tensor
    differences: Tensor

    def __bool__(self) -> bool:
        return self.agrees


def check_gradient(
    f: Callable[[Tensor], Tensor], x: Values, gradient: Values | None = None, tolerance: float = 1e-6, step: float = 1e-5
) -> GradientCheck:
    r"""Compare `gradient` (autograd's, if none is given) with central differences of `f` at `x`.

    $$\frac{\partial f}{\partial x_i} \approx \frac{f(x + \varepsilon e_i) - f(x - \varepsilon e_i)}{2 \varepsilon}$$

    The error is relative where the derivative is larger than 1.

    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> bool(check_gradient(lambda x: (x**3).sum(), x, 3 * x**2))
    True
    >>> check_gradient(lambda x: (x**3).sum(), x, 6 * x).at  # 3x² is (3, 12)
    (0,)
    """
    x = x.detach().clone()
    if x.dtype != torch.float64:
        raise DomainError(
            f"Finite differences need float64, or rounding hides the derivative; x is {x.dtype}. Use x.double()."
        )
    if f(x).shape != ():
        raise ShapeError(f"A gradient is that of one number, but f(x) is {[*f(x).shape]}.")
    if gradient is None:
        gradient = torch.func.grad(f)(x)
    if gradient.shape != x.shape:
        raise ShapeError(f"A gradient has the shape of x: x is {[*x.shape]}, the gradient is {[*gradient.shape]}.")
    with torch.no_grad():
        differences = central_differences(f, x, step)
    errors = (gradient - differences).abs() / differences.abs().clamp(min=1)
    worst = int(errors.nan_to_num(nan=torch.inf).argmax()) if x.numel() else 0
    error = errors.flatten()[worst].item() if x.numel() else 0.0
    at = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), x.shape)) if x.numel() else ()
    return GradientCheck(error <= tolerance, error, at, gradient, differences)


def central_differences(f: Callable[[Tensor], Tensor], x: Tensor, step: float) -> Tensor:
    """(f(x + ε) − f(x − ε)) / 2ε for each entry of `x` in turn."""
    D = torch.empty_like(x)
    for i in range(x.numel()):
        ε = torch.zeros_like(x)
        ε.view(-1)[i] = step
        D.view(-1)[i] = (f(x + ε) - f(x - ε)) / (2 * step)
    return D
