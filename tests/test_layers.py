"""Floors import only from those below them, rooms only from those before them, and no file runs text as code."""

import ast
from collections import Counter

import pytest

from tools import plan

ROOT = plan.SOURCES / "workings"
FILES = sorted(ROOT.rglob("*.py"))
LARGEST_ROOM = 22

RUNS_TEXT = {"eval", "exec", "sympify", "parse_expr"}
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle"}


def test_a_floor_imports_only_from_below():
    assert plan.wrong_floors() == []


def test_a_room_imports_only_from_those_before_it():
    assert plan.wrong_rooms() == []


def test_no_modules_import_each_other_in_a_ring():
    assert plan.cycles() == []


def test_every_package_stands_on_a_floor():
    parts = {path.relative_to(ROOT).with_suffix("").parts[0] for path in FILES} - plan.ROOF
    assert parts == {part for floor in plan.FLOORS for part in floor.split()}


def test_no_room_is_crowded():
    files = Counter(path.parent.relative_to(ROOT) for path in FILES)
    assert {str(folder): count for folder, count in files.items() if count > LARGEST_ROOM} == {}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("__init__.py")), ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_every_room_says_what_lives_there(path):
    assert len(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "") > 40


def loads_by_name(source: str) -> list[str]:
    """Calls that load a module by text, and texts that name files of this package."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module")):
                found.append(ast.unparse(node))
            case ast.Constant(value=str(text)) if text.count("\n") == 0 and text.endswith(".py") and (ROOT / text).exists():
                found.append(text)
    return found


BY_NAME = {
    "__init__.py": "the front door",
    "lazy.py": "a package loads its own files",
    "cli/arguments/load.py": "a module that the user names",
    "studies/index.py": "the studies, which register themselves by being there",
    "cli/arguments/library.py": "the packages below it whose functions can be shown",
}
"""Files that load modules by name, and which."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_reaches_up_by_a_name(path):
    if str(path.relative_to(ROOT)) not in BY_NAME:
        assert loads_by_name(path.read_text(encoding="utf-8")) == []


def test_loading_by_name_is_found():
    assert loads_by_name('import_module("workings.show.work")') == ["import_module('workings.show.work')"]
    assert loads_by_name('FILES = ("show/work.py",)') == ["show/work.py"]
    assert loads_by_name("import json") == []


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
def test_no_file_runs_text_as_code(path):
    assert not forbidden(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "package", "modules"),
    [
        ("import workings.trace.step", "workings.exact", {"workings.trace.step"}),
        ("def f():\n    from workings.trace.step import Step", "workings.exact", {"workings.trace.step"}),
        ("from workings import exact", "workings.trace", {"workings.exact"}),
        ("from workings import __version__", "workings.cli", {"workings"}),
        ("from ..cli import app", "workings.exact", {"workings.cli"}),
        ("from .. import cli", "workings.exact", {"workings.cli"}),
        ("from .record import Trace", "workings.trace", {"workings.trace.record"}),
        ("import torch\nfrom sympy import exp", "workings.exact", set()),
    ],
)
def test_imports_are_found(source, package, modules):
    assert set(plan.imports_of(source, package)) == modules


def test_a_wrong_import_is_found(monkeypatch):
    wrong = ("workings.exact.numbers.value", "workings.show.work"), ("workings.trace.formula.tree", "workings.trace.step")
    monkeypatch.setattr(plan, "edges", lambda: [*wrong])
    assert plan.wrong_floors() == [wrong[0]]
    assert plan.wrong_rooms() == [wrong[1]]


def test_a_ring_is_found(monkeypatch):
    a, b, c = "workings.errors", "workings.lazy", "workings.own_code"
    monkeypatch.setattr(plan, "edges", lambda: [(a, b), (b, c), (c, a)])
    assert plan.cycles() == [[a, b, c]]


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
