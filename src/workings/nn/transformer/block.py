r"""A Transformer block: attention, then a feed-forward network, each added to what came in (a residual) and normalised.

    X ← X + attention(norm(X))          pre-norm (Xiong et al. 2020): the sum runs through the stack untouched
    X ← X + ffn(norm(X))

    X ← norm(X + attention(X))          post-norm (Vaswani et al. 2017)
    X ← norm(X + ffn(X))

A decoder's block has cross-attention to the memory of an encoder in between. The Jacobian of X + F(X) is I + ∂F/∂X: an
identity that is added, not a lower bound (F(X) = −X makes it 0).

Axes: b batch, n tokens, m tokens of the memory, e width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.norms.per_token import LayerNorm, RMSNorm, rms_norm
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.feedforward import FeedForward
from workings.nn.transformer.multihead import MultiHeadAttention

Tokens = Float[Tensor, "*b n e"]
Memory = Float[Tensor, "*b m e"]
Mask = Bool[Tensor, "..."]
Positions = Callable[..., Tensor]
NORMS: dict[str, Callable[[int, float, bool], nn.Module]] = {
    "layer": LayerNorm,
    "rms": lambda width, eps, bias: RMSNorm(width, eps),  # it has no shift
}


class NormedAttention(MultiHeadAttention):
    r"""Attention whose queries and keys have length √d, so that the scores keep to a learned range (Henry et al. 2020).

    $$S = \frac{g}{\sqrt d} \frac{Q}{\operatorname{rms}(Q)} \frac{K^\top}{\operatorname{rms}(K)} = g \sqrt d \cos(Q, K)$$

    One number g is learned for each head.
    """

    def __init__(
        self, width: int, heads: int, *, bias: bool = True, positions: Positions | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(width, heads, bias=bias, positions=positions, dropout=dropout)
        self.g = nn.Parameter(torch.ones(heads, 1, 1))

    def queries_keys_values(self, X: Tensor, Y: Tensor | None, cache: KeyValueCache | None) -> tuple[Tensor, Tensor, Tensor]:
        Q, K, V = super().queries_keys_values(X, Y, cache)
        Q = self.g * rms_norm(Q)  # turning by a position keeps the length, so this may come after it
        K = rms_norm(K)
        return Q, K, V


class Block(nn.Module):
    """A block of an encoder, of a decoder (`causal` calls) or, with `cross`, of a decoder that also looks at a memory.

    `norm` says where to normalise, "pre" or "post", and `kind` how, "layer" or "rms". `positions` goes to the attention (see
    `MultiHeadAttention`). `dropout` drops weights of the attention and parts of what each layer adds. With `bias=False` the
    linear maps have no biases and the norms no shift.

    >>> Block(8, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int | None = None,
        *,
        norm: str = "pre",
        kind: str = "layer",
        activation: str = "relu",
        positions: Positions | None = None,
        dropout: float = 0.0,
        cross: bool = False,
        qk_norm: bool = False,
        eps: float = 1e-5,
        bias: bool = True,
    ) -> None:
        super().__init__()
        _check_settings(norm, kind)
        attention = NormedAttention if qk_norm else MultiHeadAttention
        self.norm, self.kind, self.cross = norm, kind, cross
        self.attention = attention(width, heads, bias=bias, positions=positions, dropout=dropout)
        self.norm_1 = NORMS[kind](width, eps, bias)
        if cross:
            self.to_memory = attention(width, heads, bias=bias, dropout=dropout)
            self.norm_2 = NORMS[kind](width, eps, bias)
        self.ffn = FeedForward(width, hidden, activation, bias)
        self.norm_3 = NORMS[kind](width, eps, bias)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(
        self,
        X: Tokens,
        memory: Memory | None = None,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Tokens:
        """The tokens, each with what it found in the others; `mask` and `memory_mask` are true where a query may look."""
        memory = memory_for(memory, self.cross)
        if self.norm == "pre":
            X = X + self.drop(self.attention(self.norm_1(X), None, mask, causal, cache))
            if self.cross:
                X = X + self.drop(self.to_memory(self.norm_2(X), memory, memory_mask))
            X = X + self.drop(self.ffn(self.norm_3(X)))
        else:
            X = self.norm_1(X + self.drop(self.attention(X, None, mask, causal, cache)))
            if self.cross:
                X = self.norm_2(X + self.drop(self.to_memory(X, memory, memory_mask)))
            X = self.norm_3(X + self.drop(self.ffn(X)))
        return X

    def weights(self, X: Tokens, mask: Mask | None = None, causal: bool = False) -> Float[Tensor, "*b h n n"]:
        """The weights of this block's self-attention, to look at."""
        X = self.norm_1(X) if self.norm == "pre" else X
        return self.attention.weights(X, None, mask, causal)


def _check_settings(norm: str, kind: str) -> None:
    if norm not in ("pre", "post"):
        raise DomainError(f"A block normalises before its layers ('pre') or after them ('post'), not {norm!r}.")
    if kind not in NORMS:
        raise DomainError(f"A block normalises by 'layer' norm or by 'rms' norm, not {kind!r}.")


def memory_for(memory: Tensor | None, cross: bool) -> Tensor | None:
    """The memory, if it is there where cross-attention needs it, and only there."""
    if cross and memory is None:
        raise ShapeError("This block has cross-attention: give it the memory, what the encoder made of the source.")
    if not cross and memory is not None:
        raise ShapeError("This block has no cross-attention, so it cannot use a memory: make it with cross=True.")
    return memory
