"""What is known of a formula's parts beside its letters: sizes are the numbers they were, and what is None is not there.

A size is no letter of a formula, and its number is known: `x.shape[-1]`, `x.size(0)` and `len(x)` are put in everywhere,
so √Q.shape[-1] reads √2. Where b is None, linear(x, W, b) is x Wᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from workings.trace.code.look_up import MISSING
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Number, Sequence


def with_sizes(formula: Formula, operands: Mapping[str, Any]) -> Formula:
    """The formula with its sizes as numbers; a formula that is nothing but a size stays as it is written.

    >>> from workings.trace.formula.tree import Index, entry
    >>> size = Leaf("Q.shape[-1]", entry(Leaf("Q.shape"), Index((Number(-1),))))
    >>> with_sizes(Apply("sqrt", (size,)), {"Q.shape[-1]": 2})
    Apply(op='sqrt', args=(Number(value=2),), options=())
    >>> with_sizes(size, {"Q.shape[-1]": 2})
    Leaf(text='Q.shape[-1]')
    """
    whole = _size(formula, operands)
    if whole is not None:
        return formula
    return rewrite(
        rewrite(formula, lambda part: _with_optional_operands(part, operands)), lambda part: _size(part, operands)
    )


def _with_optional_operands(formula: Formula, operands: Mapping[str, Any]) -> Formula | None:
    """An operation with the optional operands that were given, in their places.

    >>> _with_optional_operands(Apply("linear", (Leaf("x"), Leaf("W"), Leaf("b"))), {"b": None})
    Apply(op='linear', args=(Leaf(text='x'), Leaf(text='W')), options=())
    >>> _with_optional_operands(Apply("linear", (Leaf("x"), Leaf("W")), (("bias", Leaf("b")),)), {"b": 1.0})
    Apply(op='linear', args=(Leaf(text='x'), Leaf(text='W'), Leaf(text='b')), options=())
    """
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    if row is None or not row.optional or not isinstance(formula, Apply):
        return None
    first = OPERATIONS.signature(row.name).index(row.optional[0])
    if len(formula.args) < first:
        return None
    args = [rewrite(part, lambda p: _with_optional_operands(p, operands)) for part in formula.args]
    options = dict(formula.options)
    for name in row.optional[len(args) - first :]:
        given = options.pop(name, None)
        args.append(Number(None) if given is None else Leaf(str(given)))
    absent = [isinstance(part, Leaf) and operands.get(part.text, MISSING) is None for part in args]
    args = [Number(None) if none else part for none, part in zip(absent, args, strict=True)]
    while args[-1] == Number(None):
        args.pop()
    return Apply(formula.op, tuple(args), tuple(options.items()))


def rewrite(formula: Formula, rule: Callable[[Formula], Formula | None]) -> Formula:
    """The formula with every part, outside in, for which `rule` has another one."""
    other = rule(formula)
    if other is not None:
        return other
    match formula:
        case Apply(_, args) | Call(_, args):
            return replace(formula, args=tuple(rewrite(part, rule) for part in args))
        case Sequence(items, is_list):
            return Sequence(tuple(rewrite(part, rule) for part in items), is_list)
    return formula


def _size(formula: Formula, operands: Mapping[str, Any]) -> Number | None:
    """The number a part of a formula is, if it is a size of something whose value is known."""
    match formula:
        case Leaf(text, size) if size is not None and type(operands.get(text)) is int:
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
