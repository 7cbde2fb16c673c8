"""A recipe as its source describes it: name, summary, example and settings, without loading it, nor PyTorch.

A recipe imports PyTorch, which takes seconds; its help needs only what is written down in its file. The settings are a
dataclass again, made of the same calls of `setting`.
"""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workings.train.recipe import RECIPES, recipe
from workings.train.settings import Training, setting

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}


@dataclass(frozen=True)
class Described:
    """What the help of a recipe needs."""

    name: str
    summary: str
    example: str
    Settings: type[Training]


def described(name: str) -> Described:
    """The recipe of this name, from its source; loaded where its source cannot be read, or says it in another way.

    >>> digits = described("digits")
    >>> digits.example, digits.Settings().model
    ('workings train digits --steps 500', 'cnn')
    """
    try:
        return from_source(*RECIPES[name].split(":"))
    except (LookupError, TypeError, ValueError, OSError, ImportError):
        found = recipe(name)
        return Described(found.name, found.summary, found.example, found.Settings)


def from_source(module: str, name: str) -> Described:
    texts = {key: str(literal(attribute(module, name, key), module)) for key in ("name", "summary", "example")}
    match attribute(module, name, "Settings"):
        case ast.Name(id=settings):
            return Described(**texts, Settings=dataclass_of(module, settings))
    raise LookupError(f"{module}:{name} has no settings")


@cache
def body(module: str) -> list[ast.stmt]:
    """The statements of a module."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise LookupError(module)
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body


def class_of(module: str, name: str) -> ast.ClassDef:
    return next((node for node in body(module) if isinstance(node, ast.ClassDef) and node.name == name), None) or missing(
        name
    )


def missing(name: str) -> Any:
    raise LookupError(name)


def attribute(module: str, name: str, key: str) -> ast.expr:
    """What a class of a module, or the class of that module which it extends, sets an attribute to."""
    found = class_of(module, name)
    for line in found.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == key:
                return value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == key:
                return value
    match found.bases:
        case [ast.Name(id=base)]:
            return attribute(module, base, key)
    raise LookupError(key)


def literal(node: ast.expr, module: str) -> Any:
    """The value of an expression: written out, or a name for one in this module or where it is imported from."""
    if not isinstance(node, ast.Name):
        return ast.literal_eval(node)
    for line in body(module):
        match line:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == node.id:
                return literal(value, module)
            case ast.ImportFrom(module=str(source), names=names) if node.id in [alias.name for alias in names]:
                return literal(node, source)
    raise LookupError(node.id)


def dataclass_of(module: str, name: str) -> type[Training]:
    """The settings as a dataclass: the fields of every recipe, then those written here."""
    fields: list[tuple[str, type, Any]] = []
    for line in class_of(module, name).body:
        match line:
            case ast.AnnAssign(target=ast.Name(id=key), annotation=ast.Name(id=kind), value=ast.Call() as call):
                given = [literal(argument, module) for argument in call.args]
                named = {word.arg: literal(word.value, module) for word in call.keywords if word.arg}
                fields.append((key, TYPES[kind], setting(*given, **named)))
            case ast.AnnAssign():
                raise LookupError(name)
    return dataclasses.make_dataclass(name, fields, bases=(Training,), frozen=True)
