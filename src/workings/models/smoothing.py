r"""Bigram counts with interpolated Kneser–Ney smoothing (Kneser & Ney 1995; Chen & Goodman 1998).

    N_vw = sign c(v,w)                                  which pairs occur
    P₁(w) = Σ_v N_vw / Σ N                              in how many contexts w occurs, not how often
    P(w|v) = max(c(v,w) − D, 0) / c(v) + D N_v• / c(v) · P₁(w)

The discount D that each pair gives up is handed to P₁, so rows sum to 1. With `uniform`, P₁ gives up D in the same way to
1/V, so that words never seen after another have a probability too. A context never seen has P(w|v) = P₁(w).

Axes: v contexts (V words), w next words (V words), m tokens of a text.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_indices, check_inside, check_shapes
from workings.nn.objectives.perplexities import perplexity_from_log
from workings.nn.temperature import is_known

Counts = Float[Tensor, "v w"]
Number = int | float | Float[Tensor, ""]


def kneser_ney(C: Counts, D: Number, uniform: bool = True) -> Counts:
    r"""The table of P(w|v) from a table of counts C; exact on exact counts, and D may be a letter.

    $$P(w \mid v) = \frac{\max(c(v, w) - D, 0)}{c(v)} + \frac{D\, N_{v\bullet}}{c(v)} P_1(w)$$

    >>> kneser_ney(torch.tensor([[0.0, 2.0], [1.0, 1.0]]), 0.5, uniform=False)
    tensor([[0.0833, 0.9167],
            [0.4167, 0.5833]])
    """
    _check_counts(C)
    _check_discount(D)
    N = torch.sign(C)
    P_1 = continuation(N, D, uniform)
    c = C.sum(dim=1, keepdim=True)
    λ = D * N.sum(dim=1, keepdim=True)
    P = (C - D * N + λ * P_1) / c
    P = P.where(c > 0, P_1)  # a context never seen
    return P


def continuation(N: Counts, D: Number, uniform: bool) -> Float[Tensor, " w"]:
    r"""How likely a word is to be new in a context.

    $$P_1(w) = \frac{\sum_v N_{vw}}{\sum N}$$
    """
    n = N.sum(dim=0)
    if not uniform:
        return n / n.sum()
    N_1 = torch.sign(n)
    P_1 = (n - D * N_1 + D * N_1.sum() / len(n)) / n.sum()
    return P_1


class KneserNey:
    """The model of a text of word numbers, for vocabularies too large for a table.

    >>> model = KneserNey(torch.tensor([0, 1, 0, 1, 1, 0]), words=2)
    >>> model.probabilities(torch.tensor([0, 1]), torch.tensor([1, 1]))
    tensor([0.9667, 0.3556], dtype=torch.float64)
    """

    def __init__(self, tokens: Int[Tensor, " m"], words: int, D: float | None = None, uniform: bool = True) -> None:
        check_indices("Tokens", tokens, words)
        check_shapes(KneserNey.__init__, self, tokens)
        if len(tokens) < 2:
            raise DomainError(f"Bigrams need a text of at least 2 tokens; this one has {len(tokens)}.")
        self.words = words
        self.pairs, self.counts = torch.unique(tokens[:-1] * words + tokens[1:], return_counts=True)
        self.D = float(estimated_discount(self.counts) if D is None else D)
        _check_discount(self.D)
        v, w = self.pairs // words, self.pairs % words
        self.context = torch.zeros(words, dtype=torch.float64).index_add_(0, v, self.counts.double())
        self.followers = torch.bincount(v, minlength=words).double()
        self.continuation = continuation(torch.bincount(w, minlength=words).double().unsqueeze(0), self.D, uniform)

    def probabilities(self, v: Int[Tensor, " m"], w: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
        """P(w|v) for pairs of words."""
        check_indices("Tokens", v, self.words)
        check_indices("Tokens", w, self.words)
        check_shapes(KneserNey.probabilities, self, v, w)
        key = v * self.words + w
        at = torch.searchsorted(self.pairs, key).clamp(max=len(self.pairs) - 1)
        C = torch.where(self.pairs[at] == key, self.counts[at], 0).double()
        c, λ, P_1 = self.context[v], self.D * self.followers[v], self.continuation[w]
        return torch.where(c > 0, ((C - self.D).clamp(min=0) + λ * P_1) / c.clamp(min=1), P_1)

    def log_probabilities(self, tokens: Int[Tensor, " m"]) -> Float[Tensor, " n"]:
        """log P(next token) at each place of a text, the first left out."""
        check_shapes(KneserNey.log_probabilities, self, tokens)
        if len(tokens) < 2:
            raise DomainError(f"The perplexity of bigrams needs at least 2 tokens; this text has {len(tokens)}.")
        return self.probabilities(tokens[:-1], tokens[1:]).log()

    def perplexity(self, tokens: Int[Tensor, " m"]) -> float:
        """Per token of a text, the first left out; infinite if the text holds a pair of probability 0."""
        return perplexity_from_log(self.log_probabilities(tokens)).item()


def estimated_discount(counts: Int[Tensor, " pairs"]) -> float:
    r"""From the numbers n₁ and n₂ of pairs seen once and twice; 3/4 if there are none of one kind (Ney et al. 1994).

    $$D = \frac{n_1}{n_1 + 2 n_2}$$
    """
    n_1, n_2 = int((counts == 1).sum()), int((counts == 2).sum())
    return n_1 / (n_1 + 2 * n_2) if n_1 and n_2 else 0.75


def _check_discount(D: Number) -> None:
    """Refuse a discount that a count of 1 cannot give up."""
    if is_known(D) and not 0 < D <= 1:
        raise DomainError(f"A discount is taken from counts of 1 and more, so 0 < D ≤ 1; D = {float(D):g}.")


def _check_counts(C: Tensor) -> None:
    """Refuse what is not a square table of counts."""
    if C.dim() != 2 or C.shape[0] != C.shape[1]:
        raise ShapeError(f"Counts of bigrams form a table of words × words; C is {[*C.shape]}.")
    check_inside("Counts are 0, 1, 2, …", C, lambda C: ~((C >= 0) & (C.floor() == C)))
    if not C.any():
        raise DomainError("Counts are 0, 1, 2, …, and at least one pair occurs.")
