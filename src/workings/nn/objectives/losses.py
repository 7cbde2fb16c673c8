r"""Losses, and their gradients written out.

    ŷ = softmax(θ)
    J = −Σ y log ŷ                           cross-entropy
    ∂ŷ_i/∂θ_j = ŷ_i (δ_ij − ŷ_j)             softmax's own derivative
    ∂J/∂θ_j = Σ_i ∂J/∂ŷ_i ∂ŷ_i/∂θ_j = ŷ_j − y_j

    J = ½ (ŷ − y)²                           squared loss
    L = Σ log(1 + e^(−y wᵀx))                logistic loss, y = ±1
    ∂L/∂w = Xᵀ (P − t)                       P = σ(Xw), t = (1 + y)/2

Axes: b batch, c classes, n examples, d features.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from workings import equations as textbook
from workings.equations.layers import is_steep
from workings.errors import DomainError, ShapeError
from workings.fused import fused
from workings.nn.fits import check_shapes, is_repeatable
from workings.nn.temperature import softmax_jacobian

Scalar = Float[Tensor, ""]
Answer = Float[Tensor, "*#b c"] | Int[Tensor, "*#b c"]


def cross_entropy_kernel(
    z: Tensor,
    y: Tensor,
    w: Tensor | None = None,
    ignore: int = -100,
    reduction: str = "mean",
    smoothing: float = 0.0,
) -> Tensor:
    return F.cross_entropy(z, y, weight=w, ignore_index=ignore, reduction=reduction, label_smoothing=smoothing)


def binary_cross_entropy_kernel(
    z: Tensor, y: Tensor, w: Tensor | None = None, reduction: str = "mean", positive: Tensor | None = None
) -> Tensor:
    return F.binary_cross_entropy_with_logits(z, y, weight=w, reduction=reduction, pos_weight=positive)


cross_entropy = fused(cross_entropy_kernel)(textbook.cross_entropy)
"""Cross-entropy of class indices or probabilities, averaged over the batch, with PyTorch's options."""
binary_cross_entropy_with_logits = fused(binary_cross_entropy_kernel)(textbook.binary_cross_entropy_with_logits)


def _softmax_cross_entropy_kernel(θ: Tensor, y: Tensor) -> Tensor:
    _check_probabilities(θ, y)
    J = F.cross_entropy(θ.reshape(-1, θ.shape[-1]), y.to(θ).expand_as(θ).reshape(-1, θ.shape[-1]), reduction="none")
    return J.reshape(θ.shape[:-1])


@fused(_softmax_cross_entropy_kernel)
def softmax_cross_entropy(θ: Float[Tensor, "*b c"], y: Answer) -> Float[Tensor, "*b"]:
    r"""How surprising the answer `y` (probabilities, usually one-hot) is under softmax(θ), for each example.

    $$J = -\sum_i y_i \log \hat y_i \qquad \hat y = \operatorname{softmax}(\theta)$$

    >>> softmax_cross_entropy(torch.tensor([0.0, 0.0]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    _check_probabilities(θ, y)
    log_ŷ = θ.log_softmax(dim=-1)
    J = -(y * log_ŷ).sum(dim=-1)
    return J


def softmax_cross_entropy_gradient(θ: Float[Tensor, "*b c"], y: Answer) -> Float[Tensor, "*b c"]:
    r"""What is predicted less what is true.

    $$\frac{\partial J}{\partial \theta} = \hat y - y$$

    This needs Σy = 1, as probabilities have.

    >>> softmax_cross_entropy_gradient(torch.tensor([0.0, 0.0]), torch.tensor([0.0, 1.0]))
    tensor([ 0.5000, -0.5000])
    """
    _check_probabilities(θ, y)
    ŷ = θ.softmax(dim=-1)
    G = ŷ - y
    return G


def chain_rule_terms(θ: Float[Tensor, " c"], y: Float[Tensor, " c"]) -> Float[Tensor, "c c"]:
    r"""The terms of the chain rule from J back to θ, before they are added: row i is the path through ŷ_i.

    $$T_{ij} = \frac{\partial J}{\partial \hat y_i} \frac{\partial \hat y_i}{\partial \theta_j}
      \qquad \frac{\partial J}{\partial \theta_j} = \sum_i T_{ij} = \hat y_j - y_j$$

    Every θ_j moves every ŷ_i, so the sum over i is needed. Without it only the diagonal is left, which is 0 for all classes
    but the true one.

    >>> T = chain_rule_terms(torch.tensor([0.0, 0.0]), torch.tensor([0.0, 1.0]))
    >>> T.sum(dim=0), T.diagonal()
    (tensor([ 0.5000, -0.5000]), tensor([ 0.0000, -0.5000]))
    """
    check_shapes(chain_rule_terms, θ, y)
    ŷ = θ.softmax(dim=-1)
    g = -y / ŷ
    D = softmax_jacobian(θ)
    T = torch.diag(g) @ D
    return T


def squared_loss(ŷ: Float[Tensor, "*b"], y: Float[Tensor, "*#b"]) -> Float[Tensor, "*b"]:
    r"""Half the square of the error, elementwise.

    $$J = \tfrac12 (\hat y - y)^2$$

    >>> squared_loss(torch.tensor(5.0), torch.tensor(2.0))
    tensor(4.5000)
    """
    check_shapes(squared_loss, ŷ, y)
    J = (ŷ - y) ** 2 / 2
    return J


def squared_loss_gradient(ŷ: Float[Tensor, "*b"], y: Float[Tensor, "*#b"]) -> Float[Tensor, "*b"]:
    r"""The derivative of the squared loss by the prediction: how far it is off.

    $$\frac{\partial J}{\partial \hat y} = \hat y - y$$
    """
    check_shapes(squared_loss_gradient, ŷ, y)
    G = ŷ - y
    return G


def _logistic_loss_kernel(w: Tensor, X: Tensor, y: Tensor) -> Tensor:
    check_labels(w, X, y)
    return F.softplus(-y * (X @ w)).sum()


@fused(_logistic_loss_kernel)
def logistic_loss(w: Float[Tensor, " d"], X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Scalar:
    r"""The surprise of labels y = ±1 when σ(wᵀx) is the probability of +1.

    $$L = \sum_i \log\left(1 + e^{-y_i w^\top x_i}\right)$$

    >>> logistic_loss(torch.tensor([0.0]), torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, -1.0]))
    tensor(1.3863)
    """
    check_labels(w, X, y)
    m = y * (X @ w)
    if is_steep(m):
        return -F.logsigmoid(m).sum()
    L = torch.log(1 + torch.exp(-m)).sum()
    return L


def logistic_loss_gradient(w: Float[Tensor, " d"], X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Float[Tensor, " d"]:
    r"""The gradient of the logistic loss by the weights: the samples, each times how far its probability is off.

    $$\frac{\partial L}{\partial w} = X^\top (P - t) \qquad P = \sigma(Xw), \quad t = \frac{1 + y}{2}$$

    >>> logistic_loss_gradient(torch.tensor([0.0]), torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, -1.0]))
    tensor([0.5000])
    """
    check_labels(w, X, y)
    t = (1 + y) / 2
    P = torch.sigmoid(X @ w)
    G = X.T @ (P - t)
    return G


def _check_probabilities(θ: Tensor, y: Tensor) -> None:
    """Refuse a `y` that does not hold a probability for each score of `θ`."""
    if not θ.dim() or not θ.shape[-1] or θ.shape[-1:] != y.shape[-1:] or not is_repeatable(y.shape, θ.shape):
        raise ShapeError(
            f"−Σ y log ŷ needs a probability in y for each score in θ: θ is {[*θ.shape]}, y is {[*y.shape]}. "
            "Class indices become probabilities by torch.nn.functional.one_hot."
        )


def check_labels(w: Tensor, X: Tensor, y: Tensor) -> None:
    """Refuse a `y` without a label ±1 for each row of `X`, and a `w` without a weight for each column."""
    check_shapes(logistic_loss, w, X, y, empty="n d")
    if not (y * y == 1).all():
        other = y[y * y != 1][0].item()
        raise DomainError(
            f"The logistic loss takes labels +1 and −1; y holds {other:g}. Labels 0 and 1 become −1 and +1 by 2y − 1."
        )
