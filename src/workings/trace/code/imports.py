"""Which names of a file stand for modules: `fn.softmax(x)` is a function of x where fn is imported, else a method of fn.

The names of a definition are marked where its source is read; `formula/from_python.py` reads the marks.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

from workings.trace.formula.from_python import MODULE

_OWN = "."
"""What the author's own modules are called here: which they are does not matter."""


def mark_modules(tree: ast.AST, file: str) -> None:
    """Say of each name in a syntax tree that could be a module which it stands for: nothing where a value has that name."""
    _mark(tree, modules_of(file), frozenset())


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _mark(scope: ast.AST, modules: dict[str, str], outer: frozenset[str]) -> None:
    nodes = list(_own_nodes(scope))
    values = outer | frozenset(_bound(nodes))
    for node in nodes:
        if isinstance(node, ast.Name) and (node.id in values or node.id in modules):
            setattr(node, MODULE, "" if node.id in values else modules[node.id])
        elif isinstance(node, _SCOPES):
            _mark(node, modules, values if isinstance(scope, _SCOPES) else outer)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without what is inside the functions in it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def modules_of(file: str) -> dict[str, str]:
    """The modules by the names they have in a file: what it imports; in a cell of a notebook, what the session has."""
    lines = linecache.getlines(file)
    known = _KNOWN.get(file)
    if known is None or known[0] is not lines:
        known = _KNOWN[file] = lines, dict(_imported("".join(lines), file))
    return known[1] if Path(file).exists() else {**_of_session(), **known[1]}


_KNOWN: dict[str, tuple[list[str], dict[str, str]]] = {}
"""By file, with the lines they were read from."""


def _of_session() -> dict[str, str]:
    names = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    return {name: value.__name__ for name, value in names.items() if isinstance(value, types.ModuleType)}


def _imported(text: str, file: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield (name.asname, name.name) if name.asname else (name.name.partition(".")[0],) * 2
            case ast.ImportFrom(module=module, names=names, level=level):
                for name in names:
                    if found := _submodule(module or "", name.name, level, file):
                        yield name.asname or name.name, found
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Subscript(value=ast.Attribute(attr="modules"))):
                yield target, _OWN  # d2l = sys.modules[__name__]


def _submodule(module: str, name: str, level: int, file: str) -> str:
    """The module that `from module import name` gives, if it is one: `functional` of torch.nn, `utils` beside the file."""
    if not level:
        return f"{module}.{name}" if isinstance(sys.modules.get(f"{module}.{name}"), types.ModuleType) else ""
    folder = Path(file).parents[level - 1].joinpath(*module.split(".") if module else ())
    return _OWN if (folder / f"{name}.py").exists() or (folder / name).is_dir() else ""
