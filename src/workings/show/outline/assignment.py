"""Assignments to entries: `y[0] = e` gives y[0] its value, and what is recorded is the whole of y after it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from workings.trace.code.look_up import MISSING
from workings.trace.formula.arguments import FormulaError, index_value
from workings.trace.formula.tree import Index, Number
from workings.trace.step import Step


class EntryAssignment(NamedTuple):
    """The whole by its name, and the value of the entry (`MISSING` where it is not known or stands there already)."""

    whole: str
    entry: Any


def entry_assignment(step: Step) -> EntryAssignment | None:
    """What an assignment to an entry changed; None for any other step.

    >>> from workings.trace.formula.targets import Target
    >>> from workings.trace.step import Syntax
    >>> y0 = Target("y[0]", whole=Target("y"), at=Index((Number(0),)))
    >>> entry_assignment(Step("assign", "y[0]", "y[0] = e", result=[3, 4], syntax=Syntax((y0,))))
    EntryAssignment(whole='y', entry=3)
    """
    target = step.syntax.target
    alone = step.kind == "assign" and len(step.syntax.targets) == 1 and not step.syntax.is_augmented
    if not alone or target is None or target.whole is None or target.at is None:
        return None
    return EntryAssignment(target.whole.text, MISSING if isinstance(step.formula, Number) else _entry(step, target.at))


def unpacks(step: Step) -> bool:
    """Whether a statement gives names to the parts of its result: `a, b = f(x)`."""
    return step.syntax.target is not None and bool(step.syntax.target.parts)


def _entry(step: Step, at: Index) -> Any:
    if not isinstance(step.result, torch.Tensor | list | dict):
        return MISSING
    try:
        return step.result[index_value(at, step.operands)]
    except (FormulaError, TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError):
        return MISSING
