r"""Masks: true where a query may look at a key.

    causal     j ≤ i                 no query sees the future
    window     |j − i| ≤ ⌊k/2⌋       a band; an even k covers k + 1 keys
    padding    j < length            the tokens that are there

`&` combines them; they broadcast. Rows are queries, columns are keys (the column convention has the transpose).
Axes: b batch, n queries, m keys.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from workings.equations import transformer as equations
from workings.errors import DomainError, ShapeError
from workings.fused import with_check
from workings.nn.fits import check_at_least


def window_mask(n: int, width: int, causal: bool = False, device: Any = None) -> Bool[Tensor, "n n"]:
    r"""Each query sees the keys at most ⌊k/2⌋ places away, k = `width`; with `causal` none of them ahead.

    $$M_{ij} = [\, |j - i| \le \lfloor k/2 \rfloor \,]$$

    An odd k covers k keys; an even k covers k + 1, for the window is centred.

    >>> window_mask(4, 3).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    check_sizes(n)
    check_at_least(1, width, "A window needs a width of at least 1, not {}: each query sees its own key.")
    reach = width // 2
    ones = torch.ones(n, n, dtype=torch.bool, device=device)
    return ones.tril(0 if causal else reach).triu(-reach)


def padding_mask(lengths: Int[Tensor, "*b"], n: int) -> Bool[Tensor, "*b 1 n"]:
    r"""Every query sees the first `lengths` tokens of its sequence, and not the padding after them.

    $$M_{bij} = [\, j < \text{length}_b \,]$$

    >>> padding_mask(torch.tensor([1, 3]), 3).int()
    tensor([[[1, 0, 0]],
    <BLANKLINE>
            [[1, 1, 1]]], dtype=torch.int32)
    """
    _check_lengths(lengths, n)
    return (torch.arange(n, device=lengths.device) < lengths.unsqueeze(-1)).unsqueeze(-2)


def check_sizes(n: int, m: int | None = None, device: Any = None) -> None:
    """Refuse a negative number of queries or keys."""
    m = n if m is None else m
    if min(n, m) < 0:
        raise ShapeError(f"A mask has a row for each query and a column for each key, so n, m ≥ 0, not {n} and {m}.")


causal_mask = with_check(check_sizes, equations.causal_mask)


def _check_lengths(lengths: Tensor, n: int) -> None:
    """Refuse a length that no sequence of n tokens has."""
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise DomainError(f"A length is a number of tokens, so the dtype is an integer one, not {lengths.dtype}.")
    if lengths.numel() and int(lengths.max()) > n:
        raise ShapeError(f"The sequences are n = {n} tokens wide, but a length of {int(lengths.max())} was given.")
    if lengths.numel() and int(lengths.min()) < 0:
        raise DomainError(f"A length is a number of tokens, 0 or more, but {int(lengths.min())} was given.")
