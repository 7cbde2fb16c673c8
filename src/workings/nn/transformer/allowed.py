"""What attention asks of its arguments: shapes that fit the equations, and a key to look at for every query.

Axes: n queries, m keys, d width of a key.
"""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.transformer.masks import causal_mask


def scores_fit(Q: Tensor, K: Tensor, V: Tensor | None = None, columns: bool = False) -> None:
    """Refuse what does not fit Q Kᵀ and A V.

    With `columns` the tensors are the transposes of what the user gave, and the messages speak of what was given.
    """
    size = Q.shape
    if V is not None and K.shape == size == V.shape and len(size) > 1 and 0 not in size:
        return  # the usual case, in one comparison: a short attention takes no longer than the rest of the checks
    if Q.dim() < 2 or K.dim() < 2 or (V is not None and V.dim() < 2):
        raise not_matrices(Q=Q, K=K, V=V)
    d, m = Q.shape[-1], K.shape[-2]
    if K.shape[-1] != d or not d or not m or (V is not None and V.shape[-2] != m):
        raise misfit(Q, K, V, columns)
    if Q.shape[:-2] != K.shape[:-2] or (V is not None and V.shape[:-2] != K.shape[:-2]):
        one_batch(Q=Q, K=K, V=V)


def one_batch(**given: Tensor | None) -> None:
    """Refuse batches that neither agree nor can be repeated."""
    found = {name: x for name, x in given.items() if x is not None}
    try:
        torch.broadcast_shapes(*(x.shape[:-2] for x in found.values()))
    except RuntimeError:
        batches = ", ".join(f"{name} has {[*x.shape[:-2]]}" for name, x in found.items())
        raise ShapeError(
            f"Attention needs {', '.join(found)} with one batch, or with axes of 1 in its place: {batches}."
        ) from None


def not_matrices(**given: Tensor | None) -> ShapeError:
    """Which of the arguments is a number or a single vector, where the equation has a matrix."""
    name, found = next((name, x) for name, x in given.items() if x is not None and x.dim() < 2)
    return ShapeError(
        f"{name} is a matrix with a vector for each token, but it is {[*found.shape]}. "
        f"One vector is a matrix with one row or column: {name}.unsqueeze(0) or {name}.unsqueeze(1)."
    )


def columns_fit(Q: Tensor, K: Tensor, V: Tensor) -> None:
    """The same where tokens are columns."""
    if Q.dim() < 2 or K.dim() < 2 or V.dim() < 2:
        raise not_matrices(Q=Q, K=K, V=V)
    scores_fit(Q.mT, K.mT, V.mT, columns=True)


def query_fits(q: Tensor, K: Tensor, V: Tensor) -> None:
    """Refuse what does not fit K q and Vᵀ α for one query."""
    if not q.dim() or K.dim() < 2 or V.dim() < 2 or K.shape[-1] != q.shape[-1]:
        raise ShapeError(
            f"K q needs a query of the width d of the keys: q is {[*q.shape]}, K is {[*K.shape]}, V is {[*V.shape]}."
        )
    scores_fit(q.unsqueeze(-2), K, V)


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
    if not d:
        return ShapeError(f"Scores over √d need keys of a width d of at least 1, but Q is {q} and K is {k}.")
    return ShapeError(f"The softmax needs at least one key to look at, but K is {k}.")


def allowed(Q: Tensor, K: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Where queries may look: the mask and the causal mask together."""
    n, m = Q.shape[-2], K.shape[-2]
    last_of_the_keys(n, m, causal)
    if mask is None:
        M = causal_mask(n, m, Q.device)
    elif causal:
        M = sighted(causal_mask(n, m, Q.device) & fitting(mask, Q, K))
    else:
        M = sighted(fitting(mask, Q, K))
    return M


def last_of_the_keys(n: int, m: int, causal: bool) -> None:
    """Refuse more queries than keys where none may look ahead."""
    if causal and n > m:
        raise DomainError(
            f"Causal attention takes the queries for the last of the keys' positions, but there are {n} queries "
            f"and {m} keys: the first {n - m} would see no key."
        )


def reaching(bias: Tensor, Q: Tensor, K: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """The bias, after refusing one that does not fit the scores, or whose −∞ leave a query no key that the mask allows."""
    rows_and_columns("bias", bias, Q, K)
    barred = bias == -inf
    if barred.any():
        M = allowed(Q, K, mask, causal) if causal or mask is not None else torch.ones_like(barred)
        sighted(M & ~barred, "The bias")
    return bias


def fitting(mask: Tensor, Q: Tensor, K: Tensor) -> Tensor:
    """The mask, after refusing one that is not a truth value for each query and key."""
    if mask.dtype != torch.bool:
        raise ShapeError(
            f"A mask is true where a query may look, so its dtype is torch.bool, not {mask.dtype}. "
            f"Numbers to add to the scores are the argument bias."
        )
    rows_and_columns("mask", mask, Q, K)
    return mask


def rows_and_columns(name: str, M: Tensor, Q: Tensor, K: Tensor) -> None:
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


def sighted(M: Tensor, who: str = "The mask") -> Tensor:
    """The mask, after refusing one with a row of nothing but False: a softmax over nothing has no value."""
    sees = M.view(torch.uint8).amax(dim=-1)  # on bytes, twenty times as fast as M.any(dim=-1)
    if not sees.all():
        at = (sees == 0).nonzero()[0].tolist()
        raise DomainError(
            f"{who} lets the query at {at} look at no key, and a softmax over nothing has no value: allow it a key."
        )
    return M
