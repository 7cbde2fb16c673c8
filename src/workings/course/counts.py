r"""What a layer costs and how far apart its tokens are (Vaswani et al. 2017, table 1), and how often a model runs.

                    operations      steps in a row    longest path between two tokens
    recurrent       n d²            n                 n
    attention       n² d            1                 1

So attention is the cheaper one exactly when n < d. In training all places of a sequence are predicted in one pass
(teacher forcing); generation takes a pass for each token, for both.

n tokens, d width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import nn

from workings.errors import DomainError


@dataclass(frozen=True)
class Cost:
    """Multiplications of a layer (leading term), steps that must wait for one another, longest path between two tokens."""

    operations: int
    sequential: int
    path: int


def recurrent_cost(n: int, d: int) -> Cost:
    """A d × d product for each of n states, each waiting for the one before.

    >>> recurrent_cost(50, 512)
    Cost(operations=13107200, sequential=50, path=50)
    """
    _check_positive(n, d)
    return Cost(operations=n * d * d, sequential=n, path=n)


def attention_cost(n: int, d: int) -> Cost:
    """A dot product of width d for each pair of tokens, all at once.

    >>> attention_cost(50, 512)
    Cost(operations=1280000, sequential=1, path=1)
    """
    _check_positive(n, d)
    return Cost(operations=n * n * d, sequential=1, path=1)


def projection_operations(n: int, d: int) -> int:
    """What table 1 leaves out: the four d × d projections of an attention layer, the same for every number of heads.

    >>> projection_operations(50, 512)
    52428800
    """
    _check_positive(n, d)
    return 4 * n * d * d


def _check_positive(n: int, d: int) -> None:
    if min(n, d) < 1:
        raise DomainError(f"A layer has n ≥ 1 tokens of width d ≥ 1, not n = {n} and d = {d}.")


@dataclass
class Passes:
    """How often a model ran."""

    count: int = 0


@contextmanager
def count_passes(model: nn.Module) -> Iterator[Passes]:
    """Count the forward passes of a model.

    >>> import torch
    >>> layer = nn.Linear(2, 2)
    >>> with count_passes(layer) as passes:
    ...     _ = layer(layer(torch.zeros(2)))
    >>> passes.count
    2
    """
    passes = Passes()

    def one_more(*_: object) -> None:
        passes.count += 1

    hook = model.register_forward_hook(one_more)
    try:
        yield passes
    finally:
        hook.remove()
