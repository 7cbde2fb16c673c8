r"""A small Transformer over characters that learns quickly: what it needs to know of the last three it is told at once.

    X = norm(E₁[c_t] + E₂[c_{t−1} c_t] + E₃[c_{t−2} c_{t−1} c_t])      a vector for the character, the pair, the triple
    X ← X + attention(norm(X)) W_Oᵀ                                    RoPE on queries and keys of length √d
    X ← X + relu(norm(X) W₁)² W₂                                       both layers begin as X ← X: W_O = W₂ = 0
    θ = 15 tanh(norm(X) W / 15)                                        scores of the next character, within ±15

`norm` is layer norm without weights. A token looks at itself and at the `window` − 1 before it, so a text may be of any
length. The triples share `rows` vectors: the number of a triple, scrambled, says which is its own, and two may meet
(Svenstrup et al. 2017); so do the pairs of a large alphabet. Two of character 0 stand before the text. What each of these
choices is worth was measured: see docs/log.md.

Axes: b batch, n tokens, e width, h heads, d width of a head, c characters of the alphabet.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import ShapeError
from workings.fused import fused
from workings.models.transformer import Cache, length_of
from workings.nn.norms.per_token import layer_norm
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import attention
from workings.nn.transformer.multihead import side_by_side, split_heads
from workings.nn.transformer.positions import distances, positions_of, rope

Tokens = Int[Tensor, "b n"]
Rows = Float[Tensor, "b n e"]
Heads = Float[Tensor, "b h n d"]
BOUND = 15.0
"""Scores stay within ± this."""
SCRAMBLE, PRIME = 2654435761, 4294967291
"""Knuth's multiplier, 2³² times the golden ratio, and the largest prime below 2³²."""


def _together(X: Tensor, W_QKV: Tensor, heads: int, start: int) -> tuple[Tensor, Tensor, Tensor]:
    """What `queries_keys_values` computes: turning a pair of entries is a product of complex numbers."""
    b, n, _ = X.shape
    QKV = F.linear(X, W_QKV).view(b, n, 3, heads, -1).permute(2, 0, 3, 1, 4)  # 3 b h n d
    d = QKV.shape[-1]
    QK = F.layer_norm(QKV[:2], (d,))
    turn = turns(start + n, d, X.dtype, X.device)[start:]
    QK = torch.view_as_real(torch.view_as_complex(QK.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    return QK[0], QK[1], QKV[2]


@fused(_together)
def queries_keys_values(X: Rows, W_QKV: Float[Tensor, "w e"], heads: int, start: int) -> tuple[Heads, Heads, Heads]:
    r"""Queries and keys of one length, turned by their positions; values as they are.

    $$Q = \operatorname{rope}(\operatorname{norm}(X W_Q^\top)), \qquad
    K = \operatorname{rope}(\operatorname{norm}(X W_K^\top)), \qquad V = X W_V^\top$$
    """
    W_Q, W_K, W_V = W_QKV.chunk(3)
    pos = positions_of(X, X.shape[1], start)
    Q = split_heads(X @ W_Q.mT, heads)
    K = split_heads(X @ W_K.mT, heads)
    V = split_heads(X @ W_V.mT, heads)
    Q = rope(layer_norm(Q), pos)
    K = rope(layer_norm(K), pos)
    return Q, K, V


TURNS: dict[tuple[int, torch.dtype, torch.device], Tensor] = {}


def turns(n: int, d: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """e^{i·pos·ω} for the first n positions, or more: they are computed once."""
    key = d, dtype, device
    if key not in TURNS or len(TURNS[key]) < n:
        with torch.inference_mode(False):  # they outlast it, and training takes no tensors that were made in it
            ω = 10000.0 ** (-2 * torch.arange(d // 2, dtype=torch.float64, device=device) / d)
            pos = torch.arange(max(64, 2 * n), dtype=torch.float64, device=device)
            θ = torch.outer(pos, ω).to(dtype)
            TURNS[key] = torch.complex(θ.cos(), θ.sin())
    return TURNS[key][:n]


class CharacterBlock(nn.Module):
    """Attention, then a feed-forward network whose hidden units are squared; each begins by adding nothing."""

    def __init__(self, width: int, heads: int, hidden: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.W_QKV = nn.Parameter(torch.empty(3 * width, width).normal_(std=width**-0.5))
        self.W_O = nn.Parameter(torch.zeros(width, width))
        self.W_1 = nn.Parameter(torch.empty(hidden, width).normal_(std=width**-0.5))
        self.W_2 = nn.Parameter(torch.zeros(width, hidden))

    def forward(self, X: Rows, cache: KeyValueCache | None = None) -> Rows:
        start = 0 if cache is None else len(cache)
        Q, K, V = queries_keys_values(layer_norm(X), self.W_QKV, self.heads, start)
        if cache is not None:
            K, V = cache.append(K, V)
        Z = attention(Q, K, V, in_reach(Q, K, self.window), causal=True)
        X = X + F.linear(side_by_side(Z), self.W_O)
        H = torch.relu(F.linear(layer_norm(X), self.W_1)) ** 2
        X = X + F.linear(H, self.W_2)
        return X


def in_reach(Q: Heads, K: Float[Tensor, "b h m d"], window: int) -> Tensor | None:
    """Keys less than `window` places back; no mask where that is all of them."""
    n, m = Q.shape[-2], K.shape[-2]
    return None if m <= window else distances(n, m, Q.device) < window


class Recent(Cache):
    """Keys and values of each layer, and the last two characters."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.before: Int[Tensor, "b 2"] | None = None

    def select(self, rows: Int[Tensor, " b"]) -> None:
        super().select(rows)
        self.before = None if self.before is None else self.before[rows]


class CharacterTransformer(nn.Module):
    """Scores of the character after each one.

    >>> model = CharacterTransformer(65, width=32, heads=2, depth=1)
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 65])
    """

    context = None  # any length: see `window`

    def __init__(
        self,
        characters: int,
        width: int = 64,
        heads: int = 2,
        depth: int = 2,
        *,
        hidden: int | None = None,
        window: int = 64,
        rows: int = 16384,
    ) -> None:
        super().__init__()
        if width % heads or width // heads % 2:
            raise ShapeError(
                f"RoPE turns pairs, so each of the {heads} heads needs an even part of the width; it is {width}."
            )
        self.characters, self.window = characters, window
        self.E_1 = nn.Parameter(torch.empty(characters, width).normal_(std=0.25))
        self.E_2 = nn.Parameter(torch.zeros(min(characters**2, rows), width))
        self.E_3 = nn.Parameter(torch.zeros(rows, width))
        self.blocks = nn.ModuleList(CharacterBlock(width, heads, hidden or 4 * width, window) for _ in range(depth))
        self.W = nn.Parameter(torch.zeros(characters, width))

    def forward(self, tokens: Tokens, cache: Recent | None = None) -> Float[Tensor, "b n c"]:
        """With a cache, `tokens` are those after the ones it holds."""
        X = self.vectors(tokens, cache)
        layers = [None] * len(self.blocks) if cache is None else cache.layers
        for block, layer in zip(self.blocks, layers, strict=True):
            X = block(X, layer)
        θ = F.linear(layer_norm(X), self.W)
        θ = BOUND * torch.tanh(θ / BOUND)
        return θ

    def vectors(self, tokens: Tokens, cache: Recent | None) -> Rows:
        """The sum of the vectors of each character, of the pair and of the triple it ends."""
        c, V = tokens, self.characters
        length_of(tokens, self.E_1, 0, None)
        before = tokens.new_zeros(len(tokens), 2) if cache is None or cache.before is None else cache.before
        text = torch.cat((before, tokens), dim=1)
        if cache is not None:
            cache.before = text[:, -2:]
        pair = text[:, 1:-1] * V + c
        triple = text[:, :-2] * V**2 + pair
        X = F.embedding(c, self.E_1) + F.embedding(row_of(pair, V**2, self.E_2), self.E_2)
        X = X + F.embedding(row_of(triple, V**3, self.E_3), self.E_3)
        return layer_norm(X)

    def loss(self, tokens: Tokens) -> Float[Tensor, ""]:
        """Mean cross-entropy of each character given those before it, the first left out."""
        θ = self(tokens[:, :-1])
        return F.cross_entropy(θ.flatten(0, 1), tokens[:, 1:].flatten())

    def new_cache(self) -> Recent:
        """An empty cache, for decoding token by token inside `torch.no_grad()`."""
        return Recent(len(self.blocks))


def row_of(number: Any, numbers: int, E: Tensor) -> Any:
    """The row of a table for each of `numbers` numbers: its own, or, where the table is shorter, a scrambled one.

    >>> row_of(torch.tensor([0, 1, 2]), 3, torch.zeros(5, 1)).tolist()
    [0, 1, 2]
    >>> row_of(torch.tensor([0, 1]), 9, torch.zeros(5, 1)).tolist()
    [0, 1]
    """
    return number if numbers <= len(E) else number * SCRAMBLE % PRIME % len(E)
