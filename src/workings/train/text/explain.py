r"""What each word of a text adds to a classifier's decision.

    s = θ_c − max_{k≠c} θ_k        the margin of class c; each word's part in it by leaving it out, and by gradient × input

Words that a text has several times have equal parts, for a mean does not see where they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from workings.train.text.contributions import Contributions, contributions, margin


class Part(NamedTuple):
    """A word, how often the text has it, and what each of these places adds to the margin."""

    word: str
    times: int
    leave_one_out: float
    gradient_input: float


@dataclass(frozen=True)
class Explanation:
    """A text as the model reads it: the probability of each class, the margin of one, and each word's part in it."""

    text: str
    p: tuple[float, ...]
    margin: float
    parts: tuple[Part, ...]
    """From what speaks for the class most to what speaks against it most."""

    def json(self, classes: Sequence[str]) -> dict[str, Any]:
        p, words = dict(zip(classes, self.p, strict=True)), [part._asdict() for part in self.parts]
        return {"text": self.text, "probabilities": p, "margin": self.margin, "words": words}


@dataclass(frozen=True)
class Explainer:
    """A deep averaging network with the way texts are cut for it."""

    model: Any
    classes: Sequence[str]
    cut: Callable[[str], list[str]]
    encode: Callable[[list[str]], Any]
    """The numbers of the words that the model knows, and of pairs of them."""
    name: Callable[[int], str]
    """The word, or the two words, of a number."""

    def tokens(self, text: str) -> list[int]:
        """The numbers of the words of a text."""
        found: list[int] = self.encode(self.cut(text)).tolist()
        return found

    def explain(self, text: str, c: int | None = None) -> Explanation:
        """A text, with the parts of its words in the margin of class `c`, or of the class it is taken for."""
        tokens = self.tokens(text)
        with torch.no_grad():
            θ = self.model(torch.tensor([tokens or [0]]))
        c = int(θ.argmax()) if c is None else c
        found = (
            contributions(self.model.network, self.model.E[torch.tensor(tokens)], c)
            if tokens
            else Contributions(margin(θ, c).item(), [], [])
        )
        times = Counter(tokens)
        parts = {
            token: Part(self.name(token), times[token], l, g)
            for token, l, g in zip(tokens, found.leave_one_out, found.gradient_input, strict=True)
        }
        ordered = sorted(parts.values(), key=lambda part: -part.times * part.leave_one_out)
        return Explanation(text, tuple(θ[0].softmax(dim=0).tolist()), found.margin, tuple(ordered))
