"""Which statements ran, and what values their names had: an independent count, for comparison with what is shown.

`sys.settrace` reports the lines of the author's own functions; a line belongs to the innermost statement that holds it. Only
what Python says is used, nothing of the package under test. A statement is expected in a worked solution if it computes,
decides or changes something: not a docstring, an import, `pass`, `try`, or the definition of a function.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

_COUNTED = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Return,
    ast.Expr,
    ast.Delete,
    ast.Assert,
    ast.Raise,
    ast.For,
    ast.While,
    ast.If,
    ast.With,
    ast.Match,
)
_NEW_MEMORY = re.compile(r"empty|Tensor\((?!\[)")
"""What makes a tensor of numbers that nobody wrote: torch.empty(2), torch.FloatTensor(2, 3)."""
_MOST = 65_536
"""Entries of a tensor that is copied; of a larger one a few figures are kept."""
_MOST_TIMES = 200
"""How often the values of one statement are kept."""


@dataclass(frozen=True)
class Statement:
    """A statement of a source file."""

    file: str
    line: int
    kind: str
    text: str
    names: tuple[str, ...] = ()
    """The plain names it assigns."""


@cache
def statements(file: str) -> dict[int, Statement | None]:
    """The statement that each line of a file belongs to; None where it is of no kind that is counted."""
    try:
        source = Path(file).read_text(encoding="utf-8")
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return {}
    lines = source.splitlines()
    found: dict[int, Statement | None] = {}
    for node in ast.walk(tree):  # parents come first, so the innermost one stays
        if isinstance(node, ast.stmt):
            counted = isinstance(node, _COUNTED) and not _is_empty(node)
            text = lines[node.lineno - 1].strip()
            kind = type(node).__name__
            made = Statement(file, node.lineno, kind, text, tuple(_names(node))) if counted else None
            found.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), made))
    return found


def _is_empty(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Return(value=None) | ast.AnnAssign(value=None):
            return True
    return False


def _names(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, (ast.For, ast.With)):
        return
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        yield from (part.id for part in parts if isinstance(part, ast.Name) and part.id != "_")


@dataclass
class Ran:
    """What a run did: the statements with how often they ran, and the values that their names had right after each time."""

    result: Any = None
    times: dict[Statement, int] = field(default_factory=dict)
    values: dict[tuple[str, int, str], list[Any]] = field(default_factory=dict)
    edges: dict[str, dict[GradientEdge, None]] = field(default_factory=dict)
    """Where the tensors stood in autograd's graph, by the names they had then."""
    numbers: dict[str, torch.Tensor] = field(default_factory=dict)
    """The last tensor of one number that had a name."""


def run(call: Callable[[], Any], own: tuple[str, ...]) -> Ran:
    """Run code and note each statement in the author's own files."""
    ran = Ran()
    tracer = _Tracer(ran, own)
    before = sys.gettrace()
    sys.settrace(tracer.on_call)
    try:
        ran.result = call()
    finally:
        sys.settrace(before)
    return ran


class _Tracer:
    def __init__(self, ran: Ran, own: tuple[str, ...]) -> None:
        self.ran, self.own = ran, own

    def on_call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.own) or not code.co_flags & inspect.CO_OPTIMIZED:
            return None  # a library, or the body of a module or class
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            self.keep_edges(name, frame.f_locals.get(name))
        running: Statement | None = None
        inside = code.co_name.startswith("<")  # a lambda or comprehension: its names are not those of the statement it is in
        lines = statements(code.co_filename)

        def on_event(frame: types.FrameType, event: str, arg: Any) -> Any:
            nonlocal running
            if event == "exception":
                running = None
                return on_event
            if inside:
                for name, value in frame.f_locals.items():
                    self.keep_edges(name, value)
            now = lines.get(frame.f_lineno) if event == "line" else None
            if now is running and event == "line":
                return on_event
            if running is not None and not inside:
                self.finish(running, frame)
            running = now
            if now is not None:
                self.ran.times[now] = self.ran.times.get(now, 0) + 1
            return on_event

        return on_event

    def finish(self, statement: Statement, frame: types.FrameType) -> None:
        for name in statement.names:
            if name in frame.f_locals and not _NEW_MEMORY.search(statement.text):
                value = frame.f_locals[name]
                kept = self.ran.values.setdefault((statement.file, statement.line, name), [])
                if len(kept) < _MOST_TIMES:
                    kept.append(copied(value))
                self.keep_edges(name, value)

    def keep_edges(self, name: str, value: Any) -> None:
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if isinstance(one, torch.Tensor) and one.requires_grad:
                with contextlib.suppress(AssertionError):  # a view made under no_grad() has no place in the graph
                    self.ran.edges.setdefault(name, {})[get_gradient_edge(one)] = None
                if one.numel() == 1:
                    self.ran.numbers[name] = one


def copied(value: Any, depth: int = 3) -> Any:
    """A value as it is now: tensors copied, large ones as a few figures, what is no number or tensor as None."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        return plain.clone() if value.numel() <= _MOST else figures(plain)
    if isinstance(value, (bool, int, float, str, complex)):
        return value
    if isinstance(value, (list, tuple)) and depth:
        return [copied(item, depth - 1) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "copy"):
        return value.copy()
    return None


def figures(value: torch.Tensor) -> tuple[Any, ...]:
    """Of a tensor that is too large to keep."""
    numbers = value.detach().to(torch.float64) if not value.is_complex() else value.detach().abs().to(torch.float64)
    return "large", tuple(value.shape), float(numbers.sum()), float(numbers.abs().sum())
