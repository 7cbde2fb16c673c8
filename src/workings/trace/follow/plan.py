"""The statements of code that is already running: which instruction belongs to which of them.

A block or a function called inside it runs as it is, unchanged. Its statements are read as rewritten code is read, so
that they have the names and formulas that `show` gives them, also where several stand on one line.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from workings.trace.code.instrument import Instrumenter
from workings.trace.code.source import Unavailable
from workings.trace.code.statement import Statement, number
from workings.trace.follow.source import (
    Place,
    Position,
    Source,
    by_identity,
    end,
    first_line,
    positions,
    source_of,
    span,
    start,
)

N = TypeVar("N", ast.stmt, ast.expr, ast.NamedExpr)
Block = ast.With | ast.AsyncWith
_MANY = 1 << 20
"""A column behind every line's end."""
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_APART = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Key = tuple[type, Place]


@dataclass
class Plan:
    """The statements of a block or function, by number as the recorder knows them, and by instruction."""

    statements: tuple[Statement, ...]
    numbers: dict[ast.AST, int]
    at: list[ast.stmt | None]
    """For each instruction the innermost statement it belongs to; None outside the block."""
    placed: list[bool]
    """Whether an instruction has a place in the source at all."""
    parents: dict[ast.stmt, tuple[ast.stmt, str]] = field(default_factory=dict)
    """The compound statement a statement stands in, and in which part of it: body, orelse, finalbody, handlers."""
    loops: dict[ast.stmt, list[ast.stmt]] = field(default_factory=dict)
    """The loops in whose bodies a statement stands, outside in."""
    crowded: bool = False
    """Whether lines do not tell enough, as where one has two statements: then each instruction is looked at."""
    named: list[ast.NamedExpr | None] = field(default_factory=list)
    """For each instruction the innermost `(n := e)` it belongs to."""
    chosen: list[tuple[int, bool] | None] = field(default_factory=list)
    """For each instruction the innermost `a if test else b` it is a branch of, and which of the two."""
    comprehensions: dict[Comprehension, int] = field(default_factory=dict)
    """The comprehensions that have turns, with the number of their first `for`: those of the others and of the element
    follow."""
    said: dict[ast.AST, int] = field(default_factory=dict)
    """The lines without a value, by what they are about: the pattern of a `case`, what a `with` gives a name to, what a loop
    of a generator goes through."""
    known: dict[tuple[int, str], Any] = field(default_factory=dict)
    """What is known of the comprehensions in a code object, by its identity."""

    def around(self, node: ast.stmt) -> Iterator[tuple[ast.stmt, str]]:
        """The compound statements around a statement, inside out."""
        while node in self.parents:
            node, part = self.parents[node]
            yield node, part

    def within(self, node: ast.stmt | None, outer: ast.stmt, part: str) -> bool:
        return node is not None and (outer, part) in self.around(node)


class _Numbering(Instrumenter):
    """Reads statements as rewritten code is read, and remembers their numbers by their places."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.numbers: dict[_Key, int] = {}
        self.comprehensions: dict[_Key, int] = {}

    def turns(self, node: Any) -> Any:
        before = len(self.statements)
        new = super().turns(node)
        if len(self.statements) > before:
            self.comprehensions[type(node), start(node)] = before
        return new

    def number(
        self, kind: str, node: Any, name: str, value: ast.expr | None, source: str = "", written: ast.AST | None = None
    ) -> int:
        n = super().number(kind, node, name, value, source, written)
        self.numbers[type(node), start(node)] = n
        return n


def _plan(code: types.CodeType, body: list[ast.stmt]) -> Plan:
    """The plan of these statements in the code that runs them."""
    reader = _Numbering(code.co_filename)
    reader.block(copy.deepcopy(body))
    parents: dict[ast.stmt, tuple[ast.stmt, str]] = {}
    every = list(_statements(body, parents))
    inside = [n for statement in every for n in _expressions(statement)]
    named = [n for n in inside if isinstance(n, ast.NamedExpr)]
    branches = _branches(inside)
    comprehensions = [n for s in body for n in ast.walk(s) if isinstance(n, Comprehension)] if reader.comprehensions else []
    within = [n for whole in comprehensions for n in ast.walk(whole) if isinstance(n, ast.NamedExpr)]
    numbers = {n: reader.numbers[key] for n in (*every, *named, *within) if (key := _key(n)) in reader.numbers}
    places = positions(code)
    return Plan(
        tuple(reader.statements),
        numbers,
        [_innermost(every, place) for place in places],
        [place[0] is not None for place in places],
        parents,
        {s: _loops_around(s, parents) for s in every},
        _has_shared_lines(every) or bool(named) or bool(branches),
        [_innermost(named, place) for place in places],
        [_branch(branches, place) for place in places],
        {n: reader.comprehensions[key] for n in comprehensions if (key := _key(n)) in reader.comprehensions},
        {n: reader.numbers[key] for s in every for n in _subjects(s) if (key := _key(n)) in reader.numbers},
    )


def parts(plan: Plan, code: types.CodeType, expressions: list[ast.expr]) -> Plan:
    """The plan of expressions that run in code of their own: which of their instructions belong to which part."""
    inside = [n for expression in expressions for n in (expression, *_expressions(expression))]
    named = [n for n in inside if isinstance(n, ast.NamedExpr)]
    branches, places = _branches(inside), positions(code)
    return replace(
        plan,
        crowded=bool(named) or bool(branches),
        named=[_innermost(named, place) for place in places],
        chosen=[_branch(branches, place) for place in places],
    )


def _subjects(node: ast.stmt) -> list[ast.AST]:
    """What the lines of a statement are about that stand beside it."""
    match node:
        case ast.Match(cases=cases):
            return [case.pattern for case in cases]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars for item in items if item.optional_vars is not None]
        case ast.For(iter=subject) | ast.AsyncFor(iter=subject) | ast.While(test=subject):
            return [subject]
    return []


def _branches(inside: list[ast.AST]) -> list[tuple[ast.expr, int, bool]]:
    return [(part, number(n), part is n.body) for n in inside if isinstance(n, ast.IfExp) for part in (n.body, n.orelse)]


def _loops_around(node: ast.stmt, parents: dict[ast.stmt, tuple[ast.stmt, str]]) -> list[ast.stmt]:
    if node not in parents:
        return []
    outer, part = parents[node]
    return _loops_around(outer, parents) + [outer] * (part == "body" and isinstance(outer, LOOPS))


def _key(node: Any) -> _Key:
    """`yield e` on its own is the yield, not the statement around it."""
    node = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield) else node
    return type(node), start(node)


def _branch(branches: list[tuple[ast.expr, int, bool]], place: Any) -> tuple[int, bool] | None:
    part = _innermost([part for part, _, _ in branches], place)
    return next(((n, taken) for other, n, taken in branches if other is part), None)


def plan_of_block(frame: types.FrameType) -> tuple[Plan, Block]:
    """The plan of the `with` block that is being entered in this frame."""
    source = source_of(frame.f_code.co_filename, frame.f_globals)
    line, _, column, _ = positions(frame.f_code)[frame.f_lasti // 2]
    here = (frame.f_lineno if line is None else line), (_MANY if column is None else column)
    found = [n for n in ast.walk(source.tree) if isinstance(n, Block) and start(n) <= here < start(n.body[0])]
    if not found:
        raise Unavailable("its with statement was not found in its source")
    block = max(found, key=start)
    made = _plan(frame.f_code, block.body)
    made.crowded = made.crowded or block.body[0].lineno <= (block.items[-1].context_expr.end_lineno or 0)
    return made, block


@by_identity
def plan_of_function(code: types.CodeType) -> Plan | str:
    """The plan of a function, or the reason why there is none."""
    try:
        return _plan(code, _body(code, source_of(code.co_filename)))
    except Unavailable as reason:
        return str(reason)


def _body(code: types.CodeType, source: Source) -> list[ast.stmt]:
    kind: Any = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    found = [n for n in ast.walk(source.tree) if isinstance(n, kind) and first_line(n) == code.co_firstlineno]
    if kind is ast.FunctionDef:
        found = [n for n in found if n.name == code.co_name]
    else:
        inside = [p for p in map(span, positions(code)) if p is not None]
        found = [n for n in found if all(start(n.body) <= a and b <= end(n.body) for a, b in inside)]
    if not found:
        raise Unavailable("its definition was not found in its source")
    node = max(found, key=start)
    return node.body if kind is ast.FunctionDef else [ast.copy_location(ast.Return(node.body), node.body)]


# ---- statements
def _innermost(every: list[N], place: Position) -> N | None:
    here = span(place)
    if here is not None:
        found = [s for s in every if start(s) <= here[0] and here[1] <= end(s)]
    else:  # Python was told to leave columns out: the line alone
        found = [s for s in every if isinstance(s, ast.stmt) and s.lineno <= (place[0] or 0) <= (s.end_lineno or 0)]
    return max(found, key=start, default=None)


def _statements(
    body: list[ast.stmt], parents: dict[ast.stmt, tuple[ast.stmt, str]], parent: tuple[ast.stmt, str] | None = None
) -> Iterator[ast.stmt]:
    for statement in body:
        if parent is not None:
            parents[statement] = parent
        yield statement
        if isinstance(statement, _DEFINITIONS):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []), parents, (statement, part))
        for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(inner.body, parents, (statement, "handlers"))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement's own expressions that run in its frame."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr | ast.keyword | ast.withitem) and not isinstance(part, _APART):
            yield part
            yield from _expressions(part)


def _has_shared_lines(every: list[ast.stmt]) -> bool:
    lines = [line for s in every for line in _own_lines(s)]
    return len(lines) != len(set(lines))


def _own_lines(statement: ast.stmt) -> range:
    """The lines of a statement, of a compound one its header only."""
    if not hasattr(statement, "body"):
        return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    header = [getattr(statement, part, None) for part in ("test", "iter")]
    header += [item.context_expr for item in getattr(statement, "items", ())]
    last = max([statement.lineno, *[e.end_lineno or 0 for e in header if e is not None]])
    return range(statement.lineno, last + 1)
