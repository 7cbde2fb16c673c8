"""The text inside brackets, after a dot and in options, computed again: `0, :, -1`, `mask`, `view(B, T, -1)`, `(0, 2)`.

Python's own parser reads the text; only literals, slices, arithmetic, shapes and the recorded operands are understood.
Nothing is ever run as code: what is not understood raises `FormulaError`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch

from workings.errors import WorkingsError


class FormulaError(WorkingsError):
    """A formula that cannot be computed again: say which part and why."""


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"len": len, "slice": slice, "torch.arange": torch.arange}
ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "device"})
METHODS = frozenset({"size", "dim", "numel", "long", "bool"})
ROOTS = frozenset({"torch", "F"})


def read_text(text: str, operands: Mapping[str, Any]) -> Any:
    """What an option's text says.

    >>> read_text("(0, n)", {"n": 3})
    (0, 3)
    """
    return _value(_parse(text), operands)


def read_index(text: str, operands: Mapping[str, Any]) -> Any:
    """What stands in the brackets of `a[text]`.

    >>> read_index("0, 1:n", {"n": 3})
    (0, slice(1, 3, None))
    """
    node = _parse(f"_[{text}]")
    assert isinstance(node, ast.Subscript)
    return _value(node.slice, operands)


def read_call(text: str, operands: Mapping[str, Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """The method's name, its arguments and its options in `view(B, -1)` or `torch.flatten(x, 1)`; of a chain, the last.

    >>> read_call("view(B, -1)", {"B": 2})
    ('view', [2, -1], {})
    """
    name, args, options = _call(text)
    return name, _items(args, operands), {str(option.arg): _value(option.value, operands) for option in options}


def method_name(text: str) -> str:
    """The method alone, its arguments unread: `view` for `view(*size_out)`."""
    return _call(text)[0]


def _call(text: str) -> tuple[str, list[ast.expr], list[ast.keyword]]:
    match _parse(text.removeprefix(".")):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=root), attr=name), args=[_, *args], keywords=options) if (
            root in ROOTS
        ):
            return name, args, options
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=options):
            return name, args, options
    raise FormulaError(f"'{text}' cannot be computed again: it is not one method with its arguments, such as view(2, 3).")


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise FormulaError(f"'{text}' cannot be computed again: it is not a Python expression.") from None


def _value(node: ast.expr | None, operands: Mapping[str, Any]) -> Any:
    if node is None:
        return None
    text = ast.unparse(node)
    if text in operands:
        return operands[text]
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(_value(lower, operands), _value(upper, operands), _value(step, operands))
        case ast.Tuple(elts=items):
            return tuple(_items(items, operands))
        case ast.List(elts=items):
            return _items(items, operands)
        case ast.UnaryOp(op=op, operand=part):
            return UNARY[type(op)](_value(part, operands))
        case ast.BinOp(left=left, op=binary, right=right) if type(binary) in BINARY:
            return BINARY[type(binary)](_value(left, operands), _value(right, operands))
        case ast.Compare(left=left, ops=[relation], comparators=[right]) if type(relation) in COMPARISONS:
            return COMPARISONS[type(relation)](_value(left, operands), _value(right, operands))
        case ast.Attribute(value=ast.Name(id="torch"), attr=name) if isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        case ast.Attribute(value=part, attr=name) if name in ATTRIBUTES:
            return getattr(_value(part, operands), name)
        case ast.Subscript(value=part, slice=place):
            return _value(part, operands)[_value(place, operands)]
        case ast.Call(func=function, args=args, keywords=[]):
            return _called(function, _items(args, operands), operands)
    raise FormulaError(f"'{text}' cannot be computed again: its value was not recorded.")


def _called(function: ast.expr, args: list[Any], operands: Mapping[str, Any]) -> Any:
    name = ast.unparse(function)
    if name in FUNCTIONS:
        return FUNCTIONS[name](*args)
    if isinstance(function, ast.Attribute) and function.attr in METHODS:
        return getattr(_value(function.value, operands), function.attr)(*args)
    raise FormulaError(f"'{name}(…)' cannot be computed again: its value was not recorded.")


def _items(nodes: list[ast.expr], operands: Mapping[str, Any]) -> list[Any]:
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items.extend(_value(node.value, operands))
        else:
            items.append(_value(node, operands))
    return items
