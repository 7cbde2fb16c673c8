r"""How a gradient travels back in time through a linear recurrent unit.

    h_t = w h_{t−1} + d_t                                    state; d_t = w_x u_t + b drives it
    ∂h_t/∂w = h_{t−1} + w ∂h_{t−1}/∂w                        recursion, from ∂h_0/∂w = 0
            = h_{t−1} + w (h_{t−2} + w ∂h_{t−2}/∂w)          two levels of it put in
            = Σ_{k=1..t} w^{k−1} h_{t−k}                     all of them
    |∂h_T/∂h_0| = |w|^T                                      explodes for |w| > 1, vanishes for |w| < 1

Axes: t time, n = t + 1 states from h_0 to h_t.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import ShapeError
from workings.nn.fits import check_at_least, check_shapes

Scalar = Float[Tensor, ""]
States = Float[Tensor, " n"]


def states(w: Scalar, d: Float[Tensor, " t"], h: Scalar) -> States:
    r"""All states from h_0 = `h` on.

    $$h_t = w\,h_{t-1} + d_t$$

    >>> states(torch.tensor(2.0), torch.tensor([1.0, 1.0]), torch.tensor(0.0))
    tensor([0., 1., 3.])
    """
    check_shapes(states, w, d, h, empty="t")
    H = [h]
    for d_t in d.unbind():
        h = w * h + d_t
        H = [*H, h]
    return torch.stack(H)


def recursive_gradient(w: Scalar, h: States) -> Scalar:
    r"""∂h_t/∂w by the recursion, for the states h_0 … h_t of `states`.

    $$\frac{\partial h_t}{\partial w} = h_{t-1} + w\,\frac{\partial h_{t-1}}{\partial w}$$

    >>> recursive_gradient(torch.tensor(2.0), torch.tensor([0.0, 1.0, 3.0]))
    tensor(1.)
    """
    check_shapes(recursive_gradient, w, h, empty="n")
    D = torch.zeros_like(w)
    for h_before in h[:-1].unbind():
        D = h_before + w * D
    return D


def two_level_gradient(w: Scalar, h: States) -> Scalar:
    r"""The recursion put into itself once.

    $$\frac{\partial h_t}{\partial w} = h_{t-1} + w \left(h_{t-2} + w\,\frac{\partial h_{t-2}}{\partial w}\right)$$
    """
    _check_states(w, h, 2)
    D = recursive_gradient(w, h[:-2])
    D = h[-2] + w * (h[-3] + w * D)
    return D


def three_level_gradient(w: Scalar, h: States) -> Scalar:
    r"""The recursion put into itself twice.

    $$\frac{\partial h_t}{\partial w} = h_{t-1} + w \left(h_{t-2} + w \left(h_{t-3}
    + w\,\frac{\partial h_{t-3}}{\partial w}\right)\right)$$
    """
    _check_states(w, h, 3)
    D = recursive_gradient(w, h[:-3])
    D = h[-2] + w * (h[-3] + w * (h[-4] + w * D))
    return D


def temporal_gradient(w: Scalar, h: States) -> Scalar:
    r"""∂h_t/∂w as the sum over all delays k.

    $$\frac{\partial h_t}{\partial w} = \sum_{k=1}^{t} w^{k-1} h_{t-k}$$

    >>> temporal_gradient(torch.tensor(2.0), torch.tensor([0.0, 1.0, 3.0]))
    tensor(1.)
    """
    terms = gradient_terms(w, h)
    D = terms.sum()
    return D


def gradient_terms(w: Scalar, h: States) -> Float[Tensor, " t"]:
    """The terms w^{k−1} h_{t−k} of the sum, for k = 1 … t."""
    _check_states(w, h, 1)
    past = h[:-1].flip(0)  # h_{t−1} … h_0
    powers = torch.stack([w**k for k in range(len(past))])
    terms = powers * past
    return terms


def state_gradient(w: Scalar, T: int) -> Scalar:
    r"""How much a change of h_0 is still worth after T steps.

    $$\left|\frac{\partial h_T}{\partial h_0}\right| = |w|^T$$

    >>> state_gradient(torch.tensor(-1.5), 2)
    tensor(2.2500)
    """
    check_at_least(0, T, "|w|^T is about T ≥ 0 steps, not {}.")
    D = w.abs() ** T
    return D


def regime(w: Scalar) -> str:
    """What w^T does as T grows: `explodes`, `vanishes` or `neither`.

    >>> [regime(torch.tensor(w)) for w in (-1.5, -1.0, 0.5)]
    ['explodes', 'neither', 'vanishes']
    """
    check_shapes(regime, w)
    if w.abs() > 1:
        return "explodes"
    return "vanishes" if w.abs() < 1 else "neither"


def _check_states(w: Scalar, h: States, levels: int) -> None:
    """Refuse too few states."""
    check_shapes(recursive_gradient, w, h, empty="n")
    if len(h) <= levels:
        raise ShapeError(
            f"This form of ∂h_t/∂w names {levels} earlier state{'s' * (levels > 1)}, so it needs h_0 … h_t with t ≥ {levels}"
            f"; h is {[*h.shape]}, so t = {len(h) - 1}."
        )
