"""The source of code that is already running, and where in it a frame is.

Python's table of positions (PEP 657) leads from an instruction back to the text it was made of.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from workings.trace.code.imports import mark_modules
from workings.trace.code.source import Unavailable

T = TypeVar("T")
Place = tuple[int, int]
"""A line, and a column in it."""
Position = tuple[int | None, int | None, int | None, int | None]


def by_identity(function: Callable[[types.CodeType], T]) -> Callable[[types.CodeType], T]:
    """What is known of a code object, found by its identity: to hash one goes through all its constants."""
    known: dict[int, tuple[types.CodeType, T]] = {}

    def look_up(code: types.CodeType) -> T:
        if id(code) not in known:
            known[id(code)] = code, function(code)
        return known[id(code)][1]

    return look_up


# ---- places
def start(node: Any) -> Place:
    return node.lineno, node.col_offset


def end(node: Any) -> Place:
    return node.end_lineno, node.end_col_offset


def first_line(node: Any) -> int:
    return min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])


def span(place: Position) -> tuple[Place, Place] | None:
    line, last, column, after = place
    if line is None or last is None or column is None or after is None or (column, after) == (0, 0):
        return None
    return (line, column), (last, after)


# ---- the source of a file
@dataclass
class Source:
    """A parsed file, and its calls by the place where they end."""

    tree: ast.Module
    calls: dict[Place, ast.Call]


def source_of(file: str, names: dict[str, Any] | None = None) -> Source:
    """The source of a file, a notebook's cell or a doctest's example."""
    linecache.checkcache(file)
    lines = linecache.getlines(file, names)
    if not lines:
        raise Unavailable("its source is not available")
    known = _SOURCES.get(file)
    if known is None or known[0] is not lines:
        known = _SOURCES[file] = lines, _parse("".join(lines))
        mark_modules(known[1].tree, file)
    return known[1]


_SOURCES: dict[str, tuple[list[str], Source]] = {}
"""By file, with the lines they were read from: Python keeps these as long as the file stays as it is."""


def _parse(text: str) -> Source:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as reason:
        raise Unavailable(f"its source could not be read ({reason})") from None
    return Source(tree, {end(n): n for n in ast.walk(tree) if isinstance(n, ast.Call)})


@by_identity
def positions(code: types.CodeType) -> list[Position]:
    """Where in the source each instruction comes from."""
    return list(code.co_positions())


# ---- where a frame is
def is_calling(frame: types.FrameType) -> bool:
    """Whether the frame is at a call, not at an operator or an attribute that runs a function of its own accord."""
    name = _operation(frame.f_code, frame.f_lasti)
    return name.startswith("CALL") and "INTRINSIC" not in name


def is_yielding(frame: types.FrameType) -> bool:
    """Whether a generator that gives a value will go on after it."""
    return _operation(frame.f_code, frame.f_lasti) == "YIELD_VALUE"


def is_coroutine(code: types.CodeType) -> bool:
    """Whether code that gives a value before its end waits for something."""
    return bool(code.co_flags & inspect.CO_COROUTINE)


def is_done_waiting(frame: types.FrameType) -> bool:
    """Whether what a coroutine waits for has just come: Python passes it on as an exception."""
    return _operation(frame.f_code, frame.f_lasti) == "SEND"


def _operation(code: types.CodeType, offset: int) -> str:
    return _operations(code).get(offset, "")


@by_identity
def _operations(code: types.CodeType) -> dict[int, str]:
    """The name of the operation at each offset, and at the caches behind it, where Python is while the operation runs."""
    steps = list(dis.get_instructions(code))
    ends = [*[step.offset for step in steps[1:]], len(code.co_code)]
    return {o: step.opname for step, end in zip(steps, ends, strict=True) for o in range(step.offset, end, 2)}


def call_at(frame: types.FrameType) -> ast.Call | None:
    """The call the frame is at, as it is written."""
    here = span(positions(frame.f_code)[frame.f_lasti // 2])
    try:
        return None if here is None else source_of(frame.f_code.co_filename, frame.f_globals).calls.get(here[1])
    except Unavailable:
        return None
