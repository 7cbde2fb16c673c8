"""What a written-out definition is, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Definition:
    """A textbook function and the arguments that stand for a fused call: `definition()` computes the same value."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)


@dataclass(frozen=True)
class Refusal:
    """Why a call is not written out: the option that the textbook leaves out, or that it has no entry."""

    reason: str


class NotCovered(Exception):
    """Raised by a table's entry for an option that its definition does not cover."""


def refuse(when: Any, reason: str) -> None:
    """Stop with `reason` when the option is in use."""
    if when:
        raise NotCovered(reason)
