"""The statements that really ran, counted by Python's own line events and nothing of ours: what a work must have."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from workings.trace.record import Trace

_QUIET = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

Statement = tuple[str, int, str]
"""The file, the line it begins in, the text of its first line."""


def executed(call: Callable[[], Any], file: str) -> set[Statement]:
    """The statements of a file that `call()` runs."""
    found: set[tuple[int, int]] = set()

    def on_event(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            found.add((frame.f_code.co_firstlineno, frame.f_lineno))
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        call()
    finally:
        sys.settrace(before)
    lines = {line for _, line in found}
    return {(file, s.lineno, text) for s, own, text in _statements(file) if lines & own}


def _statements(file: str) -> Iterator[tuple[ast.stmt, set[int], str]]:
    """Each statement that computes or decides something, with the lines that are its own, not those of a block inside it."""
    text = Path(file).read_text()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, _FUNCTIONS) and not isinstance(function, ast.Lambda):
            for node in _inside(function):
                if not _is_quiet(node):
                    yield node, _own_lines(node), text.splitlines()[node.lineno - 1].strip()


def _inside(function: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, _DEFINITIONS):
            continue
        if isinstance(node, ast.stmt):
            yield node
        yield from _inside(node)


def _is_quiet(node: ast.stmt) -> bool:
    bare = isinstance(node, ast.Return | ast.AnnAssign) and node.value is None
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or text or isinstance(node, (*_QUIET, ast.Try))


def _own_lines(node: ast.stmt) -> set[int]:
    first = [part[0].lineno for name in ("body", "cases") if (part := getattr(node, name, None)) and hasattr(part[0], "lineno")]
    cases = [case.pattern.lineno for case in getattr(node, "cases", ())]
    last = min([*first, *cases], default=(node.end_lineno or node.lineno) + 1) - 1
    return set(range(node.lineno, max(last, node.lineno) + 1))


def recorded(work: Trace) -> set[tuple[str, int]]:
    """The places of all steps of a work."""
    return {(step.where.file, step.where.line) for step in work.steps() if step.where is not None}


def missing(work: Trace, call: Callable[[], Any], file: str) -> list[str]:
    """What ran in `call()` and is not in the work."""
    shown = recorded(work)
    return [f"{line}: {text}" for place, line, text in sorted(executed(call, file)) if (place, line) not in shown]
