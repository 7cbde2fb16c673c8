"""Sizes in a formula as the numbers they were: √Q.shape[-1] reads √2.

A size is no letter of a formula, and its number is known: `x.shape[-1]`, `x.size(0)` and `len(x)` are put in everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from workings.trace.formula import Apply, Call, Formula, Leaf, Number, Sequence


def with_sizes(formula: Formula, operands: Mapping[str, Any]) -> Formula:
    """The formula with its sizes as numbers; a formula that is nothing but a size stays as it is written.

    >>> with_sizes(Apply("sqrt", (Leaf("Q.shape[-1]"),)), {"Q.shape[-1]": 2})
    Apply(op='sqrt', args=(Number(value=2),), options=())
    >>> with_sizes(Leaf("Q.shape[-1]"), {"Q.shape[-1]": 2})
    Leaf(text='Q.shape[-1]')
    """
    whole = _size(formula, operands)
    return formula if whole is not None else replaced(formula, lambda part: _size(part, operands))


def replaced(formula: Formula, rule: Callable[[Formula], Formula | None]) -> Formula:
    """The formula with every part, outside in, for which `rule` has another one."""
    other = rule(formula)
    if other is not None:
        return other
    match formula:
        case Apply(_, args) | Call(_, args):
            return replace(formula, args=tuple(replaced(part, rule) for part in args))
        case Sequence(items):
            return Sequence(tuple(replaced(part, rule) for part in items))
    return formula


def _size(formula: Formula, operands: Mapping[str, Any]) -> Number | None:
    """The number a part of a formula is, if it is a size of something whose value is known."""
    match formula:
        case Leaf(text) if ".shape[" in text and type(operands.get(text)) is int:
            return Number(operands[text])
        case Call(name, (Leaf(text), *axis), ()) if name in ("size", "len"):
            return _size_of(operands.get(text), [_number(part) for part in axis] if name == "size" else [0])
    return None


def _size_of(value: Any, axis: list[Any]) -> Number | None:
    fits = isinstance(value, torch.Tensor) and len(axis) == 1 and isinstance(axis[0], int)
    return Number(value.shape[axis[0]]) if fits and -value.dim() <= axis[0] < value.dim() else None


def _number(part: Formula) -> Any:
    match part:
        case Number(value):
            return value
        case Apply("neg", (Number(value),)):
            return -value
    return None
