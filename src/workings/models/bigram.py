r"""A neural bigram language model: the next word from the vector of this one.

    x = E[v]                        the vector of the current word
    h = σ(x W₁ + b₁)
    ŷ = softmax(h W₂ + b₂)          the distribution of the next word

Axes: b examples, m tokens of a text, w words of the vocabulary, d width of a vector.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.models.mlp import MLP, Gradients, gradients
from workings.nn.fits import check_indices, check_shapes
from workings.nn.objectives.losses import cross_entropy
from workings.nn.objectives.perplexities import perplexity_from_log

Tokens = Int[Tensor, " m"]


class NeuralBigram(nn.Module):
    """Vectors `E` (held fixed, or trained too with `train_vectors`) into the network of one hidden layer.

    >>> model = NeuralBigram(torch.randn(10, 4), hidden=8)
    >>> model(torch.tensor([0, 3])).shape
    torch.Size([2, 10])
    """

    def __init__(self, E: Float[Tensor, "w d"], hidden: int, train_vectors: bool = False) -> None:
        super().__init__()
        if E.dim() != 2:
            raise ShapeError(f"Word vectors are a table of words × width; E is {[*E.shape]}.")
        words, width = E.shape
        self.E = nn.Parameter(E.detach().clone(), requires_grad=train_vectors)
        self.network = MLP(width, hidden, words)

    def forward(self, v: Int[Tensor, " b"]) -> Float[Tensor, "b w"]:
        """The scores of the next word; softmax makes them ŷ."""
        check_indices("Tokens", v, len(self.E))
        x = self.E[v]
        θ = self.network(x)
        return θ

    def loss(self, v: Int[Tensor, " b"], w: Int[Tensor, " b"]) -> Float[Tensor, ""]:
        """The mean cross-entropy of next words `w` after words `v`."""
        check_indices("Tokens", w, len(self.E))
        check_shapes(NeuralBigram.loss, self, v, w)
        return cross_entropy(self(v), w)

    @torch.no_grad()
    def log_probabilities(self, tokens: Tokens, batch: int = 4096) -> Tensor:
        """log P(next word) at each place of a text, the first left out."""
        check_shapes(NeuralBigram.log_probabilities, self, tokens)
        if len(tokens) < 2:
            raise DomainError(f"Bigrams need a text of at least 2 tokens; this one has {len(tokens)}.")
        parts = [
            -F.cross_entropy(self(v), w, reduction="none")
            for v, w in zip(tokens[:-1].split(batch), tokens[1:].split(batch), strict=True)
        ]
        return torch.cat(parts)

    def perplexity(self, tokens: Tokens) -> float:
        """Per word of a text, the first left out."""
        return perplexity_from_log(self.log_probabilities(tokens).double()).item()


def sampled_pairs(tokens: Tokens, size: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """`size` places of a text drawn at random: the words there, and the words that follow them.

    >>> v, w = sampled_pairs(torch.arange(100), 5)
    >>> (w - v).tolist()
    [1, 1, 1, 1, 1]
    """
    check_shapes(sampled_pairs, tokens)
    if len(tokens) < 2 or size < 1:
        raise DomainError(
            f"Pairs are drawn from at least 2 tokens, at least 1 at a time; {len(tokens)} tokens, size = {size}."
        )
    at = torch.randint(len(tokens) - 1, (size,), generator=generator)
    return tokens[at], tokens[at + 1]


def cost_and_gradient(model: NeuralBigram, v: Int[Tensor, " b"], w: Int[Tensor, " b"]) -> Gradients:
    """The mean cost of pairs and its gradients by the written-out equations, without autograd."""
    for words in (v, w):
        check_indices("Tokens", words, len(model.E))
    check_shapes(cost_and_gradient, model, v, w)
    x = model.E[v].detach()
    y = F.one_hot(w, len(model.E)).to(x)
    with torch.no_grad():
        summed = gradients(x, y, model.network.weights)
        return Gradients(*(g / len(v) for g in summed))
