r"""A tiny decoder-only transformer for dedupe-and-sort: one causal attention layer, without positions, residual or norm.

    X = E[tokens]                    embeddings
    Q = X W_Q,  K = X W_K,  V = X W_V
    S = Q Kᵀ                         scores; −∞ for tokens that come later
    P = argmax(S)                    all weight on the best, ties share; or softmax(S / T)
    Z = P V                          two equal heads give [Z, Z]
    R = Z W_O
    logits = R Eᵀ                    the output layer is tied to the embedding

With argmax the weights P are constant pieces, so no gradient reaches W_Q and W_K; W_V, W_O and E still learn, because
Z = P X W_V is linear in W_V.

Axes: n tokens, e width of an embedding, d width of a head, v vocabulary.
"""

from __future__ import annotations

from math import inf

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.course.dedupe_task import START, VOCABULARY
from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_indices, check_shapes
from workings.nn.temperature import softmax
from workings.nn.transformer.hard import argmax_weights
from workings.nn.transformer.masks import causal_mask

PROJECTION = [[0, 3], [1, 2], [2, 1], [3, 0]]
"""W_Q = W_K = W_V."""
OUTPUT = [[0, 1, 0, 1], [1, 0, 1, 0]]
IDENTITY = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
EMBEDDING = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
"""A unit vector for each letter, nothing for ⟨START⟩ and ⟨STOP⟩."""

Tokens = Int[Tensor, " n"]


class DedupeDecoder(nn.Module):
    """The decoder with the weights of the problem; `T = 0` is argmax, a positive T softmax with that temperature.

    `heads=2` adds a second, identical head and the output projection I₄.

    >>> from workings.course.dedupe_task import encode
    >>> model = DedupeDecoder()
    >>> model(encode("D A A <START>"))[-1].tolist()
    [1.5, 0.75, 1.5, 0.75, 0.0, 0.0]
    """

    def __init__(self, T: float = 0.0, heads: int = 1) -> None:
        super().__init__()
        if not T >= 0 or heads not in (1, 2):
            raise DomainError(f"This decoder needs a temperature T ≥ 0 and 1 or 2 heads, not T = {T} and {heads} heads.")
        self.T, self.heads = T, heads
        self.W_Q, self.W_K, self.W_V = matrix(PROJECTION), matrix(PROJECTION), matrix(PROJECTION)
        self.W_O = matrix(OUTPUT if heads == 1 else IDENTITY)
        self.E = matrix(EMBEDDING)

    def forward(self, tokens: Tokens) -> Float[Tensor, "n v"]:
        _check_prompt(tokens)
        X = self.E[tokens]
        Q = X @ self.W_Q
        K = X @ self.W_K
        V = X @ self.W_V
        S = Q @ K.mT
        S = S.masked_fill(~causal_mask(len(tokens)), -inf)
        P = argmax_weights(S) if self.T == 0 else softmax(S, T=self.T)
        Z = P @ V
        if self.heads == 2:
            Z = torch.cat([Z, Z], dim=-1)
        R = Z @ self.W_O
        logits = R @ self.E.mT
        return logits


def matrix(rows: list[list[int]]) -> nn.Parameter:
    return nn.Parameter(torch.tensor(rows, dtype=torch.float64))


def answer_loss(logits: Float[Tensor, "m v"], tokens: Tokens, same_position: bool = False) -> Float[Tensor, ""]:
    r"""Cross-entropy of the answer under teacher forcing: row t of the logits predicts token t + 1.

    $$L = -\sum_{t \ge \text{START}} \log P(\text{token}_{t+1} \mid \text{tokens}_{\le t})$$

    `same_position` makes a common slip on purpose: it scores row t against token t, which that row has already seen.

    >>> from workings.course.dedupe_task import example
    >>> tokens = example("DAA")
    >>> round(answer_loss(DedupeDecoder()(tokens), tokens).item(), 5)
    8.79726
    """
    t = start_of(tokens, logits)
    y = tokens[t + 1 :]
    rows = logits[t + 1 :] if same_position else logits[t:-1]
    log_p = rows.log_softmax(dim=-1)
    L = -log_p[torch.arange(len(y)), y].sum()
    return L


def _check_prompt(tokens: Tokens) -> None:
    """Refuse what is not one row of tokens of the vocabulary."""
    if tokens.dim() != 1 or not len(tokens):
        raise ShapeError(f"The decoder reads one row of at least one token, but the tokens are {[*tokens.shape]}.")
    check_indices("Tokens", tokens, len(VOCABULARY))


def start_of(tokens: Tokens, logits: Tensor) -> int:
    """The place of ⟨START⟩, which must be there once, with an answer behind it and a row of logits for each token."""
    _check_prompt(tokens)
    places = (tokens == START).nonzero().flatten().tolist()
    if len(places) != 1 or places[0] == len(tokens) - 1:
        raise DomainError("The loss needs one <START> with the answer behind it: prompt <START> answer <STOP>.")
    if logits.shape != (len(tokens), len(VOCABULARY)):
        raise ShapeError(
            f"The loss needs a row of {len(VOCABULARY)} logits for each of the {len(tokens)} tokens, not {[*logits.shape]}."
        )
    return int(places[0])


def ties(W_O: Float[Tensor, "d e"], E: Float[Tensor, "v e"]) -> list[tuple[str, str]]:
    r"""Pairs of tokens whose logits are equal whatever the input: equal columns of $W_O E^\top$.

    >>> model = DedupeDecoder()
    >>> ties(model.W_O, model.E)
    [('A', 'C'), ('B', 'D'), ('<START>', '<STOP>')]
    """
    if W_O.dim() != 2 or E.dim() != 2 or W_O.shape[1] != E.shape[1]:
        raise ShapeError(f"W_O Eᵀ needs rows of one width: W_O is {[*W_O.shape]}, E is {[*E.shape]}.")
    M = W_O @ E.mT
    v = M.shape[1]
    pairs = [(i, j) for i in range(v) for j in range(i + 1, v) if bool((M[:, i] == M[:, j]).all())]
    return [(VOCABULARY[i], VOCABULARY[j]) for i, j in pairs]


def neutral_projection(W_O: Float[Tensor, "d e"], M: Float[Tensor, "d e"]) -> Float[Tensor, "2*d e"]:
    r"""An output projection for which a duplicated head changes nothing. Every one has this form, for some M.

    $$[Z, Z] \begin{bmatrix} M \\ W_O - M \end{bmatrix} = Z W_O$$
    """
    check_shapes(neutral_projection, W_O, M)
    return torch.cat([M, W_O - M])


def is_neutral(W: Float[Tensor, "h e"], W_O: Float[Tensor, "d e"]) -> bool:
    """Whether the two halves of `W` sum to `W_O`, so that [Z, Z] W = Z W_O for every Z.

    >>> W_O = DedupeDecoder().W_O.detach()
    >>> is_neutral(torch.eye(4), W_O), is_neutral(torch.cat([W_O, 0 * W_O]), W_O)
    (False, True)
    """
    if W_O.dim() != 2 or W.shape != (2 * W_O.shape[0], W_O.shape[1]):
        raise ShapeError(f"[Z, Z] W needs two rows of W for each of W_O: W is {[*W.shape]}, W_O is {[*W_O.shape]}.")
    top, bottom = W.chunk(2)
    return bool((top + bottom == W_O).all())


def descend(
    model: DedupeDecoder, tokens: Tokens, names: tuple[str, ...] = ("W_V",), rate: float = 0.1, steps: int = 200
) -> list[float]:
    """Plain gradient descent on the named matrices; the loss before each step and after the last."""
    weights = [getattr(model, name) for name in names]
    losses = []
    for _ in range(steps):
        L = answer_loss(model(tokens), tokens)
        losses.append(L.item())
        gradients = torch.autograd.grad(L, weights)
        with torch.no_grad():
            for W, g in zip(weights, gradients, strict=True):
                W -= rate * g
    return [*losses, answer_loss(model(tokens), tokens).item()]
