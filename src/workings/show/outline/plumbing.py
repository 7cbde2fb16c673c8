"""Steps that are no part of the computation: which arguments were given, checks, decorators around a function.

They are recorded like all others (`work.steps()`, JSON) and left out when a work is printed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch

from workings.own_code import is_own
from workings.show.options import Options
from workings.show.value.value import is_same, shape_of, text_of
from workings.show.write.names import text_name
from workings.trace.formula.targets import unpack
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Sequence, walk
from workings.trace.step import Step


def is_plumbing(step: Step) -> bool:
    """Whether a step only asks which arguments were given: `if mask is not None`, or a check that stands alone; or leaves a
    value to be given later: `loss, dx = None, None`.

    Of this library's own code, so is a test of settings or one that nothing came of, and an assignment that leaves its
    arguments what they were: `N, F, S, P = possible(N, F, S, P)`.
    """
    ours = is_ours(step)
    if step.kind == "assign" and step.where is not None and _gives_none(step.formula):
        return not step.children
    if ours and step.kind == "assign":
        return not has_error(step) and (step.name == "_" or _hands_on(step))
    if ours and step.kind == "expression":
        return step.result is None and _is_call_by_name(step.formula) and all(map(_is_check, step.children))
    if step.kind != "branch":
        return False
    if ours and not isinstance(step.result, torch.Tensor) and (not step.result or not _has_tensor(step.operands)):
        return step.result is not None and all(map(_is_check, step.children))
    return not step.children and any(_asks(part, ours) for part in _parts(step.formula))


def is_passed_over(step: Step, after: Step | None) -> bool:
    """Whether a test was false and an `elif` comes after it: of such a chain, the last test says all."""
    chain = after is not None and step.kind == after.kind == "branch" and after.source.startswith("elif ")
    return chain and not isinstance(step.result, torch.Tensor) and not step.result and not step.children


def _gives_none(formula: Formula | None) -> bool:
    """Whether a right side is None, or nothing but Nones."""
    match formula:
        case Number(None):
            return True
        case Sequence(items):
            return bool(items) and all(map(_gives_none, items))
    return False


def is_ours(step: Step) -> bool:
    """Whether a statement stands in code of this library."""
    return step.where is not None and is_own(step.where.file)


def _hands_on(step: Step) -> bool:
    """Whether an assignment gives its names the values they had, or numbers that it was given: `h, w = pair(size)`."""
    target, calls = step.syntax.target, _calls(step.formula)
    if target is None or any(child.kind == "gradient" for child in step.children):
        return False
    if not calls:
        return False
    values = [value for _, value, _ in unpack(target, target.text, step.result, step.result)]
    before = {text_name(name): value for name, value in step.operands.items()}
    names = [text_name(name) for name in target.names]
    if len(names) == len(values) and all(
        name in before and _looks_same(before[name], value) for name, value in zip(names, values, strict=True)
    ):
        return True
    given = [value for call in calls for arg in call.args if isinstance(value := _number(arg, step), int)]
    return all(type(value) is int for value in values) and bool(given) and {*values} <= {*given}


def _calls(formula: Formula | None) -> list[Call]:
    """The calls that a right side consists of, none where there is anything else."""
    parts = formula.items if isinstance(formula, Sequence) else (formula,)
    calls = [part for part in parts if isinstance(part, Call)]
    return calls if len(calls) == len(parts) else []


def _number(arg: Formula, step: Step) -> object:
    match arg:
        case Number(value):
            return value
        case Leaf(text):
            return step.operands.get(text)
    return None


def _looks_same(before: object, after: object) -> bool:
    """Whether a reader sees the same value: 2 and the tensor 2, a float and the exact value it is."""
    if is_same(before, after):
        return True
    small = all(not isinstance(x, torch.Tensor) or x.numel() <= _FEW for x in (before, after))
    return small and shape_of(before) == shape_of(after) and text_of(before, Options()) == text_of(after, Options())


_FEW = 64
"""Entries of a tensor that are compared as they are written."""
_ABOUT_ARGUMENTS = re.compile(r"since (.*\bis (not )?None\b.*|isinstance\(.*\)|\w+) is (true|false)$")


def is_about_arguments(step: Step) -> bool:
    """Whether the note on a statement of this library only says which arguments it was given: «since m is None is true»."""
    return is_ours(step) and _ABOUT_ARGUMENTS.match(step.note) is not None


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


def inside_of(step: Step, complete: bool = False) -> list[Step]:
    """What a reader wants to see inside a step: of a decorator around a function, what the function did.

    A decorator passes all arguments on, `output = func(self, *args, **kwargs)`, and does its own work around that.
    `complete` asks for that too.
    """
    if not complete and step.kind in ("call", "module"):
        for child in step.children:
            if child.children and any(map(_passes_all_on, _parts(child.formula))) and not has_error(step):
                inputs = [c for c in step.children if c.kind == "input"]
                around = len(step.children) - len(inputs) - 1
                count, them = ("1 step", "it") if around == 1 else (f"{around} steps", "them")
                note = f"a decorator around {step.name or step.source}: {count} (complete=True shows {them})"
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
