r"""Hard selection: one key, or the tied best ones, instead of a mixture; and what gradient each way gives to the scores.

    a_i = 1/k for each of the k maximal scores, else 0        argmax: softmax at T → 0
    p = softmax((s + g) / T),  g = −log(−log u)               Gumbel-softmax (Jang et al. 2017), u uniform
    a = argmax(s) forward, softmax(s) backward                straight-through (Bengio et al. 2013)
    y = x Iᵀ                                                  a linear layer without bias that passes x on

Axes: n scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import ShapeError
from workings.nn.fits import check_axis, check_inside, check_shapes
from workings.nn.temperature import check_scale, check_softmax, inverse_scale


def argmax_weights(s: Float[Tensor, "*n"], dim: int = -1) -> Float[Tensor, "*n"]:
    r"""All weight on the largest score; k equal largest scores get 1/k each. The limit of softmax as T → 0.

    $$a_i = \frac{m_i}{\sum_j m_j}, \qquad m_i = [s_i = \max_j s_j]$$

    The derivative with respect to the scores is 0 (at ties there is none), so no gradient flows.

    >>> from workings import exact
    >>> print(argmax_weights(exact("5 −2 5 0")).text())
    [1/2  0  1/2  0]
    """
    _check_scores(s, dim)
    m = torch.ones_like(s).masked_fill(s < s.amax(dim, keepdim=True), 0)
    a = m / m.sum(dim, keepdim=True)
    return a


def _check_scores(s: Tensor, dim: int) -> None:
    """Refuse scores without a largest one: none at all, or a NaN among them."""
    if not -s.dim() <= dim < s.dim() or not s.shape[dim]:
        raise ShapeError(f"The largest of the scores needs at least one score along axis {dim}, but s is {[*s.shape]}.")
    check_inside("The largest of the scores needs numbers that can be compared", s, lambda s: s != s)


def gumbel_noise(s: Float[Tensor, "*n"], generator: torch.Generator | None = None) -> Float[Tensor, "*n"]:
    r"""Noise whose maximum draws from softmax: argmax(s + g) is i with probability softmax(s)_i.

    $$g = -\log(-\log u), \qquad u \sim U(0, 1)$$
    """
    x = torch.empty(s.shape, dtype=s.dtype, device=s.device).exponential_(generator=generator)  # −log u, and never 0
    g = -x.log()
    return g


def gumbel_softmax(
    s: Float[Tensor, "*n"], T: Any = 1, dim: int = -1, generator: torch.Generator | None = None
) -> Float[Tensor, "*n"]:
    r"""A random draw of one key, softened so that a gradient flows; T → 0 makes it hard.

    $$p = \operatorname{softmax}\left(\frac{s + g}{T}\right), \qquad g = -\log(-\log u)$$

    >>> draws = gumbel_softmax(torch.zeros(4000, 2), T=0.01, generator=torch.Generator().manual_seed(0))
    >>> round(draws[:, 0].mean().item(), 1)
    0.5
    """
    check_axis("s", s, dim)
    g = gumbel_noise(s, generator)
    β = inverse_scale(None, T)
    check_scale("(s + g) / T", β, s)
    p = (β * (s + g)).softmax(dim)
    check_softmax(p, s, dim)
    return p


def straight_through(s: Float[Tensor, "*n"], beta: Any = None, *, T: Any = None, dim: int = -1) -> Float[Tensor, "*n"]:
    r"""The argmax on the way forward, the gradient of softmax on the way back.

    $$a = \operatorname{argmax}(s), \qquad \frac{\partial a}{\partial s} := \frac{\partial p}{\partial s}, \qquad
    p = \operatorname{softmax}(\beta s)$$

    >>> s = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> straight_through(s)
    tensor([0., 1.], grad_fn=<AddBackward0>)
    """
    check_axis("s", s, dim)
    β = inverse_scale(beta, T)
    check_scale("β s", β, s)
    p = (β * s).softmax(dim)
    check_softmax(p, s, dim)
    a = argmax_weights(s, dim) + (p - p.detach())  # the bracket is 0, and carries the gradient
    return a


def pass_through(x: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n"]:
    r"""A linear layer without bias whose weight is the identity: in a fully connected net, this keeps one value.

    $$y = x I^\top$$
    """
    check_shapes(pass_through, x)
    I = torch.diag_embed(x.new_ones(x.shape[-1]))
    y = x @ I.T
    return y


def score_gradient(
    select: Callable[[Tensor], Tensor], s: Float[Tensor, "*n"], g: Float[Tensor, "*n"]
) -> Float[Tensor, "*n"]:
    r"""∂L/∂s through a way of selecting, for a loss whose gradient with respect to the weights is `g`.

    $$\frac{\partial L}{\partial s} = J^\top g$$

    >>> s, g = torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0])
    >>> score_gradient(argmax_weights, s, g), score_gradient(straight_through, s, g)
    (tensor([0., 0.]), tensor([ 0.2500, -0.2500]))
    """
    check_shapes(score_gradient, select, s, g)
    s = s.detach().requires_grad_()
    a = select(s)
    if not a.requires_grad:
        return torch.zeros_like(s, requires_grad=False)
    return torch.autograd.grad(a, s, g)[0]
