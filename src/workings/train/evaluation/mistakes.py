"""The mistakes of a classifier on its test data, from the surest to the most undecided.

Axes: n examples, c classes, h w height and width of a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.train.capabilities import Predictions

Pictures = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class Mistake:
    """An example that is taken for another class than its own."""

    number: int
    """Its place among the test examples, from 0."""
    truth: int
    taken: int
    p: tuple[float, ...]
    """The probability of each class."""

    def describe(self, classes: Sequence[str]) -> str:
        truth, taken = (f"{classes[k]} ({self.p[k]:.1%})" for k in (self.truth, self.taken))
        return f"it is {truth}, taken for {taken}"


@dataclass(frozen=True)
class Mistakes:
    """Some of a run's mistakes, with what they are mistakes about: texts, or pictures."""

    classes: Sequence[str]
    examples: int
    """Test examples in all."""
    total: int
    """Mistakes in all."""
    listed: list[Mistake]
    texts: Sequence[str] = ()
    """The text of each of them."""
    pictures: Pictures | None = None

    def heading(self) -> str:
        kind = "pictures" if self.pictures is not None else "texts"
        said = f"{self.total:,} of {self.examples:,} {kind} are misclassified ({self.total / self.examples:.1%})"
        if not self.listed:
            return f"{said}."
        order = ", from the surest to the most undecided" if len(self.listed) > 1 else ", the surest"
        return f"{said}; {len(self.listed)} of them{order}:"


def mistakes(one: Predictions, count: int) -> Mistakes:
    """`count` mistakes of a classifier on its test data; fewer where there are fewer."""
    total, listed = choose(one.y, one.p, count)
    numbers = [m.number for m in listed]
    texts = [one.texts[n] for n in numbers] if one.texts else ()
    x = None if one.pictures is None else one.pictures[torch.tensor(numbers, dtype=torch.long)]
    return Mistakes(one.classes, len(one.y), total, listed, texts, x)


def choose(y: Int[Tensor, " n"], p: Float[Tensor, "n c"], count: int) -> tuple[int, list[Mistake]]:
    """How many mistakes there are, and `count` of them at equal distances in the order of how sure they are.

    >>> y, p = torch.tensor([0, 0, 0, 1]), torch.tensor([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.3, 0.7]])
    >>> total, (first,) = choose(y, p, 1)
    >>> total, first.number, first.taken
    (2, 0, 1)
    """
    highest, taken = p.max(dim=1)
    wrong = (taken != y).nonzero()[:, 0]
    order = wrong[highest[wrong].argsort(descending=True, stable=True)].tolist()
    last, gaps = len(order) - 1, max(1, count - 1)
    places = range(len(order)) if len(order) <= count else [round(i * last / gaps) for i in range(count)]
    return len(order), [Mistake(i, int(y[i]), int(taken[i]), tuple(p[i].tolist())) for i in (order[k] for k in places)]
