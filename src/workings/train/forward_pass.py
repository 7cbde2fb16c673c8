"""A forward pass to be shown: the call that is traced, the names of its axes, and its result in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ForwardPass:
    """A call to trace, the names of tokens and classes for the axes, and what its result says in words."""

    call: Callable[[], Any]
    axes: tuple[tuple[str, ...], ...]
    describe: Callable[[Any], str]
    read: str
    """How the input was understood."""


def likeliest(p: Tensor, names: Any, before: str = "", most: int = 5) -> str:
    """
    >>> import torch
    >>> likeliest(torch.tensor([0.25, 0.75]), ["a", "b"], "Next: ")
    'Next: b 75.0%, a 25.0%'
    """
    best = p.topk(min(most, len(p)))
    return before + ", ".join(
        f"{names[i]} {x:.1%}" for x, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    )


def likeliest_by_row(p: Tensor, rows: tuple[str, ...], names: tuple[str, ...]) -> str:
    column = max(map(len, rows))
    return "\n".join(f"  {name:{column}}  {likeliest(row, names, most=3)}" for name, row in zip(rows, p, strict=True))


def visible(token: str) -> str:
    """A token with its white space to be seen.

    >>> visible(" "), visible("\\n"), visible("be")
    ('␣', '⏎', 'be')
    """
    return token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")


def numbered_tokens(pieces: tuple[str, ...]) -> str:
    """
    >>> numbered_tokens(("b", "e"))
    'which reads 2 tokens: 0 b, 1 e'
    """
    return f"which reads {len(pieces)} token{'s' * (len(pieces) > 1)}: " + ", ".join(
        f"{i} {visible(piece)}" for i, piece in enumerate(pieces)
    )
