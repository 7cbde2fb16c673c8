"""Batches: of an iterable by their number, and cut into parts whose losses sum to that of the whole.

L = Σ_i (n_i/n) L_i,   n_i terms in part i of n in all
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from workings.errors import ShapeError, WorkingsError
from workings.train.recipe import Task


def seed_all(seed: int, step: int) -> int:
    """Make everything random in a step follow from the run's seed and the step's number."""
    mixed = seed * 1_000_003 + step
    if torch.cuda.is_initialized():
        torch.manual_seed(mixed)
    else:
        torch.default_generator.manual_seed(mixed)  # ten times quicker
    return mixed


class Repeated:
    """The batches of an iterable by number, from its start again when it ends.

    Random numbers are seeded for each batch, so that a resumed run, which goes through the batches before its step again,
    meets the same ones. An earlier step starts over.
    """

    def __init__(self, data: Iterable[Any], seed: int = 0) -> None:
        self.data, self.seed = data, seed
        self.at = -1
        self.batches: Iterator[Any] = iter(())
        self.batch: Any = None

    def __call__(self, step: int) -> Any:
        if step < self.at:
            self.at, self.batches = -1, iter(())
        while self.at < step:
            self.at += 1
            random.seed(seed_all(self.seed, self.at))
            self.batch = self.next()
        return self.batch

    def next(self) -> Any:
        for attempt in range(2):
            for batch in self.batches:
                return batch
            if attempt == 0:
                self.batches = iter(self.data)
        raise WorkingsError(
            "The data has no batches: it is empty, or an iterator that is used up. Give a list or a DataLoader."
        )


def tensors(batch: Any) -> list[Tensor]:
    """The tensors of a batch, in order."""
    if isinstance(batch, Tensor):
        return [batch]
    if isinstance(batch, (tuple, list)) and all(isinstance(leaf, Tensor) for leaf in batch):
        return [*batch]
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor)]


def examples(batch: Any) -> int:
    """How many examples a batch has: the length of its first tensor.

    >>> examples((torch.zeros(3, 2), torch.zeros(3)))
    3
    """
    found = tensors(batch)
    return len(found[0]) if found and found[0].dim() else 1


def part(batch: Any, start: int, stop: int) -> Any:
    """Examples `start` to `stop` of a batch: every tensor in it is cut along its first axis; single numbers stay.

    >>> part((torch.arange(4), {"y": torch.arange(4, 8)}), 1, 3)
    (tensor([1, 2]), {'y': tensor([5, 6])})
    """
    from torch.utils._pytree import tree_map

    n = examples(batch)

    def cut(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or leaf.dim() == 0:
            return leaf
        if len(leaf) != n:
            raise ShapeError(
                f"Splitting a batch cuts the first axis of its tensors, which must be of one length: "
                f"{n} in the first, but a tensor of shape {[*leaf.shape]} came. Give `part`, or do not split."
            )
        return leaf[start:stop]

    return tree_map(cut, batch)


def bounds(n: int, parts: int) -> list[tuple[int, int]]:
    """Start and stop of each part, as equal as can be, the larger ones first.

    >>> bounds(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    at = [i * (n // parts) + min(i, n % parts) for i in range(parts + 1)]
    return [*pairwise(at)]


def pieces(batch: Any, splits: int, rank: int, size: int, task: Task) -> list[tuple[float, Any]]:
    """What process `rank` of `size` computes of a batch, in `splits` pieces, each with its share of the whole."""
    cut, count = task.part or part, task.count or examples
    n = examples(batch)
    mine = [(a, b) for a, b in bounds(n, splits * size)[rank * splits : (rank + 1) * splits] if a < b]
    whole = count(batch)
    found = [(count(piece) / whole, piece) for piece in (cut(batch, a, b) for a, b in mine)]
    return found or [(0.0, cut(batch, 0, 1))]  # a small batch leaves a process without; it takes part with nothing
