"""`with workings.trace() as work:` the statements of a block as steps.

The block stands in a function that is already running, so it cannot be rewritten. Python tells us each line of this
one frame before it
runs; what a statement made is read when the next one begins. Modules called inside report as in `capture`.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
import types
from typing import Any

from workings.trace.build import formula_of
from workings.trace.capture import address, first_bad
from workings.trace.formula import leaves
from workings.trace.hooks import reporting_modules
from workings.trace.record import Trace
from workings.trace.recorder import MISSING, Recorder
from workings.trace.step import Step, Where

MOST_STATEMENTS = 1_000
"""Statements of one block that are recorded; the rest run and are counted."""
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Delete, ast.Assert)


class Block:
    """Records the statements of one `with` block into a trace."""

    def __init__(self, trace: Trace, depth: int = 2) -> None:
        self.trace = trace
        self.recorder = Recorder(depth)
        self.recorder.root = trace.root
        self.recorder.stack = [trace.root]
        self.open: tuple[Step, ast.stmt] | None = None
        self.last: Step | None = None
        self.count = 0

    def begin(self, frame: types.FrameType) -> None:
        """Start with the line after the `with`."""
        self.frame = frame
        try:
            self.statements = _statements(frame)
        except (OSError, TypeError, SyntaxError) as reason:
            self.statements = {}
            self.trace.notes.append(f"not shown: the source of this block is not available ({reason})")
        self.modules = reporting_modules(self.recorder, None)
        self.modules.__enter__()
        self.before = sys.gettrace(), frame.f_trace
        frame.f_trace = self._line
        sys.settrace(lambda *_: None)

    def end(self, error: BaseException | None) -> None:
        """Stop, with everything as it was before."""
        sys.settrace(self.before[0])
        self.frame.f_trace = self.before[1]
        self.modules.__exit__(None, None, None)
        self._finish()
        if error is not None:
            self.trace.error = error
            if self.last is not None:
                self.last.kind, self.last.note = "error", f"{type(error).__name__}: {error}"
        if self.count > MOST_STATEMENTS:
            self.trace.notes.append(f"{self.count - MOST_STATEMENTS} more statements ran and are not shown")
        address(self.trace.root)
        self.trace.first_bad = first_bad(self.trace)
        self.trace.agreement = "not compared with a plain run: a block runs once, in its place"
        del self.frame

    def _line(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "line":
            statement = self.statements.get(frame.f_lineno)
            if statement is None or self.open is None or self.open[1] is not statement:
                self._finish()
                self.count += statement is not None
                if statement is not None and self.count <= MOST_STATEMENTS:
                    self._start(statement)
        return self._line

    def _start(self, statement: ast.stmt) -> None:
        value = getattr(statement, "value", None)
        name = _target(statement)
        step = Step("assign" if name else "expression", name, ast.unparse(statement))
        step.where = Where(self.frame.f_code.co_filename, statement.lineno)
        if value is not None:
            shown = ast.BinOp(statement.target, statement.op, value) if isinstance(statement, ast.AugAssign) else value
            step.formula = formula_of(shown)
            self._read(step)
        self.recorder.stack[-1].children.append(step)
        self.recorder.stack.append(step)
        self.open = step, statement

    def _read(self, step: Step) -> None:
        self.recorder.globals.append(self.frame.f_globals)
        for text in leaves(step.formula) if step.formula else ():
            value = self.recorder.look_up(text, self.frame.f_locals)
            if value is not MISSING:
                step.operands[text] = self.recorder.snapshot(value)
                step.lives[text] = value
        self.recorder.globals.pop()

    def _finish(self) -> None:
        if self.open is None:
            return
        step, statement = self.open
        self.open, self.last = None, step
        while self.recorder.stack.pop() is not step:
            pass
        names = [n.id for t in _targets(statement) for n in ast.walk(t) if isinstance(n, ast.Name)]
        values = [self.frame.f_locals[n] for n in names if n in self.frame.f_locals]
        if values:
            step.live = values[0] if len(values) == 1 else tuple(values)
            step.result = self.recorder.snapshot(step.live)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AnnAssign, ast.AugAssign)) else []


def _target(statement: ast.stmt) -> str:
    return " = ".join(ast.unparse(t) for t in _targets(statement)).strip("()")


def _statements(frame: types.FrameType) -> dict[int, ast.stmt]:
    """The simple statements inside the `with` block that is being entered, by each of their lines."""
    if frame.f_code.co_name == "<module>":
        lines, first = linecache.getlines(frame.f_code.co_filename, frame.f_globals), 1
    else:
        lines, first = inspect.getsourcelines(frame.f_code)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, max(first, 1) - 1)
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.With) and n.lineno <= frame.f_lineno <= (n.end_lineno or 0)]
    if not blocks:
        raise OSError("the with statement was not found")
    block = max(blocks, key=lambda n: n.lineno)
    simple = [n for part in block.body for n in ast.walk(part) if isinstance(n, _SIMPLE)]
    return {line: n for n in simple for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
