"""The first window of a convolution or a pooling, with its numbers, as an equation of its own.

y = x ∗ w = …                             y[0, 0, 0, 0] = Σ (window ⊙ kernel) = Σ (⎡1  2⎤ ⊙ ⎡1   0⎤) = −3
                                                                                  ⎣3  4⎦   ⎣0  −1⎦
"""

from __future__ import annotations

import torch

from workings.errors import WorkingsError
from workings.show.formula.calls import with_notation
from workings.show.formula.shapes import Shapes
from workings.trace.formula.arguments import FormulaError
from workings.trace.formula.evaluate import evaluate, option
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Formula
from workings.trace.step import Step


def first_window(step: Step) -> Step | None:
    """How the first entry of a step's result came about, where the step is an operation on windows."""
    if not isinstance(step.result, torch.Tensor) or not step.result.numel() or not step.name.isidentifier():
        return None
    formula = _operation(step)
    row = None if formula is None else OPERATIONS.get(formula.op)
    if formula is None or row is None or row.window is None:
        return None
    names = OPERATIONS.signature(row.name)
    try:
        given = {name: evaluate(arg, step.operands) for name, arg in zip(names, formula.args, strict=False)}
        given |= {name: option(value, step.operands) for name, value in formula.options}
        found = row.window(**given)
    except (WorkingsError, FormulaError, TypeError, ValueError, IndexError, RuntimeError):
        return None
    if found is None:
        return None
    first = (0,) * step.result.dim()
    name = f"{step.name}[{', '.join(map(str, first))}]"
    return Step("assign", name, "", found[0], found[1], step.result[first])


def _operation(step: Step) -> Apply | None:
    """The operation that a statement is, also where it was read as a mere call."""
    found: Formula | None = step.formula
    if found is not None and not isinstance(found, Apply):
        found = with_notation(found, Shapes(step.operands), step.source)
    return found if isinstance(found, Apply) else None
