r"""The Transformer (Vaswani et al. 2017): an encoder of the source, and a decoder that predicts the target from it.

    X = E[tokens] + P                   embeddings and positions
    X = block(X)                        several times
    memory = encoder(source)
    logits = decoder(target, memory) Eᵀ

In training the whole target goes through in one pass: row t predicts token t + 1 (teacher forcing). In generation
`EncoderDecoder.given(source)` predicts one token at a time, with a cache; see `workings.models.decoding.search`.

Axes: b batch, n tokens of the target, m of the source, e width, v vocabulary.
"""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_indices
from workings.nn.transformer.block import NORMS, Block
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.masks import padding_mask
from workings.nn.transformer.positions import (
    Learned,
    RelativeBias,
    Rotary,
    alibi_slopes,
    distances,
    positions_of,
    sinusoidal,
)

ADDED = ("none", "sinusoidal", "learned")
IN_ATTENTION = ("relative", "rope", "alibi")
Source = Int[Tensor, "b m"]
Target = Int[Tensor, "b n"]
Lengths = Int[Tensor, " b"]


class Alibi(nn.Module):
    r"""$$B_{kij} = -slope_k \, |i - j|$$ for the last n of m positions; the slopes follow the model's device and dtype."""

    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(heads).reshape(-1, 1, 1), persistent=False)

    def forward(self, n: int, m: int | None = None) -> Float[Tensor, "h n m"]:
        B = -self.slopes * distances(n, m, self.slopes.device).abs()
        return B


class Embedding(nn.Module):
    """Tokens as vectors: a row of E each, with positions that are added, and segments if there are any.

    Sinusoids have entries of size 1, so they are added to rows of that size: √width times those of E, as in the paper.
    """

    def __init__(
        self, vocabulary: int, width: int, positions: str = "sinusoidal", context: int | None = None, segments: int = 0
    ) -> None:
        super().__init__()
        if positions not in ADDED + IN_ATTENTION:
            names = ", ".join(map(repr, ADDED + IN_ATTENTION))
            raise DomainError(f"The positions of a model are one of {names}, not {positions!r}.")
        if positions == "learned" and context is None:
            raise DomainError("Learned positions are a table: say by context=… for how many tokens.")
        self.positions, self.context = positions, context
        self.E = table(vocabulary, width, std=width**-0.5 if positions == "sinusoidal" else 0.02)
        self.P = Learned(context or 0, width) if positions == "learned" else None
        self.S = table(segments, width) if segments else None

    def forward(
        self, tokens: Int[Tensor, "*b n"], start: int = 0, segments: Int[Tensor, "*b n"] | None = None
    ) -> Float[Tensor, "*b n e"]:
        n = length_of(tokens, self.E, start, self.context)
        X = F.embedding(tokens, self.E)
        if self.P is not None:
            X = X + self.P(n, start)
        if self.positions == "sinusoidal":
            X = sqrt(X.shape[-1]) * X + sinusoids(X, start)
        if self.S is not None:
            S = torch.zeros_like(tokens) if segments is None else segments
            _check_segments(S, tokens, self.S)
            X = X + F.embedding(S, self.S)
        return X


def table(rows: int, width: int, std: float = 0.02) -> nn.Parameter:
    return nn.Parameter(torch.empty(rows, width).normal_(std=std))


def sinusoids(X: Float[Tensor, "*b n e"], start: int) -> Float[Tensor, "n e"]:
    """The sinusoidal encodings of the positions of X, exact if X is."""
    return sinusoidal(positions_of(X, X.shape[-2], start), X.shape[-1])


def length_of(tokens: Tensor, E: Tensor, start: int, context: int | None) -> int:
    """How many tokens there are, after refusing none, too many, and ones that E has no row for."""
    n = tokens.shape[-1] if tokens.dim() else 0
    if not n or not tokens.numel():
        raise ShapeError(f"A model needs at least one token, but the tokens are {[*tokens.shape]}.")
    if context is not None and start + n > context:
        raise DomainError(f"This model takes at most {context} tokens, but {start + n} came: give it the last {context}.")
    check_indices("Tokens", tokens, len(E))
    return n


def _check_segments(S: Tensor, tokens: Tensor, table: Tensor) -> None:
    """Refuse segments that do not say of each token which of the texts it belongs to."""
    if S.shape != tokens.shape:
        raise ShapeError(f"Each token has a segment: the tokens are {[*tokens.shape]}, the segments {[*S.shape]}.")
    check_indices("Segments", S, len(table))


def attention_positions(positions: str, heads: int, context: int | None) -> Any:
    """What a block's attention does with positions; None where they are added to the embeddings, or there are none."""
    bias = partial(RelativeBias, heads, context or 128)
    makers: dict[str, Any] = {"rope": Rotary, "alibi": partial(Alibi, heads), "relative": bias}
    return makers[positions]() if positions in makers else None


def stack(depth: int, width: int, heads: int, positions: str, context: int | None, **options: Any) -> nn.ModuleList:
    """Blocks of one kind, each with its own weights."""
    if depth < 1:
        raise DomainError(f"A stack of blocks has a depth of at least 1, not {depth}.")
    return nn.ModuleList(
        Block(width, heads, positions=attention_positions(positions, heads, context), **options) for _ in range(depth)
    )


class Cache:
    """The keys and values of each layer of a model, for decoding token by token."""

    def __init__(self, depth: int) -> None:
        self.layers = [KeyValueCache() for _ in range(depth)]

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return len(self.layers[0])

    def select(self, rows: Int[Tensor, " b"]) -> None:
        """Go on with these rows of the batch, some perhaps more than once: beam search drops some and splits others."""
        for layer in self.layers:
            if layer.rows is not None:
                K, V = layer.rows
                layer.rows = K[rows], V[rows]


class Encoder(nn.Module):
    """Every token of the source with what it found in all the others. `options` go to `Block`.

    `embedding_norm` normalises the embeddings first, as BERT does. With `norm="pre"` a last norm follows the blocks.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        heads: int,
        depth: int,
        *,
        positions: str = "sinusoidal",
        context: int | None = None,
        segments: int = 0,
        embedding_norm: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.embedding = Embedding(vocabulary, width, positions, context, segments)
        self.first_norm = norm_of(options, width) if embedding_norm else nn.Identity()
        self.blocks = stack(depth, width, heads, positions, context, **options)
        self.drop = drop_of(options)
        self.last_norm = norm_of(options, width) if options.get("norm", "pre") == "pre" else nn.Identity()

    def forward(
        self, tokens: Source, lengths: Lengths | None = None, segments: Int[Tensor, "b m"] | None = None
    ) -> Float[Tensor, "b m e"]:
        """`lengths` says how many tokens of each row are there; what follows is padding, which nobody looks at."""
        mask = mask_of(tokens, lengths)
        X = self.embedding(tokens, segments=segments)
        X = self.drop(self.first_norm(X))
        for block in self.blocks:
            X = block(X, mask=mask)
        return self.last_norm(X)


class Decoder(nn.Module):
    """Every token of the target with what it found in those before it and in the memory. `options` go to `Block`."""

    def __init__(
        self,
        vocabulary: int,
        width: int,
        heads: int,
        depth: int,
        *,
        positions: str = "sinusoidal",
        context: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.embedding = Embedding(vocabulary, width, positions, context)
        self.blocks = stack(depth, width, heads, positions, context, cross=True, **options)
        self.drop = drop_of(options)
        self.last_norm = norm_of(options, width) if options.get("norm", "pre") == "pre" else nn.Identity()

    def forward(
        self,
        tokens: Target,
        memory: Float[Tensor, "b m e"],
        memory_mask: Bool[Tensor, "b 1 m"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "b n e"]:
        X = self.embedding(tokens, start=0 if cache is None else cache.length)
        X = self.drop(X)
        layers = [None] * len(self.blocks) if cache is None else cache.layers
        for block, layer in zip(self.blocks, layers, strict=True):
            X = block(X, memory, memory_mask=memory_mask, causal=True, cache=layer)
        return self.last_norm(X)


class EncoderDecoder(nn.Module):
    """The Transformer: logits for the token after each token of the target, given the source.

    The output layer is tied to the target's embedding. `source_vocabulary` and `target_vocabulary` may be the same number.

    >>> model = EncoderDecoder(5, 7, width=8, heads=2, depth=1)
    >>> model(torch.tensor([[1, 2, 3]]), torch.tensor([[0, 4]])).shape
    torch.Size([1, 2, 7])
    """

    def __init__(
        self, source_vocabulary: int, target_vocabulary: int, width: int, heads: int, depth: int, **options: Any
    ) -> None:
        super().__init__()
        self.encoder = Encoder(source_vocabulary, width, heads, depth, **options)
        self.decoder = Decoder(target_vocabulary, width, heads, depth, **options)

    def forward(self, source: Source, target: Target, lengths: Lengths | None = None) -> Float[Tensor, "b n v"]:
        memory = self.encoder(source, lengths)
        if source.shape[:-1] != target.shape[:-1]:
            raise ShapeError(f"Each source has its target: the source is {[*source.shape]}, the target {[*target.shape]}.")
        return self.decode(target, memory, mask_of(source, lengths))

    def decode(
        self, target: Target, memory: Float[Tensor, "b m e"], memory_mask: Tensor | None = None, cache: Cache | None = None
    ) -> Float[Tensor, "b n v"]:
        """Logits for the token after each of these, given what the encoder made of the source."""
        X = self.decoder(target, memory, memory_mask, cache)
        logits = X @ self.decoder.embedding.E.mT
        return logits

    def loss(self, source: Source, target: Target, lengths: Lengths | None = None, ignore: int = -100) -> Float[Tensor, ""]:
        """Mean cross-entropy of every token of the target after the first, given those before it; one forward pass."""
        check_answers(target)
        logits = self(source, target[:, :-1], lengths)
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=ignore)

    def given(self, source: Int[Tensor, " m"]) -> Given:
        """A decoder for this one source, to be used with `greedy`, `sample` and `beam`."""
        with torch.no_grad():
            return Given(self, self.encoder(source.reshape(1, -1)))


def check_answers(tokens: Tensor) -> None:
    """Refuse texts without a token to predict."""
    if tokens.dim() != 2 or tokens.shape[1] < 2:
        raise ShapeError(f"Predicting the next token needs rows of at least 2 tokens, but the tokens are {[*tokens.shape]}.")


class Given:
    """A model of the next token of the target once the source is known."""

    def __init__(self, model: EncoderDecoder, memory: Float[Tensor, "1 m e"]) -> None:
        self.model, self.memory = model, memory
        self.context = model.decoder.embedding.context

    def __call__(self, tokens: Target, cache: Cache | None = None) -> Float[Tensor, "b n v"]:
        return self.model.decode(tokens, self.memory.expand(len(tokens), -1, -1), cache=cache)

    def new_cache(self) -> Cache:
        return Cache(len(self.model.decoder.blocks))


def mask_of(tokens: Tensor, lengths: Tensor | None) -> Tensor | None:
    """Which tokens may be looked at: those before the padding."""
    if lengths is not None and lengths.shape != tokens.shape[:-1]:
        raise ShapeError(
            f"Each row of tokens has a length: the tokens are {[*tokens.shape]}, the lengths {[*lengths.shape]}."
        )
    return None if lengths is None else padding_mask(lengths, tokens.shape[-1])


def norm_of(options: dict[str, Any], width: int) -> nn.Module:
    return NORMS[options.get("kind", "layer")](width, options.get("eps", 1e-5), options.get("bias", True))


def drop_of(options: dict[str, Any]) -> nn.Module:
    p = options.get("dropout", 0.0)
    return nn.Dropout(p) if p else nn.Identity()
