r"""Auto-encoders: through a narrow code and back.

    z = encoder(x)          the code
    x̂ = decoder(z)          the reconstruction
    L = 1/N Σ ‖x̂ − x‖²

Without hidden layers both maps are affine, and the best code spans the plane of the first principal components
(Bourlard & Kamp 1988). A code as wide as x can copy.

Axes: b examples, x inputs, z width of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import ShapeError
from workings.nn.fits import check_shapes


def layers(widths: Sequence[int], activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers from each width to the next, with an activation between them.

    >>> print(layers([4, 8, 2]))
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ShapeError(f"Layers need two widths or more, each at least 1; these are {[*widths]}.")
    stack: list[nn.Module] = []
    for i, o in pairwise(widths):
        stack += [nn.Linear(i, o), activation()]
    return nn.Sequential(*stack[:-1])


def reconstruction_error(x: Float[Tensor, "b x"], x̂: Float[Tensor, "b x"]) -> Float[Tensor, ""]:
    r"""The squared distance of the reconstruction, averaged over the examples.

    $$L = \frac1N \sum_i \lVert \hat x_i - x_i \rVert^2$$

    >>> reconstruction_error(torch.zeros(2, 2), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))  # (25 + 1) / 2
    tensor(13.)
    """
    check_shapes(reconstruction_error, x, x̂)
    E = x̂ - x
    L = (E**2).sum(dim=-1).mean()
    return L


class AutoEncoder(nn.Module):
    """Encoder to a code of width `code`, decoder back; linear without `hidden` widths, which the decoder mirrors.

    >>> model = AutoEncoder(6, 2, hidden=[4])
    >>> model.encoder(torch.zeros(3, 6)).shape, model(torch.zeros(3, 6)).shape
    (torch.Size([3, 2]), torch.Size([3, 6]))
    """

    def __init__(
        self, inputs: int, code: int, hidden: Sequence[int] = (), activation: Callable[[], nn.Module] = nn.ReLU
    ) -> None:
        super().__init__()
        self.encoder = layers([inputs, *hidden, code], activation)
        self.decoder = layers([code, *reversed(hidden), inputs], activation)

    def forward(self, x: Float[Tensor, "b x"]) -> Float[Tensor, "b x"]:
        check_inputs(x, self.encoder)
        z = self.encoder(x)
        x̂ = self.decoder(z)
        return x̂

    def loss(self, x: Float[Tensor, "b x"]) -> Float[Tensor, ""]:
        """The mean squared distance between x and its reconstruction."""
        return reconstruction_error(x, self(x))


def check_inputs(x: Tensor, layers: nn.Sequential) -> None:
    """Refuse examples of another width than that of the first layer."""
    width = layers[0].in_features
    if not x.dim() or x.shape[-1] != width:
        raise ShapeError(f"The encoder takes x with {width} inputs in each row, but x is {[*x.shape]}.")


def principal_angle(A: Float[Tensor, "x z"], B: Float[Tensor, "x z"]) -> float:
    r"""The largest angle between the planes that the columns of `A` and of `B` span, in radians: 0 if they are one plane.

    $$\cos \varphi = \sigma_{\min}(Q_A^\top Q_B)$$

    >>> A = torch.tensor([[1.0], [0.0]])
    >>> round(principal_angle(A, torch.tensor([[1.0], [1.0]])), 4)  # π/4
    0.7854
    """
    if A.dim() != 2 or A.shape != B.shape or A.shape[1] > A.shape[0] or not A.numel():
        raise ShapeError(f"Planes of one dimension in one space are compared: A is {[*A.shape]}, B is {[*B.shape]}.")
    Q_A, Q_B = torch.linalg.qr(A.double()).Q, torch.linalg.qr(B.double()).Q
    apart = torch.linalg.matrix_norm(Q_B - Q_A @ (Q_A.T @ Q_B), ord=2)  # the sine: precise for small angles
    return torch.asin(apart.clamp(max=1)).item()
