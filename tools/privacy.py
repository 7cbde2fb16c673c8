"""Which names are private: those that only their own file uses start with an underscore, and no others do.

A function, class or constant at the top of a file is public where another file uses it (of the package, or of tests, tools,
benchmarks and documents), where a package offers it, where a decorator registers it as a command or a rule, or where a
public name mentions it as a type.
In the packages that are written to be read, a name that `show` prints is public too: an equation has no underscores.

Example: python tools/privacy.py       prints the names that should have an underscore, and those that should not
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tools import plan  # noqa: E402
from tools.docs_blocks import DOCUMENTS, python_of  # noqa: E402

REGISTERS = {"command", "callback", "rule", "study"}
"""Decorators that hand a function to others: to the command line, to a table of rules, to the list of studies."""
_LETTER = re.compile(r"[^\W\d_](\d|_\w+)?|TYPE_CHECKING")
"""A letter of an equation, with its index or hat (`β1`, `m_hat`), a type variable, or what type checkers know by name."""


class Name(NamedTuple):
    """A name at the top of a module."""

    module: str
    name: str


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """The functions, classes and constants that a file defines at its top, `if` and `try` included."""
    found: dict[str, ast.stmt] = {}
    for node in _top(tree.body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = node
            case ast.Assign(targets=targets):
                found |= {part.id: node for target in targets for part in _bound(target)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
    return {name: node for name, node in found.items() if not re.fullmatch(r"__\w+__|_", name)}


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _top([inner for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt)])


def _bound(target: ast.expr) -> list[ast.Name]:
    return [part for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def uses(source: str, package: str) -> Iterator[Name]:
    """The names at the top of other modules that `source`, a file in `package`, uses: imported, by dots, or in a text."""
    nodes = [*ast.walk(ast.parse(source))]
    modules: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                modules |= {alias.asname or "workings": alias.name if alias.asname else "workings" for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package.rsplit(".", level - 1)[0] if level else ""
                home = ".".join(filter(None, [base, module]))
                for alias in names:
                    if f"{home}.{alias.name}" in plan.modules():
                        modules[alias.asname or alias.name] = f"{home}.{alias.name}"
                    elif home in plan.modules():
                        yield Name(home, alias.name)
    for node in nodes:
        match node:
            case ast.Attribute(value=value, attr=attr) if home := _module(value, modules):
                yield Name(home, attr)
            case ast.Attribute(value=ast.Name(), attr=attr) if attr.isupper():  # for family in (arithmetic, …): family.ROWS
                yield from (Name(home, attr) for home in modules.values())
            case ast.Call(args=[ast.Name(id=name), ast.Constant(value=str(attr)), *_]) if name in modules:
                yield Name(modules[name], attr)  # getattr(module, "name")
            case ast.Constant(value=str(text)):
                yield from named_in(text)


def named_in(text: str) -> list[Name]:
    """The names that a text writes with dots, behind a colon, or in an import, as commands and doctests do."""
    dotted = re.findall(r"\b(workings(?:\.\w+)*)[.:](\w+)", text)
    imports = re.findall(r"\bfrom (workings[\w.]*) import ([\w, ]+)", text)
    return [Name(*found) for found in dotted] + [
        Name(home, one.split()[0]) for home, names in imports for one in names.split(",") if one.strip()
    ]


def _module(node: ast.expr, modules: dict[str, str]) -> str:
    """The module of the package that an expression with dots means, or nothing."""
    match node:
        case ast.Name(id=name):
            return modules.get(name, "")
        case ast.Attribute(value=value, attr=attr) if home := _module(value, modules):
            return f"{home}.{attr}" if f"{home}.{attr}" in plan.modules() else ""
    return ""


@cache
def used() -> dict[Name, set[str]]:
    """The names that other files use, with those files."""
    found: dict[Name, set[str]] = {}
    homes = {path: module for module, path in plan.modules().items()}
    for path in _files():
        home, text = homes.get(path, ""), path.read_text(encoding="utf-8")
        package = home if path.name == "__init__.py" else home.rpartition(".")[0]
        names = uses(python_of(text) if path.suffix == ".md" else text, package) if path.suffix != ".toml" else ()
        for name in (*names, *(named_in(text) if path.suffix in (".md", ".toml") else ())):
            if name.module != home:
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def _files() -> list[Path]:
    """Everything that may use a name of the package."""
    folders = ("src", "tests", "tools", "bench")
    found = [
        path for folder in folders for end in ("py", "pyi", "toml") for path in sorted((ROOT / folder).rglob(f"*.{end}"))
    ]
    return [*(path for path in found if "documents" not in path.parts), *DOCUMENTS]


def public(module: str) -> set[str]:
    """The names of a module that are public."""
    defined, offered = _definitions_in(module), _offered(module)
    found = {name for name, node in defined.items() if Name(module, name) in used() or _is_registered(node)} | offered
    waiting = [*found & defined.keys()]
    while waiting:
        node = defined[waiting.pop()]
        more = {name for name in _types_in(node) if _is_type(defined.get(name))}
        more |= _printed(node) & defined.keys() if room_is_read(module) else set()
        waiting += more - found
        found |= more
    return found


def _offered(module: str) -> set[str]:
    """The names in `__all__`."""
    for node in ast.parse(plan.modules()[module].read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)):
                return {name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)}
    return set()


def room_is_read(module: str) -> bool:
    """Whether a module stands in a package whose functions `show` opens, which the package says itself."""
    package = plan.modules().get(".".join(module.split(".")[:2]))
    return package is not None and "mark_readable(" in package.read_text(encoding="utf-8")


def _printed(node: ast.stmt) -> set[str]:
    """The names in what a function, or a method of a class, assigns and returns: its equations."""
    parts = [
        part.value for part in ast.walk(node) if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return)
    ]
    return _names([*parts])


def _is_registered(node: ast.stmt) -> bool:
    parts = [part for one in getattr(node, "decorator_list", []) for part in ast.walk(one)]
    return any(getattr(part, "attr", getattr(part, "id", "")) in REGISTERS for part in parts)


def _is_type(node: ast.stmt | None) -> bool:
    """Whether a class, or an alias of types such as `Pair = tuple[str, str]`."""
    return isinstance(node, ast.ClassDef | ast.Assign | ast.AnnAssign)


def _types_in(node: ast.stmt) -> set[str]:
    """The names in annotations and bases of a definition; of a class, those of its methods that are public too."""
    match node:
        case ast.FunctionDef(args=args, returns=returns) | ast.AsyncFunctionDef(args=args, returns=returns):
            parts: list[ast.AST | None] = [
                returns,
                *(part.annotation for part in ast.walk(args) if isinstance(part, ast.arg)),
            ]
        case ast.ClassDef(bases=bases, body=body):
            inner = [part for part in body if not re.match(r"_(?!_)", getattr(part, "name", ""))]
            return _names([*bases]) | {name for part in inner for name in _types_in(part)}
        case ast.AnnAssign(annotation=annotation):
            parts = [annotation]
        case ast.Assign(value=ast.Name() | ast.Subscript() | ast.BinOp() as value):  # an alias of other types
            parts = [value]
        case _:
            return set()
    return _names(parts)


def _names(parts: list[ast.AST | None]) -> set[str]:
    return {name.id for part in parts if part is not None for name in ast.walk(part) if isinstance(name, ast.Name)}


def wrong(module: str) -> tuple[list[str], list[str]]:
    """The names of a module that lack an underscore, and those with one that another file uses; a test may use such."""
    defined, known = _definitions_in(module), public(module)
    users = {
        name: {file for file in used().get(Name(module, name), ()) if not file.startswith("tests/")} for name in defined
    }
    lacking = [name for name in defined if not name.startswith("_") and name not in known and not _LETTER.fullmatch(name)]
    return lacking, [name for name in defined if name.startswith("_") and users[name]]


def _definitions_in(module: str) -> dict[str, ast.stmt]:
    return definitions(ast.parse(plan.modules()[module].read_text(encoding="utf-8")))


def main() -> None:
    for module in plan.modules():
        lacking, needless = wrong(module)
        for name in lacking:
            print(f"only its file uses it:  {module}.{name}")
        for name in needless:
            print(f"other files use it:     {module}.{name} ({', '.join(sorted(used()[Name(module, name)]))})")


if __name__ == "__main__":
    main()
