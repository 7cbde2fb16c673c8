"""Python's expressions computed from values that are known, without running anything of the author's.

A `Reader` walks an expression as Python's parser gives it. What it may look up, which operators and which calls it knows is
up to its maker; everything else raises `Unreadable`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

Rules = Mapping[type[ast.expr], Callable[[Any, "Reader"], Any]]
Operators = Mapping[type[ast.AST], Callable[..., Any]]

ARITHMETIC: Operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
COMPARISONS: Operators = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Unreadable(Exception):
    """A part of an expression that is not read: `node`."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(node)
        self.node = node


class Reader:
    """Reads expressions: literals, slices, tuples and lists, the operators it is given, and what it has a rule for.

    A rule for a kind of part (`ast.Name`, `ast.Attribute`, `ast.Subscript`, `ast.Call`) gets the part and the reader.
    """

    def __init__(self, rules: Rules, operators: Operators) -> None:
        self.rules, self.operators = rules, operators

    def read(self, node: ast.expr) -> Any:
        """The value of an expression."""
        if (rule := self.rules.get(type(node))) is not None:
            return rule(node, self)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if end is None else self.read(end) for end in (lower, upper, step)))
            case ast.Tuple(elts=items):
                return tuple(self.items(items))
            case ast.List(elts=items):
                return self.items(items)
            case ast.UnaryOp(op=op, operand=part) if type(op) in self.operators:
                return self.operators[type(op)](self.read(part))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in self.operators:
                return self.operators[type(sign)](self.read(left), self.read(right))
            case ast.Compare(left=left, ops=[relation], comparators=[right]) if type(relation) in self.operators:
                return self.operators[type(relation)](self.read(left), self.read(right))
        raise Unreadable(node)

    def items(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of several parts, those of a starred one among them."""
        found: list[Any] = []
        for node in nodes:
            found += self.read(node.value) if isinstance(node, ast.Starred) else [self.read(node)]
        return found
