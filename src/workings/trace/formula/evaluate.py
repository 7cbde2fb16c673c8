"""A formula computed again with PyTorch.

Works wherever PyTorch does: floats, exact tensors, plain numbers. Each operation is computed as its row says.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula.arguments import FormulaError, argument_value
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Number, Sequence


class Recomputed:
    """How a call without a formula is made again; it stands in the operands under the name of what is called."""

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError


def evaluate(formula: Formula, operands: Mapping[str, Any]) -> Any:
    """The value of a formula, its leaves looked up in `operands`.

    >>> evaluate(Apply("add", (Leaf("x"), Number(1))), {"x": torch.tensor(2.0)})
    tensor(3.)
    """
    match formula:
        case Leaf(text=text) if text in operands:
            return operands[text]
        case Leaf(text=text):
            raise FormulaError(f"'{text}' cannot be computed again: its value was not recorded.")
        case Number(value=value):
            return value
        case Sequence(items=items):
            return [evaluate(item, operands) for item in items]
        case Apply(op=op, args=args, options=options):
            return _apply(op, [evaluate(part, operands) for part in args], dict(options), operands)
        case Call(name=name, args=args) if isinstance(again := operands.get(name), Recomputed):
            return again(*(evaluate(part, operands) for part in args))
        case Call(name=name):
            raise FormulaError(f"{name}(…) cannot be computed again: it has no formula here.")
        case _:
            raise FormulaError(f"'{formula.text}' cannot be computed again: it is Python without a formula.")


def _apply(op: str, args: list[Any], options: dict[str, Any], operands: Mapping[str, Any]) -> Any:
    try:
        options = {key: option(value, operands) for key, value in options.items()}
        row = OPERATIONS.get(op)
        if row is not None and row.compute is not None:
            return row.compute(*_of_one_kind(args), **options)
        if row is not None and row.compute_in_scope is not None:
            return row.compute_in_scope(operands, *args, **options)
    except FormulaError:
        raise
    except RuntimeError as error:  # what PyTorch refuses is told to the reader as the reason
        raise FormulaError(f"{op} cannot be computed again: {error}") from error
    except Exception as error:
        raise FormulaError(f"{op} cannot be computed again with such arguments.") from error
    raise FormulaError(f"{op} cannot be computed again: it is not in the table of operations.")


def _of_one_kind(args: list[Any]) -> list[Any]:
    """Floats of several precisions, as autocast mixes them, in the widest of them."""
    kinds = {value.dtype for value in args if isinstance(value, Tensor) and value.is_floating_point()}
    if len(kinds) < 2:
        return args
    widest = functools.reduce(torch.promote_types, kinds)
    return [value.to(widest) if isinstance(value, Tensor) and value.dtype in kinds else value for value in args]


def option(value: Any, operands: Mapping[str, Any]) -> Any:
    """The value of an option: as it is, or computed where it is a formula; which change of shape it is, its row reads."""
    if isinstance(value, Apply):
        return evaluate(value, operands)
    return argument_value(value, operands) if isinstance(value, Formula) and not isinstance(value, Call) else value
