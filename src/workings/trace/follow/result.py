"""What a statement made, read when it is over."""

from __future__ import annotations

import ast
from typing import Any

import torch

from workings.trace.code.look_up import MISSING
from workings.trace.follow.names import Names
from workings.trace.follow.recompute import recompute
from workings.trace.formula.tree import Leaf
from workings.trace.step import Step


def statement_value(node: ast.stmt, step: Step, names: Names, called: tuple[ast.expr | None, Any]) -> Any:
    """The value a finished statement is shown with; MISSING where it cannot be read."""
    if isinstance(node, ast.Assign):
        return _assigned_value(node.targets[0], names)
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return _assigned_value(node.target, names) if isinstance(node, ast.AnnAssign) else names.read(node.target)
    if isinstance(node, ast.Match):
        return _expression(node.subject, step, names, called)
    return _expression(node.value, step, names, called) if isinstance(node, (ast.Expr, ast.Return)) and node.value else None


def _assigned_value(target: ast.expr, names: Names) -> Any:
    """After `y[0] = e` the interesting result is y."""
    return names.read(target.value if isinstance(target, ast.Subscript) else target)


def _expression(value: ast.expr, step: Step, names: Names, called: tuple[ast.expr | None, Any]) -> Any:
    """The value of an expression that is kept nowhere: what was seen of it, or the name it is; what changes nothing is
    computed again."""
    if (found := observed_value(value, step, names, called)) is not MISSING:
        return found
    return names.read(value) if isinstance(step.formula, Leaf) else try_recompute(value, names)


def observed_value(value: ast.expr, step: Step, names: Names, called: tuple[ast.expr | None, Any]) -> Any:
    """What the call that the expression is returned, or the tensor it changed; MISSING for others."""
    if called[0] is value:
        return called[1]
    if not isinstance(value, ast.Call):
        return MISSING
    inside = [child for child in step.children if child.kind == "module"]
    if inside and isinstance(names.read(value.func), torch.nn.Module):
        return inside[-1].live
    return _in_place(value, names)


def _in_place(call: ast.Call, names: Names) -> Any:
    """The tensor that `y.add_(1)` or `init.zeros_(y)` changes."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not function.attr.endswith("_") or function.attr.endswith("__"):
        return MISSING
    for place in (function.value, *call.args[:1]):
        if isinstance(value := names.read(place), torch.Tensor):
            return value
    return MISSING


def try_recompute(value: ast.expr, names: Names) -> Any:
    try:
        return recompute(value, names)
    except Exception:  # what is not computed again has no value to show
        return None
