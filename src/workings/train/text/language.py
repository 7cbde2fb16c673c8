r"""A language model on any text, in units that compare.

    perplexity per unit = e^(−Σ log p / units)          units: tokens, characters, words
    bits per character = −Σ log₂ p / characters

The first token has nothing before it: it is given, not judged, and its characters do not count.

Axes: m tokens of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import WorkingsError
from workings.models.vectors import WordVectors

Tokens = Int[Tensor, " m"]


@dataclass
class Language:
    """A model of the next token, with the way to cut text into its tokens and to put them together again."""

    model: Any
    unit: str
    """What a token is: character, word …"""
    cut: Callable[[str], list[str]]
    join: Callable[[Sequence[str]], str]
    vocabulary: Sequence[str]
    unknown: str | None = None
    """The token for all others; without one they are left out."""

    def __post_init__(self) -> None:
        self.number = {token: i for i, token in enumerate(self.vocabulary)}

    def encode(self, pieces: Sequence[str]) -> list[int]:
        """The numbers of tokens; an unknown one is the token for unknown ones, or left out."""
        other = self.number.get(self.unknown) if self.unknown is not None else None
        found = (self.number.get(piece, other) for piece in pieces)
        return [i for i in found if i is not None]

    def decode(self, tokens: Sequence[int]) -> str:
        return self.join([self.vocabulary[i] for i in tokens])

    def vectors(self) -> WordVectors | None:
        """The vector of each token, where the model has a table of them."""
        E = getattr(self.model, "E", None)
        return None if E is None else WordVectors(list(self.vocabulary), getattr(E, "weight", E).detach())


@dataclass(frozen=True)
class TextFigures:
    """What a model spends on a text, per unit."""

    unit: str
    tokens: int
    characters: int
    words: int
    log_p: float
    """Σ log p of the tokens, in nats."""
    unknown: float
    """Share of the text's tokens that the model does not know."""
    left_out: bool
    """Whether these were left out, so that they cost nothing."""

    def perplexity(self, units: int) -> float:
        H = -self.log_p / units
        return exp(H) if H < 700 else inf

    @property
    def bits_per_character(self) -> float:
        return -self.log_p / log(2) / self.characters

    def json(self) -> dict[str, Any]:
        counts = {"unit": self.unit, "tokens": self.tokens, "characters": self.characters, "words": self.words}
        each = {f"perplexity_per_{unit}": self.perplexity(n) for unit, n in self.units().items()}
        return {**counts, **each, "bits_per_character": self.bits_per_character, "unknown_share": self.unknown}

    def units(self) -> dict[str, int]:
        return {"token": self.tokens, "character": self.characters, "word": self.words}


def measure(language: Language, text: str, name: str = "The text") -> TextFigures:
    """The figures of a language model on a text."""
    pieces = language.cut(text)
    count = len(pieces)
    known = sum(piece in language.number and piece != language.unknown for piece in pieces)
    tokens = language.encode(pieces)
    if len(tokens) < 2:
        raise WorkingsError(
            f"{name} has {len(tokens)} {language.unit}s that the model knows; predicting the next one needs at least 2."
        )
    log_p = log_probabilities(language.model, torch.tensor(tokens))
    left_out = language.unknown is None and known < count
    if left_out:  # their characters cost nothing, so they do not count either
        pieces = [piece for piece in pieces if piece in language.number]
        text = language.join(pieces)
    rest = text[first_end(language.cut, text, pieces) :]
    if not rest:
        raise WorkingsError(f"{name} has no characters after its first {language.unit}, so there is nothing to judge by.")
    words = max(1, len(rest.split()))
    unknown = 1 - known / count
    return TextFigures(language.unit, len(log_p), len(rest), words, log_p.double().sum().item(), unknown, left_out)


def first_end(cut: Callable[[str], list[str]], text: str, pieces: Sequence[str]) -> int:
    """Where the first token ends in its text, which may spell it otherwise: `<number>` for 7.

    >>> cut = lambda text: ["<number>" if word.isdigit() else word for word in text.split()]
    >>> first_end(cut, " 12 steps", cut(" 12 steps"))
    3
    """
    first = pieces[0]
    start = len(text) - len(text.lstrip()) if first.strip() else 0
    if text[start : start + len(first)].lower() == first.lower():  # mostly; it saves cutting the text again
        return start + len(first)
    word = text[start:].split(maxsplit=1)[0]
    inside = pieces[1 : len(pieces) - len(cut(text[start + len(word) :]))]  # more tokens of this word, as in 7-fold
    ends = (k for k in range(1, len(word)) if (after := cut(word[k:])) and after == [*inside[: len(after)]])
    return start + (next(ends, len(word)) if inside else len(word))


@torch.no_grad()
def log_probabilities(model: Any, tokens: Tokens) -> Float[Tensor, " m"]:
    """log P of each token given those before it, the first left out, in double precision."""
    if hasattr(model, "log_probabilities"):
        own: Tensor = model.log_probabilities(tokens)
        return own.double()
    return _log_p_in_windows(model, tokens)


def _log_p_in_windows(model: Any, tokens: Tokens, length: int = 256) -> Float[Tensor, " m"]:
    """By a model that sees a window: each token is judged once, with at least half a window before it where there is."""
    length = min(model.context or length, length)
    step = max(1, length // 2)
    parts, judged = [], 0
    while judged < len(tokens) - 1:
        stop = min(judged + (length if not judged else step), len(tokens) - 1)
        start = max(0, stop - length)
        θ = model(tokens[None, start:stop])[0].double()
        L = F.cross_entropy(θ, tokens[start + 1 : stop + 1], reduction="none")
        parts.append(-L[judged - start :])
        judged = stop
    return torch.cat(parts)
