r"""Counts of n-grams of any order, each order smoothed by the one below it (absolute discounting: Ney, Essen & Kneser 1994).

    P₀(w) = 1/V
    P_k(w|h) = (max(c(h,w) − D, 0) + D N_h• P_{k−1}(w|h⁻)) / c(h)      h the k − 1 tokens before, h⁻ without the first

N_h• is the number of different tokens seen after h; a context never seen has P_k(w|h) = P_{k−1}(w|h⁻). Every token of the
vocabulary has a probability above 0, seen or not.

Axes: m tokens of a text.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import DomainError
from workings.models.smoothing import estimated_discount
from workings.nn.fits import check_indices
from workings.nn.objectives.perplexities import perplexity_from_log

Tokens = Int[Tensor, " m"]


class _Order(NamedTuple):
    """The n-grams of one length that occur, by number: c(h,w), c(h) and N_h•."""

    grams: Tensor
    counts: Tensor
    contexts: Tensor
    totals: Tensor
    followers: Tensor
    D: float


class NGrams:
    """The model of a text of token numbers, from 1-grams up to n-grams of `order` tokens; bigrams are of order 2.

    >>> model = NGrams(torch.tensor([0, 1, 0, 1, 1, 0]), tokens=2, order=2, D=0.5)
    >>> model.log_probabilities(torch.tensor([0, 1])).exp()  # (1.5 + 0.5 · 1 · ½) / 2
    tensor([0.8750], dtype=torch.float64)
    """

    def __init__(self, text: Tokens, tokens: int, order: int, D: float | None = None) -> None:
        check_indices("Tokens", text, tokens)
        if order < 1 or (tokens + 1) ** order >= 2**63:
            raise DomainError(f"n-grams of {tokens} tokens have an order from 1 up to what 63 bits can number; got {order}.")
        if not len(text) or (D is not None and not 0 < D <= 1):
            raise DomainError(f"n-grams need a text, and a discount 0 < D ≤ 1; {len(text)} tokens, D = {D}.")
        self.tokens, self.order = tokens, order
        self.orders = [self._count(text, k, D) for k in range(1, order + 1)]

    def _count(self, text: Tokens, k: int, D: float | None) -> _Order:
        h, gram = self._numbers(text, k)
        grams, counts = torch.unique(gram, return_counts=True)
        contexts, totals = torch.unique(h, return_counts=True)
        _, followers = torch.unique(grams // self._base, return_counts=True)
        return _Order(grams, counts, contexts, totals, followers, estimated_discount(counts) if D is None else D)

    @property
    def _base(self) -> int:
        """One more than the tokens: the last number stands for what is before the text."""
        return self.tokens + 1

    def _numbers(self, text: Tokens, k: int) -> tuple[Tensor, Tensor]:
        """The number of the context of each token, and of the n-gram that it ends."""
        before = torch.cat([text.new_full((self.order,), self.tokens), text])
        h = torch.zeros_like(text)
        for back in range(k - 1, 0, -1):
            h = h * self._base + before[self.order - back : len(before) - back]
        return h, h * self._base + text

    def probabilities(self, text: Tokens) -> Float[Tensor, " m"]:
        """P of each token given those before it, the first too."""
        check_indices("Tokens", text, self.tokens)
        P = torch.full((len(text),), 1 / self.tokens, dtype=torch.float64)
        for k, seen in enumerate(self.orders, 1):
            h, gram = self._numbers(text, k)
            at, known = _find(seen.contexts, h)
            c, N = seen.totals[at].double(), seen.followers[at]
            place, there = _find(seen.grams, gram)
            kept = torch.where(there, seen.counts[place] - seen.D, 0.0)
            P = torch.where(known, (kept + seen.D * N * P) / c, P)
        return P

    def log_probabilities(self, text: Tokens) -> Float[Tensor, " m"]:
        """log P of each token given those before it, the first left out."""
        return self.probabilities(text)[1:].log()

    def perplexity(self, text: Tokens) -> float:
        """Per token of a text, the first left out."""
        return perplexity_from_log(self.log_probabilities(text)).item()


def _find(among: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Where each number is in an ordered row, and whether it is there."""
    at = torch.searchsorted(among, numbers).clamp(max=len(among) - 1)
    return at, among[at] == numbers
