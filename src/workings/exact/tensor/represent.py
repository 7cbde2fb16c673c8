"""`repr` of an exact tensor: nested brackets like PyTorch's, exact values inside."""

from __future__ import annotations

from typing import Any

import torch

_MOST = 200
"""Tensors of more elements show the ends of each axis only."""
_EDGE = 3


def represent(x: torch.Tensor, nested: Any, assumptions: int) -> str:
    """exact([[1, 1/2], [√2, w]]), with what else is worth knowing; `nested` holds its values."""
    if x.numel() == 0:
        return f"exact([], shape={tuple(x.shape)})"
    short = x.numel() > _MOST
    shown = _brackets(nested, short, len("exact("), x.dim())
    return f"exact({shown}{_extras(x, short, assumptions)})"


def _brackets(nested: Any, short: bool, indent: int, depth: int) -> str:
    if depth == 0:
        return str(nested.text())
    cut = short and len(nested) > 2 * _EDGE
    parts = [*nested[:_EDGE], *nested[-_EDGE:]] if cut else nested
    shown = [_brackets(part, short, indent + 1, depth - 1) for part in parts]
    if cut:
        shown.insert(_EDGE, "…")
    between = ", " if depth == 1 else ",\n" + " " * (indent + 1)
    return f"[{between.join(shown)}]"


def _extras(x: torch.Tensor, short: bool, assumptions: int) -> str:
    notes = f", shape={tuple(x.shape)}" if short else ""
    if x.dtype != torch.float64:
        notes += f", dtype={x.dtype}"
    if x.grad_fn is not None:
        notes += f", grad_fn=<{type(x.grad_fn).__name__}>"
    elif x.requires_grad:
        notes += ", requires_grad=True"
    return notes + (f", assumptions={assumptions}" if assumptions else "")
