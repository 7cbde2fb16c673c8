r"""The deep averaging network (Iyyer et al. 2015): a text is the mean of its words.

    z = 1/n Σ_t E[w_t]              the order of the words is lost here
    h = relu(z W + b), …            hidden layers
    θ = h W_o + b_o                 scores of the classes

Word dropout leaves each word out of the mean with probability p while training.

Axes: b texts, t places of a text, w words of the vocabulary, d width of a vector, c classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.fused import fused
from workings.models.autoencoder import layers
from workings.nn.fits import check_indices
from workings.nn.objectives.losses import cross_entropy

Table = Float[Tensor, "w d"]


def _average_kernel(E: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    # The bag of a text is its words in a row, so a row of the mask is as many words as the text keeps.
    n = mask.sum(dim=1)
    offsets = n.cumsum(0) - n
    return F.embedding_bag(tokens[mask], E, offsets, mode="mean")


@fused(_average_kernel)
def average(E: Table, tokens: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b d"]:
    r"""The mean of the vectors of the words where `mask` is true; zeros for a text without words.

    $$z = \frac1n \sum_t E_{w_t}$$

    >>> average(torch.eye(3), torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    m = mask.unsqueeze(-1).to(E)
    n = m.sum(dim=1).clamp(min=1)
    X = E[tokens]
    z = (m * X).sum(dim=1) / n
    return z


class DeepAveraging(nn.Module):
    """Vectors `E`, the mean, hidden layers with ReLU, scores of the classes.

    Texts come as a padded table (with `mask`, or padded with the token `padding`), or as one row of tokens with `offsets`,
    the places where each text starts.

    >>> model = DeepAveraging(torch.randn(10, 4), hidden=[8], classes=2, word_dropout=0.0)
    >>> a, b = model(torch.tensor([[1, 2, 3], [3, 1, 2]]))
    >>> bool(torch.allclose(a, b))
    True
    """

    def __init__(
        self,
        E: Table,
        hidden: Sequence[int],
        classes: int,
        word_dropout: float = 0.3,
        padding: int | None = None,
        train_vectors: bool = True,
    ) -> None:
        super().__init__()
        if E.dim() != 2:
            raise ShapeError(f"Word vectors are a table of words × width; E is {[*E.shape]}.")
        if not 0 <= word_dropout < 1:
            raise DomainError(f"Word dropout is a probability below 1; got {word_dropout:g}.")
        if padding is not None and not 0 <= padding < len(E):
            raise DomainError(f"The padding token is one of the {len(E)} words of the table; got {padding}.")
        self.E = nn.Parameter(E.detach().clone(), requires_grad=train_vectors)
        self.word_dropout, self.padding = word_dropout, padding
        self.network = layers([E.shape[1], *hidden, classes])

    def forward(
        self, tokens: Tensor, mask: Bool[Tensor, "b t"] | None = None, offsets: Int[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b c"]:
        """The scores of the classes."""
        if offsets is not None:
            tokens, mask = padded(tokens, offsets)
        check_indices("Tokens", tokens, len(self.E))
        mask = self.kept(tokens, mask)
        z = average(self.E, tokens, mask)
        θ = self.network(z)
        return θ

    def kept(self, tokens: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"] | None) -> Bool[Tensor, "b t"]:
        """The words that count: no padding, and while training not the dropped ones."""
        if tokens.dim() != 2 or (mask is not None and mask.shape != tokens.shape):
            given = "none" if mask is None else [*mask.shape]
            raise ShapeError(
                "Tokens are texts × places, and the mask has their shape: "
                f"tokens are {[*tokens.shape]}, the mask is {given}. One row of tokens needs offsets."
            )
        chosen = torch.ones_like(tokens, dtype=torch.bool) if self.padding is None else tokens != self.padding
        if self.training and self.word_dropout:
            chosen = chosen & (torch.rand(tokens.shape, device=tokens.device) >= self.word_dropout)
        return chosen if mask is None else mask & chosen

    def loss(self, tokens: Tensor, y: Int[Tensor, " b"], **texts: Tensor) -> Float[Tensor, ""]:
        """The mean cross-entropy of the classes `y`."""
        θ = self(tokens, **texts)
        if y.shape != θ.shape[:-1]:
            raise ShapeError(f"−log ŷ_y needs a class for each text: there are {len(θ)} texts, but y is {[*y.shape]}.")
        check_indices("Classes", y, θ.shape[-1])
        return cross_entropy(θ, y)


def padded(tokens: Int[Tensor, " m"], offsets: Int[Tensor, " b"]) -> tuple[Int[Tensor, "b t"], Bool[Tensor, "b t"]]:
    """Texts that stand one after the other as a table, and the mask of their words.

    >>> padded(torch.tensor([5, 6, 7]), torch.tensor([0, 2]))[0]
    tensor([[5, 6],
            [7, 0]])
    """
    n = lengths(tokens, offsets)
    mask = torch.arange(int(n.max()), device=tokens.device) < n.unsqueeze(1)
    table = torch.zeros(mask.shape, dtype=tokens.dtype, device=tokens.device)
    table[mask] = tokens
    return table, mask


def lengths(tokens: Int[Tensor, " m"], offsets: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """How many tokens each text has."""
    if tokens.dim() != 1 or offsets.dim() != 1:
        raise ShapeError(
            f"Texts one after the other are one row of tokens with one row of offsets: tokens are {[*tokens.shape]}, "
            f"offsets {[*offsets.shape]}."
        )
    ends = torch.cat([offsets[1:], offsets.new_tensor([len(tokens)])])
    n = ends - offsets
    if not len(offsets) or int(offsets[0]) != 0 or (n < 0).any():
        raise ShapeError(f"Offsets start at 0 and rise to at most the {len(tokens)} tokens; they are {offsets.tolist()}.")
    return n
