r"""A recurrent language model over characters.

    x_t = E[c_t]
    h_t = cell(x_t, h_{t−1})            RNN, LSTM or GRU
    θ_t = h_t W + b                     scores of the next character

Axes: b texts, t places of a text, c characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_indices
from workings.nn.objectives.losses import cross_entropy
from workings.nn.objectives.perplexities import perplexity_from_log

CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
Tokens = Int[Tensor, "b t"]
State = Any
"""What the cell carries from place to place: h, or for an LSTM (h, c); None at the start."""


class CharacterModel(nn.Module):
    """Embedding, recurrent layers, scores.

    >>> model = CharacterModel(characters=5, width=4, hidden=8, cell="gru")
    >>> θ, state = model(torch.tensor([[0, 1, 2]]))
    >>> θ.shape, state.shape
    (torch.Size([1, 3, 5]), torch.Size([1, 1, 8]))
    """

    def __init__(
        self, characters: int, width: int, hidden: int, depth: int = 1, cell: str = "lstm", dropout: float = 0.0
    ) -> None:
        super().__init__()
        if cell not in CELLS:
            raise DomainError(f"The cell is one of {', '.join(CELLS)}; got {cell!r}.")
        if min(characters, width, hidden, depth) < 1:
            raise ShapeError(
                "A character model needs at least one of each: "
                f"characters = {characters}, width = {width}, hidden = {hidden}, depth = {depth}."
            )
        if not 0 <= dropout < 1:
            raise DomainError(f"Dropout is a probability below 1; got {dropout:g}.")
        self.E = nn.Embedding(characters, width)
        between = dropout if depth > 1 else 0.0  # PyTorch drops between layers only
        self.cell = CELLS[cell](width, hidden, depth, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, characters)

    def forward(self, tokens: Tokens, state: State = None) -> tuple[Float[Tensor, "b t c"], State]:
        """The scores of the next character at each place, and the state after the last."""
        if not tokens.numel():
            raise ShapeError(f"A character model needs at least one character, but the tokens are {[*tokens.shape]}.")
        check_indices("Tokens", tokens, self.E.num_embeddings)
        x = self.E(tokens)
        h, state = self.cell(x, state)
        θ = self.output(self.dropout(h))
        return θ, state

    def loss(self, tokens: Tokens, state: State = None) -> Float[Tensor, ""]:
        """The mean cross-entropy of each character given those before it, the first left out."""
        _check_next(tokens)
        θ, _ = self(tokens[:, :-1], state)
        return cross_entropy(θ.flatten(0, 1), tokens[:, 1:].flatten())

    @torch.no_grad()
    def log_probabilities(self, tokens: Int[Tensor, " m"], window: int = 1024) -> Float[Tensor, " m"]:
        """log P of each character of one text, the first left out; the state is carried through the whole text."""
        _check_next(tokens)
        state, parts = None, []
        for x, y in zip(tokens[:-1].split(window), tokens[1:].split(window), strict=True):
            θ, state = self(x.unsqueeze(0), state)
            parts.append(-cross_entropy(θ[0].double(), y, reduction="none"))
        return torch.cat(parts)

    def perplexity(self, tokens: Int[Tensor, " m"], window: int = 1024) -> float:
        """Per character of one text, the first left out."""
        return perplexity_from_log(self.log_probabilities(tokens, window)).item()

    @torch.no_grad()
    def step(self, token: Int[Tensor, " b"], state: State = None) -> tuple[Float[Tensor, "b c"], State]:
        """The scores of the next character after one more, and the new state."""
        θ, state = self(token.unsqueeze(1), state)
        return θ[:, -1], state

    def generate(
        self, prompt: Int[Tensor, " t"], length: int, T: float = 1.0, generator: torch.Generator | None = None
    ) -> Int[Tensor, " length"]:
        """`length` characters after the prompt; at temperature T = 0 always the likeliest."""
        return torch.stack([*self.stream(prompt, length, T, generator)]) if length else prompt[:0]

    @torch.no_grad()
    def stream(
        self, prompt: Int[Tensor, " t"], length: int, T: float = 1.0, generator: torch.Generator | None = None
    ) -> Iterator[Int[Tensor, ""]]:
        """The characters of `generate`, one at a time."""
        if not len(prompt):
            raise ShapeError("Generation starts from at least one character; the prompt is empty.")
        θ, state = self(prompt.unsqueeze(0))
        scores = θ[:, -1]
        for _ in range(length):
            token = draw(scores[0], T, generator)
            yield token
            scores, state = self.step(token.unsqueeze(0), state)


def draw(θ: Float[Tensor, " c"], T: float, generator: torch.Generator | None = None) -> Int[Tensor, ""]:
    r"""A class drawn from softmax(θ/T); the largest score at T = 0.

    >>> draw(torch.tensor([0.0, 2.0, 1.0]), T=0.0)
    tensor(1)
    """
    if not T >= 0:
        raise DomainError(f"A temperature is 0 or above; T = {T:g}.")
    if T == 0:
        return θ.argmax()
    p = torch.softmax(θ / T, dim=-1)
    return torch.multinomial(p, 1, generator=generator)[0]


def _check_next(tokens: Tensor) -> None:
    """Refuse a text without a next character to predict."""
    if tokens.shape[-1] < 2:
        raise ShapeError(f"Predicting the next character needs at least 2; the tokens are {[*tokens.shape]}.")
