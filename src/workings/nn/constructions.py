r"""What attention can be made to do: nothing, a permutation, a convolution. Tokens are rows.

    identity        S = β I: a_ii = e^β / (e^β + n − 1), which is 1 only for β → ∞
    permutation     q_j = k_π(j), orthonormal keys, β → ∞: z_j = v_π(j)
    width 1         A = I: Z = X W_V, a convolution with a kernel of one
    kernel w ≥ 0    scores log w_(j−i), other keys masked: a convolution, the ends renormalised
    any kernel      a head for each offset r, all weight on the token r places away: Z = Σ_r (shift_r X) W_r

Axes: b batch, n tokens, c channels in, o channels out, k kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.hard import argmax_weights
from workings.nn.positions import distances

Square = Float[Tensor, "n n"]


def identity_diagonal(beta: Float[Tensor, "*b"], n: int) -> Float[Tensor, "*b"]:
    r"""The weight of each token on itself when the scores are the identity matrix: below 1 for every finite β.

    $$a_{ii} = \frac{e^{\beta}}{e^{\beta} + n - 1}$$

    >>> from workings import exact
    >>> print(identity_diagonal(exact("log(3)"), 4).text())
    1/2
    """
    β = beta
    a = β.exp() / (β.exp() + n - 1)
    return a


def identity_layer(X: Float[Tensor, "*b n c"], beta: Any = None) -> Float[Tensor, "*b n c"]:
    r"""Self-attention whose queries match their own keys, K Qᵀ = I; without `beta` in the limit β → ∞, which returns X.

    $$Z = \operatorname{softmax}(\beta I)\, X$$
    """
    S = identity(X)
    A = argmax_weights(S) if beta is None else (beta * S).softmax(dim=-1)
    Z = A @ X
    return Z


def permutation_layer(X: Float[Tensor, "*b n c"], order: Sequence[int], beta: Any = None) -> Float[Tensor, "*b n c"]:
    r"""Self-attention that shuffles its tokens: the query of token j is the key of token π(j), π = `order`.

    $$z_j = v_{\pi(j)}, \qquad A_{j,\pi(j)} = 1$$

    >>> print(permutation_layer(torch.tensor([[1.0], [2.0], [3.0]]), [1, 2, 0]).T)
    tensor([[2., 3., 1.]])
    """
    n = X.shape[-2]
    if sorted(order) != list(range(n)):
        raise DomainError(f"A permutation of {n} tokens names each of 0 to {n - 1} once, but this is {list(order)}.")
    K = identity(X)
    Q = K[list(order)]
    S = Q @ K.mT
    A = argmax_weights(S) if beta is None else (beta * S).softmax(dim=-1)
    Z = A @ X
    return Z


def identity(X: Float[Tensor, "*b n c"]) -> Square:
    """I, a row for each token, in the numbers of X."""
    return torch.diag_embed(X.new_ones(X.shape[-2]))


def width_one(X: Float[Tensor, "*b n c"], W_V: Float[Tensor, "c o"]) -> Float[Tensor, "*b n o"]:
    r"""Self-attention with A = I: the same linear map at every place, a convolution with a kernel of one.

    $$Z = I X W_V$$
    """
    A = identity(X)
    V = X @ W_V
    Z = A @ V
    return Z


def uniform_average(X: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b 1 c"]:
    r"""The mean of the tokens, as a linear layer with equal weights: what attention with equal scores gives.

    $$z = \frac{1}{n} \mathbf{1}^\top X$$
    """
    n = X.shape[-2]
    W = X.new_ones(1, n) / n
    Z = W @ X
    return Z


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
    w = odd(kernel)
    if (w < 0).any() or not torch.isclose(w.sum(), w.new_ones(())):
        raise DomainError("One head averages, so its kernel is ≥ 0 and sums to 1; conv1d_by_heads takes any kernel.")
    offset = -distances(n)  # j − i
    reach = len(w) // 2
    W = w[(offset + reach).clamp(0, len(w) - 1)]
    within = offset.abs() <= reach
    blind = ((W * within).sum(dim=-1) == 0).nonzero().flatten().tolist()
    if blind:
        raise DomainError(
            f"The token at {blind[0]} of {n} finds no key with a weight in reach of the kernel, "
            "and a softmax over nothing has no value: conv1d_by_heads pads the ends with zeros."
        )
    B = W.log().masked_fill(~within, -inf)
    A = B.softmax(dim=-1)
    return A


def odd(kernel: Tensor) -> Tensor:
    """The kernel, after refusing one without a middle."""
    if kernel.shape[-1] % 2 == 0:
        raise ShapeError(f"A kernel centred on its token has an odd width, but this one has {kernel.shape[-1]} entries.")
    return kernel


def same_channels(c: int, kernel: Tensor) -> None:
    """Refuse a kernel for another number of channels."""
    if kernel.shape[1] != c:
        raise ShapeError(
            f"W_V^r needs a slice of the kernel for each of the c = {c} channels of X, but it is {[*kernel.shape]}."
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
    n, k = X.shape[-2], odd(kernel).shape[-1]
    same_channels(X.shape[-1], kernel)
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
    (height, width), k = X.shape[-2:], odd(kernel).shape[-1]
    same_channels(X.shape[-3], kernel)
    if kernel.shape[-2] != k:
        raise ShapeError(f"A head for each of the k² offsets needs a square kernel, but this one is {[*kernel.shape]}.")
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
