"""Steps that are no part of the computation: which arguments were given, checks, decorators around a function.

They are recorded like all others (`work.steps()`, JSON) and left out when a work is printed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from workings.own_code import is_own
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, walk
from workings.trace.step import Step


def is_plumbing(step: Step) -> bool:
    """Whether a step only asks which arguments were given: `if mask is not None`, or a check that stands alone."""
    ours = step.where is not None and is_own(step.where.file)
    if ours and step.kind == "assign" and step.name == "_":
        return not has_error(step)
    if ours and step.kind == "expression":
        return step.result is None and _is_call_by_name(step.formula) and all(map(_is_check, step.children))
    return step.kind == "branch" and not step.children and any(_asks(part, ours) for part in _parts(step.formula))


def _parts(formula: Formula | None) -> Iterator[Formula | ast.AST]:
    """What a formula is made of, and where it is Python without mathematics, what that is made of."""
    for part in () if formula is None else walk(formula):
        yield part
        if isinstance(part, Code) and part.node is not None:
            yield from ast.walk(part.node)


def _asks(part: Formula | ast.AST, ours: bool) -> bool:
    """Whether a test asks which arguments were given, in our own code also how many axes or entries they have."""
    match part:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) | Call(name=name):
            called = name.rpartition(".")[2]
            return called == "isinstance" or (ours and called in ("dim", "numel"))
    return False


def _is_call_by_name(formula: Formula | None) -> bool:
    match formula:
        case Call(name=name):
            return name.isidentifier()
        case Code(node=ast.Call(func=ast.Name())):
            return True
    return False


def is_aside(step: Step) -> bool:
    """Whether a call of a function of this library is not worth opening: it checks, or gives a tensor another shape."""
    return _is_check(step) or _is_arrangement(step)


def _is_check(step: Step) -> bool:
    """Whether this is a call by which a function of this library looks at its arguments: its value is no tensor, and it
    keeps nothing, as `self.mean = …` does."""
    if step.kind != "call" or _has_tensor(step.result) or has_error(step) or any(map(_keeps, step.walk())):
        return False
    places = [s.where.file for s in step.walk() if s.where is not None]
    return bool(places) and all(is_own(file) for file in places)


def _is_arrangement(step: Step) -> bool:
    """Whether this is a call by which a function of this library gives a tensor the shape that its equations have:
    `in_places(Y)`, which returns Y.reshape(…). The statement that calls it says all there is."""
    inside = [child for child in step.children if child.kind != "input" and not is_plumbing(child)]
    if step.kind != "call" or [child.kind for child in inside] != ["return"] or has_error(step):
        return False
    (last,) = inside
    ours = last.where is not None and is_own(last.where.file)
    return ours and _only_shapes(last.formula) and all(map(_is_check, last.children))


def _only_shapes(formula: Formula | None) -> bool:
    """Y, or Y.reshape(…), also with a size that is unpacked: Y.reshape(*size)."""
    if isinstance(formula, Code):
        called = formula.node
        return isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute) and called.func.attr == "reshape"
    return isinstance(formula, Leaf) or (isinstance(formula, Apply) and formula.op == "reshape")


def _keeps(step: Step) -> bool:
    """self.mean = (1 - m) * self.mean + m * mean"""
    return step.kind == "assign" and "." in step.name


def _has_tensor(value: object) -> bool:
    """Whether a tensor is in it: sizes alone, as (2, 2), are no mathematics of their own."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return isinstance(value, torch.Tensor) or any(map(_has_tensor, parts))


def inside_of(step: Step) -> list[Step]:
    """What a reader wants to see inside a step: of a decorator around a function, what the function did.

    A decorator passes all arguments on, `output = func(self, *args, **kwargs)`, and does its own work around that.
    """
    if step.kind in ("call", "module"):
        for child in step.children:
            if child.children and any(map(_passes_all_on, _parts(child.formula))) and not has_error(step):
                inputs = [c for c in step.children if c.kind == "input"]
                around = len(step.children) - len(inputs) - 1
                note = f"a decorator around {step.name or step.source}: {around} steps are not shown"
                inner = child.children[0] if [c.kind for c in child.children] == ["call"] else child
                inputs = inputs if inner is child else []
                return [*inputs, *([Step("folded", note=note)] if around else []), *inner.children]
    return step.children


def _passes_all_on(part: Formula | ast.AST) -> bool:
    """func(*args, **kwargs), func(self, *args, **kwargs)"""
    match part:
        case ast.Call(args=[ast.Starred()] | [ast.Name(), ast.Starred()], keywords=[ast.keyword(arg=None)]):
            return True
    return False


def has_error(step: Step) -> bool:
    """Whether the code failed in it."""
    return any(s.kind == "error" for s in step.walk())
