"""A PyTorch operation that ran, as the Python one would write for it: `x + 1`, `x.softmax(dim=-1)`, `y[0] = x`.

It is made as a syntax tree, not as text: its formula and its targets are read from it like those of any statement.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import resolve_name

from workings.trace.formula.from_python import SPECIAL_METHODS

_SIGNS: dict[str, Any] = {"div": ast.Div, **{method: sign for sign, method in SPECIAL_METHODS.items()}}
"""Python's signs by their special methods; `Tensor.div` is one by a name of its own."""
_RELATIONS = {"lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq}
_CONSTANTS = (bool, str, bytes, type(None), type(Ellipsis))
_PATHS = (torch.dtype, torch.layout, torch.memory_format)


def value_syntax(value: Any, name_of: Callable[[torch.Tensor], str]) -> ast.expr:
    """How a value is written: a tensor by its name, anything else as in Python.

    >>> ast.unparse(value_syntax((slice(None, -1), [2.5, None], torch.float64), str))
    '(:-1, [2.5, None], torch.float64)'
    """
    if isinstance(value, torch.Tensor):
        return _name(name_of(value))
    if isinstance(value, tuple | list):
        items = [value_syntax(item, name_of) for item in value]
        return ast.List(items, ast.Load()) if isinstance(value, list) else ast.Tuple(items, ast.Load())
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return ast.Slice(*(None if end is None else value_syntax(end, name_of) for end in ends))
    if isinstance(value, _CONSTANTS):
        return ast.Constant(value)
    if isinstance(value, int | float):
        return _number(value)
    # A name may be any text in a syntax tree: the `repr` of an object needs no reading, and is never run.
    return _path(str(value)) if isinstance(value, _PATHS) else _name(repr(value))


def _number(value: float) -> ast.expr:
    """A number as Python's parser has it, which knows no negative numbers and no infinities."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), _number(-value))
    plain = int(value) if isinstance(value, int) else float(value)
    return ast.Constant(plain) if math.isfinite(plain) else _name(str(plain))


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _path(text: str) -> ast.expr:
    """torch.float64"""
    owner, _, name = text.rpartition(".")
    return ast.Attribute(_path(owner), name, ast.Load()) if owner else _name(name)


def call_syntax(func: Any, args: list[ast.expr], kwargs: dict[str, ast.expr]) -> ast.expr | ast.Assign:
    """The operation as one would write it in Python.

    >>> x, one = ast.Name("x"), ast.Constant(1)
    >>> [ast.unparse(call_syntax(f, [x, one], {})) for f in (torch.Tensor.__add__, torch.Tensor.__rsub__, torch.matmul)]
    ['x + 1', '1 - x', 'torch.matmul(x, 1)']
    >>> ast.unparse(call_syntax(torch.Tensor.softmax, [x], {"dim": one}))
    'x.softmax(dim=1)'
    """
    name, is_method = operation_name(func), (resolve_name(func) or "").startswith("torch.Tensor.")
    bare, is_special = name.strip("_"), name.startswith("__")
    if getattr(func, "__name__", "") == "__get__":
        return ast.Attribute(args[0], name, ast.Load())
    if name == "__getitem__":
        return ast.Subscript(args[0], args[1], ast.Load())
    if name == "__setitem__":
        entry = ast.Subscript(args[0], args[1], ast.Store())
        return ast.fix_missing_locations(ast.Assign([entry], args[2]))
    if len(args) == 2 and (is_special or (name == bare and is_method and not kwargs)):
        found = _binary(bare, *args) or (_binary(bare[1:], *(reversed(args) if bare[0] == "r" else args)))
        if found is not None:  # __radd__ and __iadd__ are named after __add__
            return found
    if is_special and len(args) == 1:
        return ast.UnaryOp(_SIGNS[bare](), args[0]) if bare in _SIGNS else ast.Call(_name(bare), args, [])
    keywords = [ast.keyword(key, value) for key, value in kwargs.items()]
    if is_method and args:
        return ast.Call(ast.Attribute(args[0], name, ast.Load()), args[1:], keywords)
    return ast.Call(ast.Attribute(_name("torch"), name, ast.Load()), args, keywords)


def _binary(name: str, left: ast.expr, right: ast.expr) -> ast.expr | None:
    if name in _RELATIONS:
        return ast.Compare(left, [_RELATIONS[name]()], [right])
    return ast.BinOp(left, _SIGNS[name](), right) if name in _SIGNS else None


def without_library(node: ast.AST) -> ast.AST:
    """`matmul(A, B)` of `torch.matmul(A, B)`"""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=args, keywords=keywords):
            return ast.Call(_name(name), args, keywords)
    return node


def out_of_place(node: ast.expr) -> ast.expr:
    """`x.mul(2)` of `x.mul_(2)`: the value that is written into x."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords):
            return ast.Call(ast.Attribute(owner, name.removesuffix("_"), ast.Load()), args, keywords)
    return node


def operation_name(func: Any) -> str:
    """`matmul`, `__add__`; `T` for the getter of an attribute."""
    name = str(getattr(func, "__name__", func))
    return str(getattr(func.__self__, "__name__", name)) if name == "__get__" else name


def unusual_options(func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from the usual: functions of PyTorch report all of theirs.

    >>> unusual_options(torch.nn.functional.cross_entropy, {"weight": None, "label_smoothing": 0.1})
    {'label_smoothing': 0.1}
    """
    code = getattr(func, "__code__", None)
    if code is None:
        return kwargs
    try:
        usual = {name: p.default for name, p in inspect.signature(func).parameters.items()}
    except ValueError:  # Tensor.__pow__ and others wrap a function whose signature Python does not know
        return kwargs
    return {name: value for name, value in kwargs.items() if name not in usual or value is not usual[name]}
