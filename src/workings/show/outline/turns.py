"""What a turn of a loop is about: h = 0 of `for h in range(heads)`, x = [1, 2], layer = net.0: Linear(2, 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from workings.control import plain
from workings.show.options import Options
from workings.show.outline.numbered import numbered
from workings.show.value.value import INLINE, inline_of, text_of
from workings.show.write.names import text_name
from workings.trace.step import Step

_SHORT = 40
"""Characters of a value that stands beside the number of its turn."""


def heading(turn: Step, options: Options) -> str:
    """What the turn is about, as far as it is short.

    >>> heading(Step("turn", "1", operands={"t": 0, "x": torch.tensor([1.0, 2.0])}), Options())
    't = 0, x = [1, 2]'
    """
    short = {name: _short(value, options) for name, value in numbered(turn).operands.items()}
    parts = [f"{plain(text_name(name))} = {text}" for name, text in short.items() if text]
    return ", ".join([*parts, *([plain(turn.source)] if turn.source else [])])


def tall(turn: Step, options: Options) -> list[Step]:
    """The values that the heading has no room for, as steps of their own."""
    return [Step("input", name, result=v) for name, v in numbered(turn).operands.items() if not _short(v, options)]


def _short(value: Any, options: Options) -> str:
    """The value in a few characters; nothing where it needs more."""
    if isinstance(value, torch.Tensor):
        small = value.dim() <= 1 and value.numel() <= INLINE
        found = inline_of(value, replace(options, substitution="short")) if small else None
    else:
        found = text_of(value, options)
    return found if found and "\n" not in found and len(found) <= _SHORT else ""
