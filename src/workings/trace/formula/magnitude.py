"""How large the terms are that a value is summed up from: what its rounding is measured by.

The sum 1 − 0.9999 is off by a rounding of 1, the product 1 · 0.0001 by one of 0.0001 only. So the formula is computed again
in absolute values: a difference is a sum, every product and every linear operation has the absolute values of its operands,
and what else there is stands with the absolute value it has.

    A ⊙ (G − rowsum(A ⊙ G))      |A| ⊙ (|G| + rowsum(|A| ⊙ |G|))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Sequence, map_parts, substitute


def largest_term(formula: Formula, known: Mapping[str, Any], letters: Mapping[str, Formula] | None = None) -> Tensor | None:
    """The formula in absolute values; None where it cannot be computed or is exact.

    >>> x = torch.tensor(0.25)
    >>> largest_term(Apply("sub", (Leaf("x"), Number(1))), {"x": x})
    tensor(1.2500)
    """
    operands = dict(known)
    try:
        with torch.no_grad():
            found = evaluate(_absolute(formula, operands, letters or {}), operands)
    except (WorkingsError, RuntimeError, TypeError, ValueError, IndexError):
        return None
    return found if isinstance(found, Tensor) and not isinstance(found, ExactTensor) else None


def _absolute(formula: Formula, operands: dict[str, Any], letters: Mapping[str, Formula]) -> Formula:
    """The formula with absolute values in it, which join the operands."""
    match formula:
        case Leaf(text=text) if text in letters:
            return _absolute(letters[text], operands, letters)
        case Apply(op="neg", args=(part,)):
            return _absolute(part, operands, letters)
        case Apply(op="sub", args=args):
            return Apply("add", tuple(_absolute(arg, operands, letters) for arg in args))
        case Apply(op=op) if op in OPERATIONS and (OPERATIONS[op].linear or OPERATIONS[op].moves):
            return map_parts(formula, lambda part: _absolute(part, operands, letters))
        case Sequence():
            return map_parts(formula, lambda part: _absolute(part, operands, letters))
        case Number(value=value) if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
            return Number(abs(value))
    value = evaluate(substitute(formula, letters), operands)
    whole = not isinstance(value, (float, Tensor)) or (isinstance(value, Tensor) and not _counts(value))
    text = f"|{len(operands)}|"
    operands[text] = value if whole else abs(value)
    return Leaf(text)


def _counts(value: Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()
