"""Values of running code, read from its frame: by names, plain attributes and plain indices only, so that nothing of the
author's runs."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

import torch

from workings.trace.code.look_up import MISSING, OF_TENSORS, class_attribute, plain_attribute
from workings.trace.formula.expression import Reader, Rules, Unreadable

_OF_TENSORS = OF_TENSORS | {"dtype", "device"}


class Names:
    """The names of a frame as they are now."""

    def __init__(self, frame: types.FrameType) -> None:
        self.here, self.outside = frame.f_locals, frame.f_globals

    def freeze(self) -> Names:
        """As they are now, also later."""
        self.here = dict(self.here)
        return self

    def get(self, name: str) -> Any:
        return self.here.get(name, self.outside.get(name, MISSING))

    def read(self, node: ast.expr) -> Any:
        """The value of an expression that is a place: x, self.W, y[0], (a, b); MISSING for others."""
        try:
            return Reader({ast.Name: self.name, **PLACES}, {}).read(node)
        except Unreadable:
            return MISSING

    def name(self, node: ast.Name, reader: Reader) -> Any:
        return _require(node, self.get(node.id))


def _require(node: ast.expr, value: Any) -> Any:
    """The value of a part, if it has one that can be read."""
    if value is MISSING:
        raise Unreadable(node)
    return value


def _attribute(node: ast.Attribute, reader: Reader) -> Any:
    owner = reader.read(node.value)
    if isinstance(owner, torch.Tensor) and node.attr == "grad":
        return owner.grad if owner.is_leaf or owner.retains_grad else None
    held = plain_attribute(owner, node.attr, _OF_TENSORS)
    return _require(node, class_attribute(owner, node.attr) if held is MISSING else held)


def _item(node: ast.Subscript, reader: Reader) -> Any:
    whole, index = reader.read(node.value), reader.read(node.slice)
    if not (isinstance(whole, torch.Tensor) or type(whole) in (list, tuple, dict, torch.Size)):
        raise Unreadable(node)
    try:
        return whole[index]
    except (IndexError, KeyError, TypeError):
        raise Unreadable(node) from None


def _negative(node: ast.UnaryOp, reader: Reader) -> Any:
    value = reader.read(node.operand)
    if not isinstance(node.op, ast.USub) or type(value) not in (int, float):
        raise Unreadable(node)
    return -value


PLACES: Rules = {ast.Attribute: _attribute, ast.Subscript: _item, ast.UnaryOp: _negative}
"""How places are read: plain attributes, entries of what is not the author's own class, and −1."""


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
