r"""Logistic regression with a penalty on the largest weight.

    P = σ(w·x)                                   probability of class 1
    L = −y log P − (1 − y) log(1 − P)            cross-entropy           ∂L/∂w = (P − y) x
    R = (λ/2) ‖w‖∞²                              penalty                 ∂R/∂w = λ w ⊙ e
    w ← w − η ((P − y) x + λ w ⊙ e)

‖w‖∞ = max |w_i|, and e marks where it is reached: 1 at the largest |w_i|, 0 elsewhere. Where k entries are tied, R has a
kink: every mixture of their e's gives a subgradient. The even mixture, 1/k on each, is the shortest of them and the one
that autograd takes for `w.abs().amax()`; it is the default here. The others: the first of the tied, or no answer.

Axes: d features.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, WorkingsError
from workings.nn.fits import check_shapes
from workings.nn.update import Rate

Vector = Float[Tensor, " d"]
Scalar = Float[Tensor, ""]
_TIES = ("average", "first", "refuse")


def logistic_gradient(w: Vector, x: Vector, y: Rate) -> Vector:
    r"""The gradient of the cross-entropy of one example of class `y`, 0 or 1.

    $$\frac{\partial L}{\partial w} = (P - y)\,x$$

    >>> logistic_gradient(torch.zeros(2), torch.tensor([1.0, 2.0]), 1)
    tensor([-0.5000, -1.0000])
    """
    check_shapes(logistic_gradient, w, x)
    P = torch.sigmoid(w @ x)
    G = (P - y) * x
    return G


def infinity_penalty(w: Vector, lambda_: Rate) -> Scalar:
    r"""Half of λ times the square of the largest weight.

    $$R = \frac{\lambda}{2} \|w\|_\infty^2$$

    >>> infinity_penalty(torch.tensor([-5.0, 3.0]), lambda_=2)
    tensor(25.)
    """
    check_shapes(infinity_penalty, w)
    m = w.abs().amax()
    R = lambda_ / 2 * m**2
    return R


def infinity_gradient(w: Vector, lambda_: Rate, ties: str = "average") -> Vector:
    r"""A (sub)gradient of `infinity_penalty`: only the largest weight is pulled.

    $$\frac{\partial R}{\partial w} = \lambda\, w \odot e$$

    >>> infinity_gradient(torch.tensor([-5.0, 3.0]), lambda_=2)
    tensor([-10.,   0.])
    >>> infinity_gradient(torch.tensor([1.0, -1.0]), lambda_=1)
    tensor([ 0.5000, -0.5000])
    """
    check_shapes(infinity_gradient, w)
    e = largest(w, ties)
    G = lambda_ * w * e
    return G


def largest(w: Vector, ties: str = "average") -> Vector:
    """1 where |w_i| is largest, 0 elsewhere. Tied entries share the 1 (`average`), or the `first` has it."""
    if ties not in _TIES:
        raise WorkingsError(f"ties={ties!r} is not a way to treat ties: {', '.join(_TIES)}.")
    a = w.abs()
    tied = a == a.amax()
    k = int(tied.sum())
    if k > 1 and ties == "refuse":
        places = ", ".join(f"w[{i}]" for i in tied.nonzero().flatten().tolist())
        raise DomainError(
            f"‖w‖∞² has no gradient where the largest |w_i| is tied, as it is at {places}. "
            "Choose a subgradient: ties='average' or ties='first'."
        )
    if ties == "first":
        tied, k = tied & (tied.cumsum(0) == 1), 1
    return torch.where(tied, torch.ones_like(w) / k, torch.zeros_like(w))


def penalised_step(w: Vector, x: Vector, y: Rate, lambda_: Rate, eta: Rate, ties: str = "average") -> Vector:
    r"""One SGD step on the cross-entropy of one example plus the penalty.

    $$w \leftarrow w - \eta\,\bigl((P - y)\,x + \lambda\, w \odot e\bigr)$$
    """
    check_shapes(penalised_step, w, x)
    P = torch.sigmoid(w @ x)
    e = largest(w, ties)
    G = (P - y) * x + lambda_ * w * e
    w = w - eta * G
    return w
