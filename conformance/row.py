"""One row of a conformance table: a program run in float64 and on exact tensors, and how far they are apart.

The distance of a tensor is its largest absolute difference over the largest entry of the exact one. A gradient that is
exactly zero (a key's bias has one) is noise in float64: it is measured against the largest tensor of its row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from workings.errors import DomainError
from workings.exact import ExactTensor

TOLERANCE = 1e-9


class Pair(NamedTuple):
    """The same tensor twice."""

    name: str
    found: Any
    expected: Any


@dataclass(frozen=True)
class Row:
    """`status` is pass, differs, unsupported or error; `error` is the largest relative difference."""

    name: str
    status: str
    error: float = 0.0
    reason: str = ""
    notes: tuple[str, ...] = ()


def row(name: str, work: Callable[[], tuple[Iterable[Pair], Sequence[str]]], tolerance: float = TOLERANCE) -> Row:
    """The row of a program; `work` runs it both ways and returns the pairs to compare, and notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pairs, notes = work()
            return judged(name, list(pairs), tuple(notes), tolerance)
        except (DomainError, NotImplementedError) as reason:
            return Row(name, "unsupported", reason=line(reason))
        except Exception as reason:  # every failure is a row, so that one does not hide the others
            return Row(name, "error", reason=f"{type(reason).__name__}: {line(reason)}")


def judged(name: str, pairs: list[Pair], notes: tuple[str, ...] = (), tolerance: float = TOLERANCE) -> Row:
    """Compare the pairs."""
    if not any(isinstance(pair.found, ExactTensor) for pair in pairs):
        return Row(name, "differs", reason="no result is exact", notes=notes)
    largest = max(size(pair.expected) for pair in pairs)
    error = 0.0
    for pair in pairs:
        complaint, distance = difference(pair, largest)
        if complaint or distance > tolerance:
            return Row(name, "differs", distance, f"{pair.name}: {complaint or f'off by {distance:.1e}'}", notes)
        error = max(error, distance)
    return Row(name, "pass", error, notes=notes)


def difference(pair: Pair, largest: float) -> tuple[str, float]:
    """What is wrong with the form of a pair, if anything, and its relative distance."""
    if (pair.found is None) != (pair.expected is None):
        only = pair.found if pair.expected is None else pair.expected
        return ("" if size(only) == 0 else f"only one of the two exists: {short(only)}"), 0.0
    if pair.found is None:
        return "", 0.0
    found, expected = plain(pair.found), plain(pair.expected)
    if found.shape != expected.shape:
        return f"shape {[*found.shape]} instead of {[*expected.shape]}", 0.0
    if pair.expected.is_floating_point() and not isinstance(pair.found, ExactTensor) and fractional(found):
        return "the result is not exact", 0.0
    return "", distance(found, expected, largest)


def distance(found: torch.Tensor, expected: torch.Tensor, largest: float) -> float:
    """The largest difference, relative; infinite where infinities or NaNs do not match."""
    finite = found.isfinite() & expected.isfinite()
    same = (found == expected) | (found.isnan() & expected.isnan())
    if not bool((finite | same).all()):
        return float("inf")
    zero = torch.zeros(())
    gap = torch.where(finite, found - expected, zero).abs().max() if found.numel() else zero
    scale = size(found) or largest
    return float(gap) / scale if float(gap) else 0.0


def plain(t: torch.Tensor) -> torch.Tensor:
    """The numbers of a tensor in float64."""
    return t.detach().float64() if isinstance(t, ExactTensor) else t.detach().to(torch.float64)


def size(t: Any) -> float:
    """The largest finite absolute entry."""
    if t is None or not t.numel():
        return 0.0
    numbers = plain(t).abs()
    return float(torch.where(numbers.isfinite(), numbers, 0.0).max())


def fractional(t: torch.Tensor) -> bool:
    """Whether some entry is not a whole number: then an ordinary float tensor took part in the arithmetic."""
    return bool((t.isfinite() & (t != t.round())).any())


def line(reason: BaseException) -> str:
    """An error's text in one line."""
    return " ".join(str(reason).split())[:200]


def short(t: Any) -> str:
    return " ".join(str(t).split())[:80]
