"""Values of running code, read from its frame: by names, plain attributes and plain indices only, so that nothing of the
author's runs."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator
from typing import Any

import torch

from workings.trace.code.look_up import MISSING

_OF_TENSORS = frozenset(("shape", "grad", "data", "dtype", "device"))


class Names:
    """The names of a frame as they are now."""

    def __init__(self, frame: types.FrameType) -> None:
        self.here, self.outside = frame.f_locals, frame.f_globals

    def kept(self) -> Names:
        """As they are now, also later."""
        self.here = dict(self.here)
        return self

    def get(self, name: str) -> Any:
        return self.here.get(name, self.outside.get(name, MISSING))

    def read(self, node: ast.expr) -> Any:
        """The value of an expression that is a place: x, self.W, y[0], (a, b); MISSING for others."""
        rule = _READ.get(type(node))
        return MISSING if rule is None else rule(self, node)


def _tuple(names: Names, node: ast.Tuple | ast.List) -> Any:
    values: list[Any] = []
    for part in node.elts:
        value = names.read(part.value if isinstance(part, ast.Starred) else part)
        if value is MISSING:
            return MISSING
        values += value if isinstance(part, ast.Starred) else [value]
    return tuple(values)


def _subscript(names: Names, node: ast.Subscript) -> Any:
    whole, index = names.read(node.value), names.read(node.slice)
    if index is MISSING or not (isinstance(whole, torch.Tensor) or type(whole) in (list, tuple, dict, torch.Size)):
        return MISSING
    try:
        return whole[index]
    except (IndexError, KeyError, TypeError):
        return MISSING


def _slice(names: Names, node: ast.Slice) -> Any:
    ends = [None if end is None else names.read(end) for end in (node.lower, node.upper, node.step)]
    return MISSING if any(end is MISSING for end in ends) else slice(*ends)


def _negative(names: Names, node: ast.UnaryOp) -> Any:
    value = names.read(node.operand)
    return -value if isinstance(node.op, ast.USub) and type(value) in (int, float) else MISSING


_READ: dict[type[ast.expr], Any] = {
    ast.Name: lambda names, node: names.get(node.id),
    ast.Constant: lambda names, node: node.value,
    ast.Attribute: lambda names, node: plain_attribute(names.read(node.value), node.attr),
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.UnaryOp: _negative,
}


def plain_attribute(value: Any, name: str) -> Any:
    """An attribute that is stored, not computed."""
    if value is MISSING:
        return MISSING
    if isinstance(value, torch.Tensor) and name in _OF_TENSORS:
        return getattr(value, name)
    if isinstance(value, torch.nn.Module):
        for table in (value._parameters, value._buffers, value._modules):
            if name in table:
                return table[name]
    found = inspect.getattr_static(value, name, MISSING)
    if isinstance(found, types.MemberDescriptorType) and not isinstance(value, type):
        return getattr(value, name, MISSING)  # one of __slots__
    own = name in getattr(value, "__dict__", ())
    return found if own or not hasattr(type(found), "__get__") else MISSING


# ---- what a block starts from
def inputs(body: list[ast.stmt], names: Names) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers a block reads before it makes them."""
    reader = _Reader()
    for statement in body:
        reader.visit(statement)
    for name in reader.read:
        value = names.get(name)
        if isinstance(value, (torch.Tensor, int, float)):
            yield name, value


class _Reader(ast.NodeVisitor):
    """Collects the names that are read before they are written, in the order statements run."""

    def __init__(self) -> None:
        self.read: dict[str, None] = {}
        self.written: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.written.add(node.id)
        elif node.id not in self.written:
            self.read[node.id] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for part in (node.value, node.target):
            if part is not None:
                self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.Name(node.target.id, ast.Load()))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_comprehensions(self, node: Any) -> None:
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        new = own - self.written
        self.written |= own
        self.generic_visit(node)
        self.written -= new

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehensions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.written.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.written.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """What a lambda reads, it reads when it is called."""
