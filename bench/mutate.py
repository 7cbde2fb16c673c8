"""The small mistakes that can be made in a file: each is one change of one expression or statement, as text.

Not changed, by rule: docstrings, annotations, decorators, imports, `assert`, f-strings (their text is no behaviour that
another test should repeat), `__repr__` and `__str__`, what only a type checker reads.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
UNCHANGED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)


@dataclass(frozen=True)
class Mutant:
    """One change in one file."""

    path: str
    line: int
    """Of the change."""
    reached: int
    """Of the statement or lambda that a test must reach; 0 for what runs when the file is imported."""
    start: int
    end: int
    """In the bytes of the file."""
    before: str
    after: str
    within: str
    """The function, and how many equal changes stand before this one in it."""

    @property
    def key(self) -> str:
        """The same as long as this place of the function reads the same, wherever lines move to."""
        return f"{Path(self.path).name} {self.within}: {self.before} → {self.after}"

    def rank(self, seed: int) -> str:
        """A random order that stays when other code changes."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Every change of a file, in the order of its text."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.names: list[str] = []
        self.inside = False
        """Whether this is in a function."""
        self.reached = 0
        self.seen: dict[str, int] = {}

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, UNCHANGED) or _is_for_types(node):
            return
        outside = self.reached
        if isinstance(node, ast.Lambda) or (isinstance(node, ast.stmt) and self.inside):
            self.reached = node.lineno
        for changed in _changes(node):
            self.add(node, changed)
        for test in _conditions(node):
            self.add(test, f"(not ({ast.unparse(test)}))")
        super().visit(node)
        self.reached = outside

    def generic_visit(self, node: ast.AST) -> None:
        for name, part in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "op", "ops", "ctx"):
                continue
            for child in part if isinstance(part, list) else [part]:
                if isinstance(child, ast.AST) and not _is_text(child):
                    self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in ("__repr__", "__str__"):
            self.enter(node, True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.enter(node, False)

    def enter(self, node: ast.FunctionDef | ast.ClassDef, inside: bool) -> None:
        outside, self.inside = self.inside, inside
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()
        self.inside = outside

    def add(self, node: ast.AST, changed: str) -> None:
        start, end = (self.starts[line - 1] + column for line, column in _span(node))
        before = self.source[start:end].decode()
        within = ".".join(self.names) or "module"
        same = f"{within} {before} {changed}"
        self.seen[same] = self.seen.get(same, 0) + 1
        within += f" #{self.seen[same]}" if self.seen[same] > 1 else ""
        self.found.append(Mutant(self.path, node.lineno, self.reached, start, end, before, changed, within))  # type: ignore[attr-defined]


def _span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _is_text(node: ast.AST) -> bool:
    """A docstring, or any other text that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("TypeVar", "cast", "NewType")
    return False


def _changes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield _written(node, ops=[COMPARED[type(op)]()])
        case ast.Compare(ops=[op, *rest]) if type(op) in COMPARED:
            yield _written(node, ops=[COMPARED[type(op)](), *rest])
        case ast.BinOp(op=op, left=left, right=right) if type(op) in COMPUTED and not (_is_str(left) or _is_str(right)):
            if not _is_union(node):
                yield _written(node, op=COMPUTED[type(op)]())
        case ast.BoolOp(op=op):
            yield _written(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
            yield f"({value - 1})"
        case ast.Constant(value=float(value)):
            yield repr(value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield _written(node, body=orelse, orelse=body)
    yield from _changes_of_statement(node)


def _changes_of_statement(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"


def _conditions(node: ast.AST) -> list[ast.expr]:
    """The conditions of a statement or comprehension that are not turned round already as what they are."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.comprehension(ifs=[test]):
            return [] if isinstance(test, ast.Compare | ast.UnaryOp) else [test]
    return []


def _written(node: ast.expr, **changed: object) -> str:
    other = copy.copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return f"({ast.unparse(other)})"


def _is_str(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_union(node: ast.BinOp) -> bool:
    """X | None is a type."""
    ends = [node.left, node.right]
    return isinstance(node.op, ast.BitOr) and any(
        ast.unparse(end) == "None" or ast.unparse(end)[:1].isupper() for end in ends
    )
