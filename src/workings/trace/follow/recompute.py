"""A piece of a statement computed again, where that changes nothing: names as they were, Python's operators, and
PyTorch's functions that only compute. Nothing of the author's runs."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.code.look_up import MISSING
from workings.trace.follow.names import Names
from workings.trace.formula.operation import names_of
from workings.trace.operations import OPERATIONS

_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.MatMult: operator.matmul, ast.Pow: operator.pow, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne},
}
_KNOWN = {name for row in OPERATIONS.values() for name in names_of(row)} | set(
    """
    item tolist size dim transpose swapaxes movedim all any as_tensor rand randn rand_like randn_like
    """.split()
)
COMPUTING = frozenset(name for name in _KNOWN if not name.endswith("_")) - {"dropout"}  # __setitem__ changes a tensor
"""Functions and methods that compute a value and change nothing."""
_LIBRARIES = ("torch", "torch.nn.functional", "torch.special")


class Unknown(Exception):
    """A piece that is not computed again."""


def again(node: ast.expr, names: Names) -> Any:
    """The value of an expression; `Unknown` where it has something else in it, PyTorch's own error where it fails."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        return _again(node, names)


def _again(node: ast.expr, names: Names) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_again(node.left, names), _again(node.right, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _OPERATORS[type(node.ops[0])](_again(node.left, names), _again(node.comparators[0], names))
    if isinstance(node, (ast.Tuple, ast.List)):
        return [_again(part, names) for part in node.elts]
    if isinstance(node, ast.Call):
        return _call(node, names)
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH", "shape"):
        return getattr(_tensor(_again(node.value, names)), node.attr)
    value = names.read(node)
    if value is MISSING and isinstance(node, ast.Subscript):
        return _tensor(_again(node.value, names))[_index(node.slice, names)]
    if value is MISSING:
        raise Unknown
    return value


def _index(node: ast.expr, names: Names) -> Any:
    """What stands in the brackets: 5, -1, i, 1:3, or several of these."""
    if isinstance(node, ast.Tuple):
        return tuple(_index(part, names) for part in node.elts)
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else _index(part, names) for part in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_index(node.operand, names)
    return _again(node, names)


def _call(node: ast.Call, names: Names) -> Any:
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in COMPUTING
        or any(k.arg is None for k in node.keywords)
    ):
        raise Unknown
    owner = _owner(node.func.value, names)
    function = getattr(owner, node.func.attr, None)
    args = [_again(part, names) for part in node.args]
    options = {str(k.arg): _again(k.value, names) for k in node.keywords}
    if "out" in options or "inplace" in options or not callable(function):
        raise Unknown
    return function(*args, **options)


def _owner(node: ast.expr, names: Names) -> Any:
    """`torch`, one of its modules of functions, or a tensor."""
    value = names.read(node) if isinstance(node, (ast.Name, ast.Attribute)) else _again(node, names)
    if isinstance(value, types.ModuleType) and value.__name__ in _LIBRARIES:
        return value
    return _tensor(value)


def _tensor(value: Any) -> torch.Tensor:
    if type(value) not in (torch.Tensor, nn.Parameter, ExactTensor):
        raise Unknown
    return value
