r"""Attention inside a window, in n·w steps instead of n².

    S_ir = q_i · k_(i+r) / √d,   |r| ≤ ⌊w/2⌋     scores of the keys in reach
    A    = softmax(S)                            over r; keys beyond the ends are left out
    z_i  = Σ_r A_ir v_(i+r)

It equals attention with `window_mask`, whose score matrix is mostly −∞.
Axes: b batch, n tokens, d width of a key, t width of a value, r places in the window.
"""

from __future__ import annotations

from math import inf, sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.nn.fits import check_at_least, check_shapes


def local_attention(
    Q: Float[Tensor, "*#b n d"], K: Float[Tensor, "*#b n d"], V: Float[Tensor, "*#b n t"], width: int, causal: bool = False
) -> Float[Tensor, "*#b n t"]:
    r"""Each query looks at the keys at most ⌊w/2⌋ places away, w = `width`; with `causal` none of them ahead.

    $$z_i = \sum_{|r| \le \lfloor w/2 \rfloor} A_{ir}\, v_{i+r}$$

    >>> from workings import exact
    >>> print(local_attention(exact("0; 0; 0"), exact("1; 2; 3"), exact("2; 4; 9"), 3).T.text())
    [3  5  13/2]
    """
    check_shapes(local_attention, Q, K, V)
    check_at_least(1, width, "A window needs a width of at least 1, not {}: each query sees its own key.")
    d = Q.shape[-1]
    back = width // 2
    ahead = 0 if causal else back
    K = windows(K, back, ahead)  # b n d r
    V = windows(V, back, ahead)  # b n t r
    S = (Q.unsqueeze(-2) @ K).squeeze(-2) / sqrt(d)
    S = S.masked_fill(outside(Q.shape[-2], back, ahead, Q.device), -inf)
    A = S.softmax(dim=-1)
    Z = (V @ A.unsqueeze(-1)).squeeze(-1)
    return Z


def windows(X: Float[Tensor, "*b n d"], back: int, ahead: int) -> Float[Tensor, "*b n d r"]:
    """For each token, the tokens from `back` before it to `ahead` after it; zeros beyond the ends."""
    return F.pad(X, (0, 0, back, ahead)).unfold(-2, back + 1 + ahead, 1)


def outside(n: int, back: int, ahead: int, device: torch.device) -> Tensor:
    """True where the window of a token stands out over an end of the sequence."""
    j = torch.arange(n, device=device).unsqueeze(-1) + torch.arange(-back, ahead + 1, device=device)
    return (j < 0) | (j >= n)
