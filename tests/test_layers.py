"""Each floor imports only from the floors below it, and no file runs text as code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import workings

ROOT = Path(__file__).parents[1] / "src" / "workings"
FLOORS = [
    "errors lazy own_code written_out",
    "equations",
    "exact",
    "trace",
    "nn",
    "models show",
    "course",
    "check train",
    "studies",
    "cli lab",
]
HEIGHT = {part: height for height, floor in enumerate(FLOORS) for part in floor.split()}
ROOF = {"__init__", "__main__"}  # the front door may name every floor
FILES = sorted(ROOT.rglob("*.py"))

RUNS_TEXT = {"eval", "exec", "sympify", "parse_expr"}
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle"}


def part_of(path: Path) -> str:
    """The floor's part that `path` belongs to: `exact` for `exact/arena.py`, `errors` for `errors.py`."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_names(tree: ast.AST, package: str) -> Iterator[str]:
    """Full dotted names of what a file of `package` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            home = ".".join(filter(None, [base, node.module]))
            yield from (f"{home}.{alias.name}" for alias in node.names)


def imported_parts(source: str, package: str = "workings") -> set[str]:
    """The parts of the library that `source` imports from; lazy public names count for their home."""
    parts = set()
    for name in imported_names(ast.parse(source), package):
        top, _, rest = name.partition(".")
        if top == "workings" and rest and not rest.startswith("__"):
            part = rest.split(".")[0]
            parts.add(workings._NAMES.get(part, f"workings.{part}").split(".")[1])
    return parts


def forbidden(source: str) -> set[str]:
    """Names in `source` that run text as code, or load it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in RUNS_TEXT:
                found.add(name)
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in RUNS_TEXT:
                found.add(name)
            case ast.Attribute(attr=("sympify" | "parse_expr") as name):
                found.add(name)
            case ast.Import(names=names):
                found |= PICKLES & {alias.name.split(".")[0] for alias in names}
            case ast.ImportFrom(module=module, names=names):
                found |= PICKLES & {(module or "").split(".")[0]}
                found |= RUNS_TEXT & {alias.name for alias in names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_floor_imports_only_from_below(path):
    part = part_of(path)
    if part in ROOF:
        return
    assert part in HEIGHT, f"{part} stands on no floor: give it one in FLOORS"
    package = ".".join(["workings", *path.relative_to(ROOT).parts[:-1]])
    others = imported_parts(path.read_text(encoding="utf-8"), package) - {part}
    assert not {other for other in others if HEIGHT.get(other, len(FLOORS)) >= HEIGHT[part]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_runs_text_as_code(path):
    assert not forbidden(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "package", "parts"),
    [
        ("import workings.trace.steps", "workings.exact", {"trace"}),
        ("def f():\n    from workings.nn import attention", "workings.exact", {"nn"}),
        ("from workings import exact, ExactTensor", "workings.trace", {"exact"}),
        ("from workings import __version__", "workings.cli", set()),
        ("from ..cli import app", "workings.exact", {"cli"}),
        ("from .. import cli", "workings.exact", {"cli"}),
        ("from .arena import Arena", "workings.exact", {"exact"}),
        ("import torch\nfrom sympy import exp", "workings.exact", set()),
    ],
)
def test_imports_are_found(source, package, parts):
    assert imported_parts(source, package) == parts


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("eval('1')", {"eval"}),
        ("exec('1')", {"exec"}),
        ("import builtins\nbuiltins.eval('1')", {"eval"}),
        ("import sympy\nsympy.sympify('x')", {"sympify"}),
        ("from sympy import sympify as read", {"sympify"}),
        ("from sympy.parsing.sympy_parser import parse_expr", {"parse_expr"}),
        ("import pickle", {"pickle"}),
        ("from pickle import loads", {"pickle"}),
        ("model.eval()", set()),
    ],
)
def test_text_run_as_code_is_found(source, names):
    assert forbidden(source) == names
