"""What attention asks of its arguments: shapes that fit the equations, and a key to look at for every query.

Axes: n queries, m keys, d width of a key.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.masks import causal_mask


def width(Q: Tensor, K: Tensor, V: Tensor | None = None, columns: bool = False) -> int:
    """The width d of queries and keys, after refusing what does not fit Q Kᵀ and A V.

    With `columns` the tensors are the transposes of what the user gave, and the messages speak of what was given.
    """
    d, m = Q.shape[-1], K.shape[-2]
    if K.shape[-1] != d or not m or (V is not None and V.shape[-2] != m):
        raise misfit(Q, K, V, columns)
    return d


def misfit(Q: Tensor, K: Tensor, V: Tensor | None, columns: bool) -> ShapeError:
    """What is wrong with the shapes, in the terms of the equation."""
    d, m = Q.shape[-1], K.shape[-2]
    q, k, v = ([*(x.mT if columns else x).shape] if x is not None else [] for x in (Q, K, V))
    if K.shape[-1] != d:
        return ShapeError(
            f"{'Kᵀ Q' if columns else 'Q Kᵀ'} needs queries and keys of one width d: Q is {q}, so d = {d}, "
            f"but K is {k}, so d = {K.shape[-1]}."
        )
    if V is not None and V.shape[-2] != m:
        return ShapeError(
            f"{'V A' if columns else 'A V'} needs one value for each key: K is {k}, so it has {m} keys, "
            f"but V is {v}, so it has {V.shape[-2]} values."
        )
    return ShapeError(f"The softmax needs at least one key to look at, but K is {k}.")


def allowed(Q: Tensor, K: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Where queries may look: the mask and the causal mask together."""
    n, m = Q.shape[-2], K.shape[-2]
    if causal and n > m:
        raise DomainError(
            f"Causal attention takes the queries for the last of the keys' positions, but there are {n} queries "
            f"and {m} keys: the first {n - m} would see no key."
        )
    if mask is None:
        M = causal_mask(n, m, Q.device)
    elif causal:
        M = sighted(causal_mask(n, m, Q.device) & fitting(mask, n, m))
    else:
        M = sighted(fitting(mask, n, m))
    return M


def fitting(mask: Tensor, n: int, m: int) -> Tensor:
    """The mask, after refusing one that is not a truth value for each query and key."""
    if mask.dtype != torch.bool:
        raise ShapeError(
            f"A mask is true where a query may look, so its dtype is torch.bool, not {mask.dtype}. "
            f"Numbers to add to the scores are the argument bias."
        )
    if mask.dim() < 2 or mask.shape[-1] not in (1, m) or mask.shape[-2] not in (1, n):
        raise ShapeError(
            f"The mask needs a row for each of the {n} queries and a column for each of the {m} keys, "
            f"so [{n}, {m}], but it is {[*mask.shape]}."
        )
    return mask


def sighted(M: Tensor) -> Tensor:
    """The mask, after refusing one with a row of nothing but False: a softmax over nothing has no value."""
    sees = M.view(torch.uint8).amax(dim=-1)  # on bytes, twenty times as fast as M.any(dim=-1)
    if not sees.all():
        at = (sees == 0).nonzero()[0].tolist()
        raise DomainError(
            f"The mask lets the query at {at} look at no key, and a softmax over nothing has no value: allow it a key."
        )
    return M
