"""Kinds of tensors that follow the written-out equations, never a fused kernel; each kind registers itself."""

from __future__ import annotations

from collections.abc import Iterable

KINDS: set[type] = set()


def follows_equations(values: Iterable[object]) -> bool:
    """Whether one of the values is of a kind that has no fused kernels: an exact tensor."""
    return not KINDS.isdisjoint(map(type, values))
