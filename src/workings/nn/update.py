r"""Update rules: how a parameter θ moves along its gradient g.

    SGD                 θ ← θ − η g
    momentum            v ← α v − η g         θ ← θ + v             v is a velocity
    accumulated         v ← α v + g           θ ← θ − η v           PyTorch's form: the rate is outside
    Nesterov            v ← α v + g           θ ← θ − η (g + α v)
    Adam                m ← β₁ m + (1 − β₁) g                       v ← β₂ v + (1 − β₂) g²
                        m̂ = m/(1 − β₁ᵗ)       v̂ = v/(1 − β₂ᵗ)       θ ← θ − η m̂/(√v̂ + ε)
    AdamW               θ ← (1 − η λ) θ first, then as Adam

For a constant rate both forms of momentum take the same steps, v of the first being −η times v of the second. When the
rate changes they part: the first keeps old steps as they were, the second scales them by the new rate.

On a quadratic of curvature λ a step multiplies the distance to the minimum by 1 − η λ, so descent is stable for
0 < η < 2/λ; with momentum α, for 0 < η < 2(1 + α)/λ.

Axes: s any shape.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from workings.nn.fits import check_at_least, check_shapes

Values = Float[Tensor, "*s"]
Rate = Float[Tensor, ""] | float | int


def sgd(theta: Values, g: Values, eta: Rate) -> Values:
    r"""One step against the gradient.

    $$\theta \leftarrow \theta - \eta\, g$$

    >>> sgd(torch.tensor(1.0), torch.tensor(0.4), eta=0.1)
    tensor(0.9600)
    """
    check_shapes(sgd, theta, g)
    theta = theta - eta * g
    return theta


def momentum(theta: Values, v: Values, g: Values, eta: Rate, alpha: Rate) -> tuple[Values, Values]:
    r"""A step with a velocity that dies out by the factor α and is pushed by −η g.

    $$v \leftarrow \alpha v - \eta\, g \qquad \theta \leftarrow \theta + v$$

    >>> momentum(torch.tensor(0.96), torch.tensor(-0.04), torch.tensor(-0.2), eta=0.1, alpha=0.9)
    (tensor(0.9440), tensor(-0.0160))
    """
    check_shapes(momentum, theta, v, g)
    v = alpha * v - eta * g
    theta = theta + v
    return theta, v


def momentum_accumulated(theta: Values, v: Values, g: Values, eta: Rate, alpha: Rate) -> tuple[Values, Values]:
    r"""The other textbook form, PyTorch's: v adds up gradients, and the rate stands outside.

    $$v \leftarrow \alpha v + g \qquad \theta \leftarrow \theta - \eta\, v$$

    >>> momentum_accumulated(torch.tensor(0.96), torch.tensor(0.4), torch.tensor(-0.2), eta=0.1, alpha=0.9)
    (tensor(0.9440), tensor(0.1600))
    """
    check_shapes(momentum_accumulated, theta, v, g)
    v = alpha * v + g
    theta = theta - eta * v
    return theta, v


def nesterov(theta: Values, v: Values, g: Values, eta: Rate, alpha: Rate) -> tuple[Values, Values]:
    r"""Momentum that looks one push ahead (Nesterov 1983, in the form of Sutskever et al. 2013 and PyTorch).

    $$v \leftarrow \alpha v + g \qquad \theta \leftarrow \theta - \eta\,(g + \alpha v)$$
    """
    check_shapes(nesterov, theta, v, g)
    v = alpha * v + g
    theta = theta - eta * (g + alpha * v)
    return theta, v


def adam(
    theta: Values,
    m: Values,
    v: Values,
    g: Values,
    t: int,
    eta: Rate = 1e-3,
    beta: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Rate = 1e-8,
) -> tuple[Values, Values, Values]:
    r"""A step of about η in every coordinate, whatever its gradient's scale (Kingma & Ba 2015). `t` counts from 1.

    $$\theta \leftarrow \theta - \eta\, \frac{\hat m}{\sqrt{\hat v} + \varepsilon}$$
    """
    check_shapes(adam, theta, m, v, g)
    check_at_least(1, t, "Adam divides by 1 − βᵗ, which is 0 for t = 0: count the steps from t = 1; this is t = {}.")
    beta_1, beta_2 = beta
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g**2
    m_hat = m / (1 - beta_1**t)
    v_hat = v / (1 - beta_2**t)
    theta = theta - eta * m_hat / (torch.sqrt(v_hat) + epsilon)
    return theta, m, v


def adamw(
    theta: Values,
    m: Values,
    v: Values,
    g: Values,
    t: int,
    eta: Rate = 1e-3,
    beta: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Rate = 1e-8,
    lambda_: Rate = 1e-2,
) -> tuple[Values, Values, Values]:
    r"""Adam with weight decay beside the gradient, not in it (Loshchilov & Hutter 2019).

    $$\theta \leftarrow (1 - \eta \lambda)\,\theta - \eta\, \frac{\hat m}{\sqrt{\hat v} + \varepsilon}$$
    """
    theta = (1 - eta * lambda_) * theta
    theta, m, v = adam(theta, m, v, g, t, eta, beta, epsilon)
    return theta, m, v


# ------------------------------------------------------------------------------------------------ descent on a quadratic


def multiplier(eta: Rate, lambda_: Rate) -> Rate:
    r"""What one step of gradient descent on ½ λ (θ − θ*)² multiplies θ − θ* by.

    $$r = 1 - \eta \lambda$$

    >>> multiplier(1, 16)
    -15
    """
    r = 1 - eta * lambda_
    return r


def critical_rate(lambda_: Rate, alpha: Rate = 0) -> Rate:
    r"""The rate from which descent on a quadratic of curvature λ no longer converges.

    $$\eta^* = \frac{2 (1 + \alpha)}{\lambda}$$

    >>> critical_rate(16)
    0.125
    """
    eta = 2 * (1 + alpha) / lambda_
    return eta


def stable(eta: Rate, lambda_: Rate, alpha: Rate = 0) -> bool:
    """Whether descent with this rate converges: 0 < η < 2(1 + α)/λ for a curvature λ > 0 and 0 ≤ α < 1.

    >>> stable(0.1, 16), stable(1, 16)
    (True, False)
    """
    return bool(lambda_ > 0) and bool(0 <= alpha < 1) and bool(0 < eta < critical_rate(lambda_, alpha))


def trajectory(gradient: Callable[[Tensor], Tensor], theta: Values, eta: Rate, steps: int) -> Float[Tensor, "n ..."]:
    """θ before the first step and after each, by plain gradient descent.

    >>> trajectory(lambda w: 16 * w - 8, torch.tensor(0.3, dtype=torch.float64), eta=0.1, steps=2)
    tensor([0.3000, 0.6200, 0.4280], dtype=torch.float64)
    """
    found = [theta]
    for _ in range(steps):
        theta = sgd(theta, gradient(theta), eta)
        found.append(theta)
    return torch.stack(found)
