r"""Recurrent networks with one unit, small enough to differentiate by hand.

Linear, with a read-out:

    h_t = w_h h_{t−1} + w_x u_t + b        y = v h_T + c        L = ½ (y − y*)²

With an activation g, whose last state is the answer:

    z_t = w h_{t−1} + a x_t        h_t = g(z_t)        ŷ = h_T        L = ½ (ŷ − y)²

and its back-propagation through time, with δ_t = ∂L/∂z_t:

    δ_T = (h_T − y) g′(z_T)                δ_{t−1} = δ_t w g′(z_{t−1})
    ∂L/∂w = Σ_t δ_t h_{t−1}                ∂L/∂a = Σ_t δ_t x_t

Axes: t time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.nn.activations import activation
from workings.nn.fits import check_shapes

Scalar = Float[Tensor, ""]
Series = Float[Tensor, " t"]
Number = Scalar | float | int


def linear_rnn(u: Series, h: Scalar, w_h: Number, w_x: Number, b: Number, v: Number, c: Number) -> Scalar:
    r"""The linear unit unrolled over the inputs `u`, and its read-out y.

    $$h_t = w_h h_{t-1} + w_x u_t + b \qquad y = v\,h_T + c$$

    >>> linear_rnn(torch.tensor([2.0, 0.5]), torch.tensor(0.0), w_h=0.3, w_x=1, b=0, v=2, c=0)
    tensor(2.2000)
    """
    check_shapes(linear_rnn, u, empty="t")
    for u_t in u.unbind():
        h = w_h * h + w_x * u_t + b
    y = v * h + c
    return y


def linear_rnn_loss(
    u: Series, h: Scalar, w_h: Number, w_x: Number, b: Number, v: Number, c: Number, target: Number
) -> Scalar:
    r"""The squared loss of `linear_rnn`: a polynomial in w_h.

    $$L = \tfrac12 (y - y^*)^2$$

    >>> from workings import exact
    >>> w_h = exact("w_h").requires_grad_()
    >>> L = linear_rnn_loss(exact("2 1/2"), exact("0"), w_h, w_x=1, b=0, v=2, c=0, target=3)
    >>> L.backward()
    >>> print(L.text(), "  gradient", w_h.grad.text())
    8(w_h − 1/2)²   gradient 16w_h − 8
    """
    check_shapes(linear_rnn_loss, u, empty="t")
    for u_t in u.unbind():
        h = w_h * h + w_x * u_t + b
    y = v * h + c
    L = (y - target) ** 2 / 2
    return L


class ScalarRNN(nn.Module):
    """One recurrent unit with the activation `g`, named as in `workings.nn.activations`.

    >>> ScalarRNN(w=0.5, a=1.0, g="identity")(torch.tensor([1.0, 1.0]))
    tensor(1.5000, grad_fn=<AddBackward0>)
    """

    def __init__(self, w: Number = 0.5, a: Number = 1.0, g: str = "tanh") -> None:
        super().__init__()
        self.w = nn.Parameter(torch.as_tensor(w))
        self.a = nn.Parameter(torch.as_tensor(a))
        self.g, self.slope = activation(g)

    def forward(self, x: Series, h: Scalar | None = None) -> Scalar:
        """ŷ = h_T, from h_0 = 0 unless `h` is given."""
        check_shapes(ScalarRNN.forward, self, x)
        h = torch.zeros_like(self.w) if h is None else h
        for x_t in x.unbind():
            z = self.w * h + self.a * x_t
            h = self.g(z)
        return h


@dataclass(frozen=True)
class Gradients:
    """What back-propagation through time finds: one entry of z, δ and the terms for each time, h from h_0 on."""

    L: Scalar
    z: Series
    h: Float[Tensor, " n"]
    delta: Series
    w_terms: Series
    a_terms: Series

    @property
    def w(self) -> Scalar:
        """∂L/∂w"""
        return self.w_terms.sum()

    @property
    def a(self) -> Scalar:
        """∂L/∂a"""
        return self.a_terms.sum()


def bptt(w: Scalar, a: Scalar, x: Series, y: Number, name: str = "tanh", h: Scalar | None = None) -> Gradients:
    r"""Back-propagation through time for the scalar unit with the activation of this `name`, term by term.

    $$\frac{\partial L}{\partial w} = \sum_t \delta_t h_{t-1} \qquad \frac{\partial L}{\partial a} = \sum_t \delta_t x_t$$

    >>> found = bptt(torch.tensor(0.5), torch.tensor(1.0), torch.tensor([1.0, 1.0]), y=0.5, name="identity")
    >>> found.w_terms, found.a_terms  # δ = (½, 1), h = (0, 1, 3/2)
    (tensor([0., 1.]), tensor([0.5000, 1.0000]))
    """
    check_shapes(bptt, w, a, x)
    g, slope = activation(name)
    h = torch.zeros_like(w) if h is None else h
    Z: list[Tensor] = []
    H = [h]
    for x_t in x.unbind():
        z = w * h + a * x_t
        h = g(z)
        Z = [*Z, z]
        H = [*H, h]
    L = (h - y) ** 2 / 2
    e = h - y  # ∂L/∂h, from the last time to the first
    D: list[Tensor] = []
    for z in reversed(Z):
        delta = e * slope(z)
        e = delta * w
        D = [delta, *D]
    delta = torch.stack(D)
    h = torch.stack(H)  # h_0 … h_T
    w_terms = delta * h[:-1]
    a_terms = delta * x
    return Gradients(L, torch.stack(Z), h, delta, w_terms, a_terms)
