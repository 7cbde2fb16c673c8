"""A batch cut into parts, whose losses make up that of the whole.

L = Σ_i (n_i/n) L_i     for a mean over n terms, n_i of them in part i
L = Σ_i L_i             for a sum
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy
from torch import Tensor
from torch.utils._pytree import tree_map

from workings.errors import ShapeError
from workings.train.loop.batches import count_examples, is_plain_list
from workings.train.task import Task

_NEARER = 0.1
"""A loss is taken for a sum where it is this much nearer to the sum of its parts than to their mean."""


def part(batch: Any, start: int, stop: int) -> Any:
    """Examples `start` to `stop` of a batch: every tensor and array in it is cut along its first axis, and so is a plain
    list with an entry for each example; single numbers, names and other lists stay.

    >>> import torch
    >>> part((torch.arange(4), {"y": torch.arange(4, 8), "names": ["a", "b", "c", "d"]}), 1, 3)
    (tensor([1, 2]), {'y': tensor([5, 6]), 'names': ['b', 'c']})
    """
    n = count_examples(batch)

    def cut(leaf: Any) -> Any:
        if isinstance(leaf, (list, tuple)):
            return leaf[start:stop] if len(leaf) == n else leaf
        if not isinstance(leaf, (Tensor, numpy.ndarray)) or leaf.ndim == 0:
            return leaf
        if len(leaf) != n:
            kind = "a tensor" if isinstance(leaf, Tensor) else "an array"
            raise ShapeError(
                f"Splitting a batch cuts the first axis of its tensors, which must be of one length: "
                f"{n} in the first, but {kind} of shape {[*leaf.shape]} came. Give `part`, or do not split."
            )
        return leaf[start:stop]

    return tree_map(cut, batch, is_leaf=is_plain_list)


def bounds(n: int, parts: int) -> list[tuple[int, int]]:
    """Start and stop of each part, as equal as can be, the larger ones first.

    >>> bounds(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    at = [i * (n // parts) + min(i, n % parts) for i in range(parts + 1)]
    return [*pairwise(at)]


def pieces(batch: Any, splits: int, rank: int, size: int, task: Task) -> list[tuple[float, Any]]:
    """What process `rank` of `size` computes of a batch, in `splits` pieces, each with its share of the whole."""
    cut = task.part or part
    n = count_examples(batch)
    mine = [(a, b) for a, b in bounds(n, splits * size)[rank * splits : (rank + 1) * splits] if a < b]
    count = task.count or count_examples
    whole = count(batch) if task.reduction == "mean" else None
    found = [(1.0 if whole is None else count(piece) / whole, piece) for piece in (cut(batch, a, b) for a, b in mine)]
    return found or [(0.0, cut(batch, 0, 1))]  # a small batch leaves a process without; it takes part with nothing


def reduction_warning(task: Task, batch: Any, loss: Callable[[Any], float]) -> str:
    """What to warn of where a loss turns out to be a sum though it is taken for a mean, or the other way round.

    L of some examples is compared with L_1 and L_2 of their halves.
    """
    if count_examples(batch) < 2:
        return ""
    cut = pieces(batch, 2, 0, 1, task)
    L, halves = loss(batch), [loss(piece) for _, piece in cut]
    count = task.count or count_examples
    mean = sum(count(piece) / count(batch) * l for (_, piece), l in zip(cut, halves, strict=True))
    told, other, word = (mean, sum(halves), "sum") if task.reduction == "mean" else (sum(halves), mean, "mean")
    if not abs(L - other) < _NEARER * abs(L - told):
        return ""
    return (
        f"the loss looks like a {word} over the examples, but is taken for a {task.reduction}: it is {L:g} for "
        f"{count_examples(batch)} of them, {' and '.join(f'{l:g}' for l in halves)} for their halves. A split batch has "
        f'another gradient then: say reduction="{word}", or make it a {task.reduction}.'
    )
