"""A piece of a statement computed again, where that changes nothing: names as they were, Python's operators, and
PyTorch's functions that only compute. Nothing of the author's runs."""

from __future__ import annotations

import ast
import operator
import types
from typing import Any

import torch
from torch import nn

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.follow.names import PLACES, Names
from workings.trace.formula.expression import ARITHMETIC, COMPARISONS, Reader, Rules, Unreadable
from workings.trace.formula.operation import names_of
from workings.trace.operations import OPERATIONS

_OPERATORS = {**ARITHMETIC, **COMPARISONS, ast.MatMult: operator.matmul, ast.Pow: operator.pow}
_KNOWN = {name for row in OPERATIONS.values() for name in names_of(row)} | set(
    """
    item tolist size dim swapaxes movedim as_tensor
    """.split()
)
COMPUTING = frozenset(name for name in _KNOWN if not name.endswith("_")) - {"dropout"}  # __setitem__ changes a tensor
"""Functions and methods that compute a value and change nothing."""
_LIBRARIES = ("torch", "torch.nn.functional", "torch.special")


def recompute(node: ast.expr, names: Names) -> Any:
    """The value of an expression; `Unreadable` where it has something else in it, PyTorch's own error where it fails."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        return Reader({**PLACES, ast.Name: names.name, **_RULES}, _OPERATORS).read(node)


def _attribute(node: ast.Attribute, reader: Reader) -> Any:
    if node.attr in ("T", "mT", "H", "mH", "shape"):
        return getattr(_tensor(node, reader.read(node.value)), node.attr)
    return PLACES[ast.Attribute](node, reader)


def _item(node: ast.Subscript, reader: Reader) -> Any:
    try:
        return PLACES[ast.Subscript](node, reader)
    except Unreadable:
        return _tensor(node, reader.read(node.value))[reader.read(node.slice)]


def _call(node: ast.Call, reader: Reader) -> Any:
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in COMPUTING
        or any(k.arg is None for k in node.keywords)
    ):
        raise Unreadable(node)
    owner = reader.read(node.func.value)
    if not isinstance(owner, types.ModuleType) or owner.__name__ not in _LIBRARIES:
        owner = _tensor(node, owner)
    function = getattr(owner, node.func.attr, None)
    args = [reader.read(part) for part in node.args]
    options = {str(k.arg): reader.read(k.value) for k in node.keywords}
    if "out" in options or "inplace" in options or not callable(function):
        raise Unreadable(node)
    return function(*args, **options)


def _tensor(node: ast.expr, value: Any) -> torch.Tensor:
    if type(value) not in (torch.Tensor, nn.Parameter, ExactTensor):
        raise Unreadable(node)
    return value


_RULES: Rules = {ast.Attribute: _attribute, ast.Subscript: _item, ast.Call: _call}
