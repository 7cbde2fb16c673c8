"""Assignments to entries: `y[0] = e` gives y[0] its value, and what is recorded is the whole of y after it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import torch

from workings.trace.code.look_up import MISSING
from workings.trace.formula.from_text import FormulaError, read_index
from workings.trace.formula.targets import parsed
from workings.trace.formula.tree import Number
from workings.trace.step import Step


class Assigned(NamedTuple):
    """The whole by its name, and the value of the entry (`MISSING` where it is not known or stands there already)."""

    whole: str
    entry: Any


def assigned(step: Step) -> Assigned | None:
    """What an assignment to an entry changed; None for any other step.

    >>> assigned(Step("assign", "y[0]", "y[0] = e", result=[3, 4]))
    Assigned(whole='y', entry=3)
    """
    if step.kind != "assign" or not step.name.endswith("]") or not step.source.startswith(f"{step.name} = "):
        return None
    target = parsed(step.name)
    if not isinstance(target, ast.Subscript):
        return None
    return Assigned(ast.unparse(target.value), MISSING if isinstance(step.formula, Number) else _entry(step, target))


def _entry(step: Step, target: ast.Subscript) -> Any:
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if not isinstance(step.result, torch.Tensor | list | dict):
        return MISSING
    try:
        return step.result[read_index(", ".join(map(ast.unparse, parts)), step.operands)]
    except (FormulaError, TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError):
        return MISSING
