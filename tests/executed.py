"""The statements that really ran, by Python's own line events and nothing of ours: what a work must have."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from workings.trace.record import Trace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_QUIET = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Try)


def missing(work: Trace, call: Callable[[], Any], file: str) -> list[str]:
    """The statements of a file that run in `call()` and are in no step of the work, each with its line."""
    shown = {step.where.line for step in work.steps() if step.where is not None and step.where.file == file}
    ran, text = _lines_run(call, file), Path(file).read_text().splitlines()
    found = [node for node in _statements(file) if ran & _own_lines(node) and node.lineno not in shown]
    return [f"{node.lineno}: {text[node.lineno - 1].strip()}" for node in found]


def _lines_run(call: Callable[[], Any], file: str) -> set[int]:
    found: set[int] = set()

    def on_event(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        found.update([frame.f_lineno] if event == "line" else [])
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


def _statements(file: str) -> Iterator[ast.stmt]:
    """Each statement of a function that computes or decides something."""
    for function in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(function, _FUNCTIONS):
            yield from (node for node in _inside(function) if not _is_quiet(node))


def _inside(function: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield from [node] if isinstance(node, ast.stmt) else []
            yield from _inside(node)


def _is_quiet(node: ast.stmt) -> bool:
    bare = isinstance(node, ast.Return | ast.AnnAssign) and node.value is None
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or text or isinstance(node, _QUIET)


def _own_lines(node: ast.stmt) -> set[int]:
    """Its lines, without those of a block inside it."""
    inside = [part.lineno for part in getattr(node, "body", ())] + [c.pattern.lineno for c in getattr(node, "cases", ())]
    last = min(inside) - 1 if inside else node.end_lineno or node.lineno
    return set(range(node.lineno, max(last, node.lineno) + 1))
