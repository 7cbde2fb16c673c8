"""What equations ask of their operands: shapes that fit together, and numbers inside the domain.

A check stands alone, as a statement without a value. It raises or it does nothing, so a printed work leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from workings.errors import DomainError, ShapeError, UndecidedError
from workings.shape_check import check_shapes as check_shapes


def is_repeatable(small: Sequence[int], large: Sequence[int]) -> bool:
    """Whether a tensor of the small shape can be repeated to the large one.

    >>> is_repeatable((1, 3), (2, 5, 3)), is_repeatable((2, 3), (3,))
    (True, False)
    """
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)


def check_at_least(least: int, n: int, needs: str) -> None:
    """Refuse a number below the least; `needs` says so, with {} in the place of the number."""
    if n < least:
        raise DomainError(needs.format(n))


def check_indices(what: str, x: Tensor, count: int) -> None:
    """Refuse what does not hold numbers of `count` things, such as tokens of a vocabulary."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise DomainError(f"{what} are whole numbers, so their dtype is an integer one, not {x.dtype}.")
    low, high = map(int, x.aminmax()) if x.numel() else (0, 0)
    if low < 0 or (x.numel() and high >= count):
        raise DomainError(f"{what} are whole numbers from 0 to {count - 1}, but {low if low < 0 else high} came.")


def check_axis(name: str, x: Tensor, dim: int) -> None:
    """Refuse an axis that is not there, or that has nothing along it."""
    if not -x.dim() <= dim < x.dim():
        raise ShapeError(f"The softmax runs along axis {dim}, but {name} is {[*x.shape]}.")
    if not x.shape[dim]:
        raise ShapeError(f"The softmax needs at least one score along axis {dim}, but {name} is {[*x.shape]}.")


def check_inside(needs: str, x: Tensor, outside: Callable[[Tensor], Tensor]) -> None:
    """Refuse a tensor with a number for which `outside` is true; what depends on letters is taken at its word."""
    found = first(x, outside)
    if found is not None:
        raise DomainError(f"{needs}; here is {found:g}.")


def check_directed(name: str, X: Tensor) -> None:
    """Refuse a row of zeros, which has no direction; a letter is taken to be other than 0."""
    at = where(X, lambda X: (X == 0).all(dim=-1))
    if at is not None:
        raise DomainError(f"A vector of zeros has no direction, so no cosine: the row of {name} at {at} is zero.")


def where(x: Tensor, wrong: Callable[[Tensor], Tensor]) -> list[int] | None:
    """The first place at which `wrong` is true; None if there is none, or if letters or a compiler leave it open."""
    if torch.compiler.is_compiling():
        return None
    try:
        places = wrong(x.detach()).nonzero().tolist()
    except (UndecidedError, RuntimeError):
        return None
    return places[0] if places else None


def first(x: Tensor, outside: Callable[[Tensor], Tensor]) -> float | None:
    """The first number for which `outside` is true; None too where there are no numbers yet (torch.compile, vmap)."""
    if torch.compiler.is_compiling():
        return None
    try:
        wrong = outside(x.detach())
        return float(x.detach()[wrong].flatten()[0]) if bool(wrong.any()) else None
    except (UndecidedError, RuntimeError):
        return None
