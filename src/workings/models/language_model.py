r"""A decoder-only language model (Radford et al. 2019): the distribution of the next token given all before it.

    X = E[tokens] + P
    X = block(X)                     causal, several times
    logits = norm(X) Eᵀ              row t predicts token t + 1

`positions` are added to the embeddings ("sinusoidal", "learned"), or act inside the attention ("relative", "rope", "alibi"),
or are left out ("none"): with one layer the output then depends on the current token and on which others came before, not
on their order.

Axes: b batch, n tokens, e width, v vocabulary.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.models.transformer import Cache, Embedding, check_answers, drop_of, norm_of, stack

Tokens = Int[Tensor, "b n"]


class LanguageModel(nn.Module):
    """Logits for the token after each token. `context` is the longest input, None for any; learned positions need one.

    With `tied`, the output layer is the embedding again; else it has weights of its own. `options` go to `Block`: `hidden`,
    `norm`, `kind`, `dropout`, `qk_norm`, `eps`, `bias` (False leaves all biases out).

    >>> model = LanguageModel(65, width=32, heads=4, depth=2, positions="rope")
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 65])
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        heads: int,
        depth: int,
        *,
        positions: str = "learned",
        context: int | None = None,
        tied: bool = True,
        activation: str = "gelu",
        **options: Any,
    ) -> None:
        super().__init__()
        self.embedding = Embedding(vocabulary, width, positions, context)
        self.blocks = stack(depth, width, heads, positions, context, activation=activation, **options)
        self.drop = drop_of(options)
        self.norm = norm_of(options, width) if options.get("norm", "pre") == "pre" else nn.Identity()
        self.W = None if tied else nn.Parameter(torch.empty(vocabulary, width))
        self.context = context
        self.reset_parameters()

    def reset_parameters(self, std: float = 0.02) -> None:
        """Normal weights, those that write into the residual narrower by √(2·depth), biases of 0 (Radford et al. 2019)."""
        narrow = std / sqrt(2 * len(self.blocks))
        for path, p in self.blocks.named_parameters():
            name = path.rpartition(".")[2]
            if name.startswith("W_"):
                nn.init.normal_(p, std=narrow if name in ("W_O", "W_2") else std)
            elif name.startswith("b_"):
                nn.init.zeros_(p)
        if self.W is not None:
            nn.init.normal_(self.W, std=std)

    def forward(self, tokens: Tokens, cache: Cache | None = None) -> Float[Tensor, "b n v"]:
        """With a cache, `tokens` are those after the ones it holds."""
        X = self.hidden(tokens, cache)
        E = self.embedding.E if self.W is None else self.W
        logits = X @ E.mT
        return logits

    def hidden(self, tokens: Tokens, cache: Cache | None = None) -> Float[Tensor, "b n e"]:
        """The last representation of each token, before the output layer."""
        X = self.embedding(tokens, start=0 if cache is None else cache.length)
        X = self.drop(X)
        layers = [None] * len(self.blocks) if cache is None else cache.layers
        for block, layer in zip(self.blocks, layers, strict=True):
            X = block(X, causal=True, cache=layer)
        X = self.norm(X)
        return X

    def loss(self, tokens: Tokens, ignore: int = -100) -> Float[Tensor, ""]:
        r"""Mean cross-entropy of each token given those before it: row t against token t + 1, one forward pass.

        $$L = -\frac{1}{n - 1} \sum_t \log P(\text{token}_{t+1} \mid \text{tokens}_{\le t})$$
        """
        check_answers(tokens)
        logits = self(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=ignore)

    def new_cache(self) -> Cache:
        """An empty cache, for decoding token by token inside `torch.no_grad()`."""
        return Cache(len(self.blocks))
