"""The examples of a step: each once in every pass over the data, in an order of the pass's own."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from workings.errors import WorkingsError


class Shuffled:
    """Places of the examples that a step sees, from its number alone.

    A pass is a permutation of the `count` examples, which follows from the seed and the pass's number. The passes are one
    long row, and step t sees places t·batch to (t + 1)·batch of it.

    >>> seen = Shuffled(5, batch=2, seed=0)
    >>> first = torch.cat([seen(0), seen(1), seen(2)])[:5]
    >>> sorted(first.tolist()), bool((seen(1) == Shuffled(5, batch=2, seed=0)(1)).all())
    ([0, 1, 2, 3, 4], True)
    """

    def __init__(self, count: int, batch: int, seed: int) -> None:
        if count < 1:
            raise WorkingsError("There are no examples to learn from.")
        self.count, self.batch, self.seed = count, batch, seed
        self.orders: dict[int, Tensor] = {}

    def __call__(self, step: int) -> Int[Tensor, " batch"]:
        start, stop = step * self.batch, (step + 1) * self.batch
        passes = range(start // self.count, (stop - 1) // self.count + 1)
        row = torch.cat([self.order(number) for number in passes])
        first = passes[0] * self.count
        return row[start - first : stop - first]

    def order(self, number: int) -> Int[Tensor, " count"]:
        """The permutation of a pass; those of steps nearby are kept."""
        if number not in self.orders:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
            recent = {old: order for old, order in self.orders.items() if number - 2 < old < number}
            self.orders = {**recent, number: torch.randperm(self.count, generator=generator)}
        return self.orders[number]
