r"""Convolution by attention (Cordonnier et al. 2020). Tokens are rows.

    kernel w ≥ 0    scores log w_(j−i), other keys masked: a convolution, the ends renormalised
    any kernel      a head for each offset r, all weight on the token r places away: Z = Σ_r (shift_r X) W_r

Axes: b batch, n tokens, c channels in, o channels out, k kernel.
"""

from __future__ import annotations

from math import inf

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_at_least, check_shapes
from workings.nn.transformer.hard import argmax_weights
from workings.nn.transformer.positions import distances

Square = Float[Tensor, "n n"]


def convolution_weights(n: int, kernel: Float[Tensor, " k"]) -> Square:
    r"""Weights of one head that convolves: the logarithms of the kernel as relative bias, every other key masked.

    $$A = \operatorname{softmax}(B), \qquad B_{ij} = \log w_{j-i}$$

    A softmax sums to 1, so this reaches kernels w ≥ 0 with sum 1, and at the ends the weights in reach are renormalised.

    >>> from workings import exact
    >>> print(convolution_weights(3, exact("1/4 1/2 1/4")).text())
    ⎡2/3  1/3    0⎤
    ⎢1/4  1/2  1/4⎥
    ⎣  0  1/3  2/3⎦
    """
    check_at_least(1, n, "Self-attention needs at least one token, not {}.")
    check_shapes(convolution_weights, n, kernel)
    _check_averages(kernel)
    w = kernel
    offset = -distances(n)  # j − i
    reach = len(w) // 2
    W = w[(offset + reach).clamp(0, len(w) - 1)]
    within = offset.abs() <= reach
    _check_reach(W * within)
    B = W.log().masked_fill(~within, -inf)
    A = B.softmax(dim=-1)
    return A


def _check_odd(kernel: Tensor) -> None:
    """Refuse a kernel without a middle."""
    if kernel.shape[-1] % 2 == 0:
        raise ShapeError(f"A kernel centred on its token has an odd width, but this one has {kernel.shape[-1]} entries.")


def _check_averages(w: Tensor) -> None:
    """Refuse a kernel that one head cannot have."""
    _check_odd(w)
    if (w < 0).any() or not torch.isclose(w.sum(), w.new_ones(())):
        raise DomainError("One head averages, so its kernel is ≥ 0 and sums to 1; conv1d_by_heads takes any kernel.")


def _check_reach(W: Tensor) -> None:
    """Refuse weights that leave a token nothing to look at."""
    blind = (W.sum(dim=-1) == 0).nonzero().flatten().tolist()
    if blind:
        raise DomainError(
            f"The token at {blind[0]} of {len(W)} finds no key with a weight in reach of the kernel, "
            "and a softmax over nothing has no value: conv1d_by_heads pads the ends with zeros."
        )


def offset_weights(n: int, r: int, like: Tensor, ends: int) -> Float[Tensor, "n p"]:
    r"""All weight on the key r places ahead, among n tokens with `ends` zero tokens before and after them.

    $$A = \operatorname{argmax}(S), \qquad S_{ij} = -(j - i - r)^2$$
    """
    j = torch.arange(-ends, n + ends)
    i = torch.arange(n).unsqueeze(-1)
    S = like.new_zeros(()) - (j - i - r) ** 2
    A = argmax_weights(S)
    return A


def conv1d_by_heads(
    X: Float[Tensor, "*b n c"], kernel: Float[Tensor, "o c k"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*b n o"]:
    r"""A zero-padded convolution as multi-head attention: a head for each offset r, its W_V the kernel's slice at r.

    $$Z = \sum_r A_r X_0\, W_V^r, \qquad W_V^r = (\text{kernel}_{:,:,r})^\top$$

    X₀ is X with zero tokens at both ends: weights sum to 1, so a head that finds nothing needs a zero to look at.

    >>> conv1d_by_heads(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[[-1.0, 0.0, 1.0]]])).T
    tensor([[ 2.,  3., -2.]])
    """
    check_shapes(conv1d_by_heads, X, kernel, bias)
    _check_odd(kernel)
    n, k = X.shape[-2], kernel.shape[-1]
    X_0 = F.pad(X, (0, 0, k // 2, k // 2))
    heads: list[Tensor] = []
    for r in range(k):
        A = offset_weights(n, r - k // 2, X, k // 2)
        V = X_0 @ kernel[:, :, r].T
        Z_r = A @ V
        heads = [*heads, Z_r]
    Z = torch.stack(heads).sum(0)
    return Z if bias is None else Z + bias


def conv2d_by_heads(
    X: Float[Tensor, "*b c y x"], kernel: Float[Tensor, "o c k k"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*b o y x"]:
    r"""A zero-padded convolution of an image as multi-head attention over its pixels: a head for each of the k² offsets.

    $$Z = \sum_{r,s} A_{rs} X_0\, W_V^{rs}$$
    """
    check_shapes(conv2d_by_heads, X, kernel, bias)
    _check_odd(kernel)
    (height, width), k = X.shape[-2:], kernel.shape[-1]
    half = k // 2
    X_0 = F.pad(X, (half, half, half, half)).flatten(-2).mT  # pixels are tokens: b p c
    heads: list[Tensor] = []
    for r in range(k):
        for s in range(k):
            down = offset_weights(height, r - half, X, half)
            right = offset_weights(width, s - half, X, half)
            A = torch.kron(down, right)  # the offset is reached in both directions
            V = X_0 @ kernel[:, :, r, s].T
            heads = [*heads, A @ V]
    Z = torch.stack(heads).sum(0)
    Z = Z if bias is None else Z + bias
    return Z.mT.unflatten(-1, (height, width))
