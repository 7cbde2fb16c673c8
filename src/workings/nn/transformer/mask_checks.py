"""What attention asks of its masks and biases: shapes that fit the scores, and a key to look at for every query.

Axes: n queries, m keys, d width of a key.
"""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from workings.equations.transformer import allowed
from workings.errors import DomainError, ShapeError


def check_mask(Q: Tensor, K: Tensor, mask: Tensor | None, causal: bool) -> None:
    """Refuse more queries than keys where none may look ahead, and a mask that is not a truth value for each query and
    key, or leaves a query no key."""
    n, m = Q.shape[-2], K.shape[-2]
    if causal and n > m:
        raise DomainError(
            f"Causal attention takes the queries for the last of the keys' positions, but there are {n} queries "
            f"and {m} keys: the first {n - m} would see no key."
        )
    if mask is not None:
        if mask.dtype != torch.bool:
            raise ShapeError(
                f"A mask is true where a query may look, so its dtype is torch.bool, not {mask.dtype}. "
                f"Numbers to add to the scores are the argument bias."
            )
        _check_scores("mask", mask, Q, K)
        _check_sees("The mask", allowed(Q, K, mask, causal))


def check_bias(bias: Tensor, Q: Tensor, K: Tensor, mask: Tensor | None, causal: bool) -> None:
    """Refuse a bias that does not fit the scores, or whose −∞ leave a query no key that the mask allows."""
    _check_scores("bias", bias, Q, K)
    barred = bias == -inf
    if barred.any():
        _check_sees("The bias", ~barred & allowed(Q, K, mask, causal) if causal or mask is not None else ~barred)


def _check_scores(name: str, M: Tensor, Q: Tensor, K: Tensor) -> None:
    """Refuse what is not a matrix of queries and keys, one for all of a batch or one for each."""
    n, m = Q.shape[-2], K.shape[-2]
    if M.dim() < 2 or M.shape[-1] not in (1, m) or M.shape[-2] not in (1, n):
        raise ShapeError(
            f"The {name} needs a row for each of the {n} queries and a column for each of the {m} keys, "
            f"so [{n}, {m}], but it is {[*M.shape]}."
        )
    batch = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2])
    extra = M.shape[:-2]
    if len(extra) > len(batch) or any(a not in (1, b) for a, b in zip(reversed(extra), reversed(batch), strict=False)):
        raise ShapeError(
            f"The {name} is [{n}, {m}] for all of a batch, or one for each of its {[*batch]} places: "
            f"{[*batch, n, m]}, but it is {[*M.shape]}."
        )


def _check_sees(who: str, M: Tensor) -> None:
    """Refuse a row of nothing but False: a softmax over nothing has no value."""
    sees = M.view(torch.uint8).amax(dim=-1)  # on bytes, twenty times as fast as M.any(dim=-1)
    if not sees.all():
        at = (sees == 0).nonzero()[0].tolist()
        raise DomainError(
            f"{who} lets the query at {at} look at no key, and a softmax over nothing has no value: allow it a key."
        )
