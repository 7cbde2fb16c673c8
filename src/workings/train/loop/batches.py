"""Batches: those of an iterable by their number, and what is in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy
from torch import Tensor
from torch.utils._pytree import tree_leaves

from workings.errors import WorkingsError
from workings.train.process.randomness import AFTER, seed_all


class RepeatedBatches:
    """The batches of an iterable by number, from its start again when it ends.

    Random numbers are seeded for each batch, so that a resumed run, which goes through the batches before its step again,
    meets the same ones; and after it, so that they do not depend on how often it was asked for. An earlier step starts over.
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
            seed_all(self.seed, self.at)
            self.batch = self.next()
        seed_all(self.seed, step, AFTER)
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
    return [leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor)]


def count_examples(batch: Any) -> int:
    """How many examples a batch has: the length of its first tensor; without one, of its first array or list.

    >>> import torch
    >>> count_examples((torch.zeros(3, 2), torch.zeros(3)))
    3
    >>> count_examples({"texts": ["to be", "or not"]})
    2
    """
    found = tensors(batch)
    if found:
        return len(found[0]) if found[0].dim() else 1
    return next(_lengths(batch), 1)


def _lengths(batch: Any) -> Iterator[int]:
    """The lengths of the arrays and the plain lists in a batch."""
    if isinstance(batch, numpy.ndarray):
        yield from batch.shape[:1]
    elif is_plain_list(batch):
        yield len(batch)
    elif isinstance(batch, (tuple, list, Mapping)):
        for inner in batch.values() if isinstance(batch, Mapping) else batch:
            yield from _lengths(inner)


def is_plain_list(found: Any) -> bool:
    """Whether something is a list of names, numbers and the like, one for each example: it has no tensors in it.

    >>> import torch
    >>> is_plain_list(["a", "b"]), is_plain_list([torch.zeros(2)]), is_plain_list("ab")
    (True, False, False)
    """
    if type(found) not in (list, tuple):
        return False
    return not any(isinstance(leaf, (Tensor, numpy.ndarray)) for leaf in tree_leaves(found))
