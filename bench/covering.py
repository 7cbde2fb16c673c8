"""Which tests reach which lines: the sources of a group are run once with a mark before each statement and lambda.

Marks are written to a file, so that processes which a test starts count as well. `sys.settrace` would be simpler, but the
tracer that is under test needs it for itself.
"""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

MARKER = """
import os
_SEEN, _FILE = set(), os.environ.get("MUTANTS_REACHED")
def mark(place):
    if _FILE and place not in _SEEN:
        _SEEN.add(place)
        try:
            with open(_FILE, "a") as file:
                file.write(place + "\\n")
        except OSError:  # a test that forbids writing is about the writing of the sources, not about this
            pass
"""
MARK = "_mark_of_mutants"


def marked(path: str, source: bytes) -> str:
    """The file with its marks."""
    tree = _Marks(path).visit(ast.parse(source))
    future = sum(isinstance(part, ast.ImportFrom) and part.module == "__future__" for part in tree.body)
    tree.body.insert(future + (ast.get_docstring(tree) is not None), *ast.parse(f"from {MARK} import mark as {MARK}").body)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Marks(ast.NodeTransformer):
    def __init__(self, path: str) -> None:
        self.path = path

    def call(self, node: Any) -> ast.Call:
        return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(f"{self.path}:{node.lineno}")], [])

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        both = ast.Tuple([self.call(node), node.body], ast.Load())
        node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body = self.block(node.body, keep=ast.get_docstring(node) is not None)
        return node

    def block(self, body: list[ast.stmt], keep: bool = False) -> list[ast.stmt]:
        """The statements of a function, each with its mark, and so in the blocks inside them."""
        out = body[:1] if keep else []
        for statement in body[keep:]:
            out += [ast.Expr(self.call(statement)), statement]
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                continue
            for part in (statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
                for name in ("body", "orelse", "finalbody"):
                    if inner := getattr(part, name, None):
                        setattr(part, name, self.block(inner))
        return out


class Reached:
    """A pytest plugin: after a run, for each test that passed, its seconds and the places it reached."""

    def __init__(self, marks: Path) -> None:
        self.marks = marks
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        import _mark_of_mutants  # stands in the marked copy only

        self.marks.write_text("")
        _mark_of_mutants._SEEN.clear()
        began = time.perf_counter()
        done = yield
        spent = time.perf_counter() - began
        if item.nodeid not in self.failed:
            self.tests[item.nodeid] = (round(spent, 3), sorted(set(self.marks.read_text().split())))
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


class FirstFailure:
    """A pytest plugin: the test that failed first, or the file that could not be imported, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def quiet_run(arguments: list[str], plugin: object, log: Path) -> int:
    """pytest in this process, with what it prints in a file."""
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    how = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain", "--tb=line", "-rfE"]
    return int(pytest.main([*how, *arguments], [plugin]))
