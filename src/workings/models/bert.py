r"""BERT (Devlin et al. 2019): an encoder that reads a text both ways, trained to fill in masked words.

    X = norm(E[tokens] + P + S[segments])          words, learned positions, which of two texts
    X = norm(X + attention(X)), norm(X + ffn(X))   post-norm blocks
    c = tanh(x₀ W + b)                             the pooled first token, for a whole text

Axes: b batch, n tokens, e width.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.models.transformer import Encoder

Tokens = Int[Tensor, "b n"]


class Bert(nn.Module):
    """BERT's encoder and its pooled first token.

    >>> model = Bert(vocabulary=30, width=8, heads=2, depth=1, context=16)
    >>> X, c = model(torch.tensor([[2, 7, 5, 3]]))
    >>> X.shape, c.shape
    (torch.Size([1, 4, 8]), torch.Size([1, 8]))
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        heads: int,
        depth: int,
        context: int,
        *,
        hidden: int | None = None,
        segments: int = 2,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        own: dict[str, Any] = {"positions": "learned", "embedding_norm": True, "norm": "post", "activation": "gelu"}
        sizes: dict[str, Any] = {"context": context, "segments": segments, "hidden": hidden, "dropout": dropout, "eps": eps}
        self.encoder = Encoder(vocabulary, width, heads, depth, **own, **sizes)
        self.W = nn.Parameter(torch.empty(width, width).normal_(std=0.02))
        self.b = nn.Parameter(torch.zeros(width))

    def forward(
        self, tokens: Tokens, lengths: Int[Tensor, " b"] | None = None, segments: Tokens | None = None
    ) -> tuple[Float[Tensor, "b n e"], Float[Tensor, "b e"]]:
        """The tokens and the pooled first token; `lengths` says where padding begins, `segments` which text it is."""
        X = self.encoder(tokens, lengths, segments)
        c = torch.tanh(X[:, 0] @ self.W + self.b)
        return X, c
