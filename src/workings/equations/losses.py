r"""Losses of classification.

    ℓ = −log softmax(z)_y            cross-entropy of the true class y
    ℓ = −Σ p log softmax(z)          … of probabilities p
    ℓ = −y log σ(z) − (1 − y) log(1 − σ(z))      binary, of a logit z

With smoothing s, a share s of the target is spread evenly over the C classes: p = (1 − s) p + s/C.

Axes: b batch, c classes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from workings.errors import ShapeError

Losses = Float[Tensor, "..."]
Values = Float[Tensor, "..."]
Classes = Integer[Tensor, "..."]


def cross_entropy(
    z: Values,
    y: Classes | Values,
    w: Float[Tensor, " c"] | None = None,
    ignore: int = -100,
    reduction: str = "mean",
    smoothing: float = 0.0,
) -> Losses:
    r"""How surprising the true class is under softmax(z); `y` holds class indices, or probabilities in the shape of `z`.

    $$\ell = -\log \operatorname{softmax}(z)_y$$

    `w` weighs the classes; examples of class `ignore` do not count.
    """
    axis = class_axis(z, y)
    q = F.log_softmax(z, dim=axis)
    if y.is_floating_point():
        ℓ = entropy_of(q, y, w, smoothing, axis)
        return reduction_of(ℓ, reduction)
    if w is not None or smoothing or (y == ignore).any():
        return weighted_cross_entropy(q, y, w, ignore, reduction, smoothing, axis)
    ℓ = -q.gather(axis, y.unsqueeze(axis)).squeeze(axis)
    return reduction_of(ℓ, reduction)


def class_axis(z: Tensor, y: Tensor) -> int:
    """The axis of `z` along which the classes stand; refuses a `y` that is neither classes nor probabilities for that."""
    axis = 0 if z.dim() <= 1 else 1
    classes = [n for a, n in enumerate(z.shape) if a != axis]
    if [*y.shape] != ([*z.shape] if y.is_floating_point() else classes):
        wanted = f"a class for each example, y {classes} of whole numbers" if classes else "one class, a whole number y"
        kind = "probabilities" if y.is_floating_point() else "classes"
        raise ShapeError(
            f"Cross-entropy needs {wanted}, or a probability for each score, y {[*z.shape]}: "
            f"z is {[*z.shape]}, and y is {[*y.shape]} of {kind}."
        )
    return axis


def weighted_cross_entropy(
    q: Tensor, y: Tensor, w: Tensor | None, ignore: int, reduction: str, smoothing: float, axis: int
) -> Losses:
    """Cross-entropy with a weight u for each example, 0 where it is ignored; the mean divides by the sum of the weights."""
    counted = y != ignore
    y = y.where(counted, 0)
    u = torch.ones_like(y, dtype=q.dtype) if w is None else w[y]
    ℓ = -u * q.gather(axis, y.unsqueeze(axis)).squeeze(axis)
    if smoothing:
        even = torch.ones_like(q) / q.shape[axis]
        ℓ = (1 - smoothing) * ℓ + smoothing * entropy_of(q, even, w, 0.0, axis)
    ℓ = ℓ.where(counted, 0)
    u = u.where(counted, 0)
    return ℓ.sum() / u.sum() if reduction == "mean" else reduction_of(ℓ, reduction)


def entropy_of(q: Tensor, p: Tensor, w: Tensor | None, smoothing: float, axis: int) -> Losses:
    """−Σ p q over the classes: log-probabilities `q` under the probabilities `p`, smoothed, each class weighed by `w`."""
    if smoothing:
        p = (1 - smoothing) * p + smoothing / p.shape[axis]
    if w is not None:
        p = p * w.reshape([-1 if a == axis else 1 for a in range(p.dim())])
    ℓ = -(p * q).sum(axis)
    return ℓ


def binary_cross_entropy_with_logits(
    z: Values,
    y: Values,
    w: Values | None = None,
    reduction: str = "mean",
    positive: Values | None = None,
) -> Losses:
    r"""How surprising the answer `y` is when σ(z) is the probability of yes.

    $$\ell = -y \log \sigma(z) - (1 - y) \log(1 - \sigma(z))$$

    `positive` multiplies the first term; `w` the whole loss. 1 − σ(z) is σ(−z), which stays exact when σ(z) rounds to 1.
    """
    yes = y * F.logsigmoid(z)
    no = (1 - y) * F.logsigmoid(-z)
    if positive is not None:
        yes = yes * positive
    ℓ = -yes - no
    if w is not None:
        ℓ = ℓ * w
    return reduction_of(ℓ, reduction)


def reduction_of(ℓ: Losses, reduction: str) -> Losses:
    """The losses themselves, their sum or their mean."""
    if reduction == "none":
        return ℓ
    return ℓ.sum() if reduction == "sum" else ℓ.mean()
