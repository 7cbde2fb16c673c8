"""Indices, sizes and options computed again: `0, :, -1`, `mask`, `B * T`, `(0, 2)`.

Only literals, slices, arithmetic, shapes and the recorded operands are understood. What is not understood raises
`FormulaError`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.trace.formula.expression import ARITHMETIC, COMPARISONS, Operators, Reader, Rules, Unreadable
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Sequence, Slice


class FormulaError(WorkingsError):
    """A formula that cannot be computed again: say which part and why."""


_OPERATORS: Operators = {
    **ARITHMETIC,
    **COMPARISONS,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"len": len, "slice": slice, "torch.arange": torch.arange}
_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "device"})
_METHODS = frozenset({"size", "dim", "numel", "long", "bool"})


def argument_value(argument: Formula | Slice | None, operands: Mapping[str, Any]) -> Any:
    """The value of an index, a size or an option.

    >>> argument_value(Sequence((Number(0), Leaf("n"))), {"n": 3})
    (0, 3)
    """
    match argument:
        case Number(value):
            return value
        case Slice(start, stop, step):
            return slice(*(argument_value(end, operands) for end in (start, stop, step)))
        case Sequence(items, is_list):
            found = [argument_value(item, operands) for item in items]
            return found if is_list else tuple(found)
        case Code(text, node):
            return _read_code(text, node, operands)
        case Leaf(text) if text in operands:
            return operands[text]
        case None:
            return None
    raise FormulaError(f"'{argument}' cannot be computed again: its value was not recorded.")


def index_value(index: Index, operands: Mapping[str, Any]) -> Any:
    """What stands in brackets.

    >>> index_value(Index((Number(0), Slice(Number(1), Leaf("n")))), {"n": 3})
    (0, slice(1, 3, None))
    """
    (first, *others) = index.parts or (Sequence(()),)
    if not others and not (isinstance(first, Code) and isinstance(first.node, ast.Starred)):
        return argument_value(first, operands)
    return tuple(_values(index.parts, operands))


def call_values(call: Call, operands: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments and the options of `view(B, -1)`.

    >>> call_values(Call("view", (Leaf("B"), Number(-1))), {"B": 2})
    ([2, -1], {})
    """
    options = {key: argument_value(v, operands) if isinstance(v, Formula) else v for key, v in call.options}
    return _values(call.args, operands), options


def size_value(leaf: Leaf, operands: Mapping[str, Any]) -> Any:
    """A size that is read off an operand: x.ndim, x.shape[-1], x.size(0), len(x).

    >>> size_value(Leaf("x.size(0)", Call("x.size", (Number(0),))), {"x": torch.ones(2, 3)})
    2
    """
    match leaf.size:
        case Call("len", (Leaf(text),)) if text in operands:
            return len(operands[text])
        case Call(name, args):
            path, _, method = name.rpartition(".")
            if path in operands and method in _METHODS:
                return getattr(operands[path], method)(*_values(args, operands))
        case Apply("index", (Leaf() as shape,), ((_, Index() as at),)):
            return size_value(shape, operands)[index_value(at, operands)]
        case None:
            path, _, attribute = leaf.text.rpartition(".")
            if path in operands and attribute in _ATTRIBUTES:
                return getattr(operands[path], attribute)
    raise FormulaError(f"'{leaf}' cannot be computed again: its value was not recorded.")


def _values(parts: tuple[Formula | Slice, ...], operands: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        starred = isinstance(part, Code) and isinstance(part.node, ast.Starred)
        found += argument_value(part, operands) if starred else [argument_value(part, operands)]
    return found


def _read_code(text: str, node: ast.expr | None, operands: Mapping[str, Any]) -> Any:
    """Python without a formula, where the recorded operands are known by their texts."""
    if node is None:
        raise FormulaError(f"'{text}' cannot be computed again: it is not a Python expression.")
    try:
        return _OperandReader(operands).read(node.value if isinstance(node, ast.Starred) else node)
    except Unreadable as reason:
        part = ast.unparse(reason.node)
        raise FormulaError(f"'{part}' cannot be computed again: its value was not recorded.") from None


class _OperandReader(Reader):
    """Reads what can be worked out from the operands of a statement."""

    def __init__(self, operands: Mapping[str, Any]) -> None:
        super().__init__(_RULES, _OPERATORS)
        self.operands = operands

    def read(self, node: ast.expr) -> Any:
        text = ast.unparse(node)
        return self.operands[text] if text in self.operands else super().read(node)


def _attribute(node: ast.Attribute, reader: Reader) -> Any:
    match node:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name) if isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        case ast.Attribute(value=owner, attr=name) if name in _ATTRIBUTES:
            return getattr(reader.read(owner), name)
    raise Unreadable(node)


def _item(node: ast.Subscript, reader: Reader) -> Any:
    return reader.read(node.value)[reader.read(node.slice)]


def _call(node: ast.Call, reader: Reader) -> Any:
    if node.keywords:
        raise Unreadable(node)
    name, args = ast.unparse(node.func), reader.items(node.args)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*args)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return getattr(reader.read(node.func.value), node.func.attr)(*args)
    raise FormulaError(f"'{name}(…)' cannot be computed again: its value was not recorded.")


_RULES: Rules = {ast.Attribute: _attribute, ast.Subscript: _item, ast.Call: _call}
