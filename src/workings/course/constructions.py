r"""What attention can be made to do: nothing, a permutation, an average. Tokens are rows.

    identity        S = β I: a_ii = e^β / (e^β + n − 1), which is 1 only for β → ∞
    permutation     q_j = k_π(j), orthonormal keys, β → ∞: z_j = v_π(j)
    width 1         A = I: Z = X W_V, a convolution with a kernel of one
    equal scores    z = (1/n) Σ x_i, the mean

Axes: b batch, n tokens, c channels in, o channels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError
from workings.nn.fits import check_at_least, check_shapes
from workings.nn.transformer.hard import argmax_weights

Square = Float[Tensor, "n n"]


def identity_diagonal(beta: Float[Tensor, "*b"], n: int) -> Float[Tensor, "*b"]:
    r"""The weight of each token on itself when the scores are the identity matrix: below 1 for every finite β.

    $$a_{ii} = \frac{e^{\beta}}{e^{\beta} + n - 1}$$

    >>> from workings import exact
    >>> print(identity_diagonal(exact("log(3)"), 4).text())
    1/2
    """
    check_at_least(1, n, "Self-attention needs at least one token, not {}.")
    β = beta
    a = β.exp() / (β.exp() + n - 1)
    return a


def identity_layer(X: Float[Tensor, "*b n c"], beta: Any = None) -> Float[Tensor, "*b n c"]:
    r"""Self-attention whose queries match their own keys, K Qᵀ = I; without `beta` in the limit β → ∞, which returns X.

    $$Z = \operatorname{softmax}(\beta I)\, X$$
    """
    check_shapes(identity_layer, X)
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
    check_shapes(permutation_layer, X)
    _check_permutation(order, X.shape[-2])
    K = identity(X)
    Q = K[list(order)]
    S = Q @ K.mT
    A = argmax_weights(S) if beta is None else (beta * S).softmax(dim=-1)
    Z = A @ X
    return Z


def identity(X: Float[Tensor, "*b n c"]) -> Square:
    """I, a row for each token, in the numbers of X."""
    return torch.diag_embed(X.new_ones(X.shape[-2]))


def _check_permutation(order: Sequence[int], n: int) -> None:
    """Refuse what does not name every token once."""
    if sorted(order) != list(range(n)):
        raise DomainError(f"A permutation of {n} tokens names each of 0 to {n - 1} once, but this is {list(order)}.")


def width_one(X: Float[Tensor, "*b n c"], W_V: Float[Tensor, "c o"]) -> Float[Tensor, "*b n o"]:
    r"""Self-attention with A = I: the same linear map at every place, a convolution with a kernel of one.

    $$Z = I X W_V$$
    """
    check_shapes(width_one, X, W_V)
    A = identity(X)
    V = X @ W_V
    Z = A @ V
    return Z


def uniform_average(X: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b 1 c"]:
    r"""The mean of the tokens, as a linear layer with equal weights: what attention with equal scores gives.

    $$z = \frac{1}{n} \mathbf{1}^\top X$$
    """
    check_shapes(uniform_average, X)
    n = X.shape[-2]
    W = X.new_ones(1, n) / n
    Z = W @ X
    return Z
