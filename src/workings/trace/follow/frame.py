"""Following one frame: its statements, loops and turns, reported to a recorder while the frame runs.

Python reports where the frame is. A statement begins where the frame comes to it, and is over when the frame is
somewhere else; a turn of a loop begins where the frame comes from the loop's header, or jumps back, into its body.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import Any

from workings.trace.capture.loops import STATEMENTS
from workings.trace.capture.recorder import Frame, Recorder
from workings.trace.code.look_up import MISSING
from workings.trace.follow.names import Names
from workings.trace.follow.plan import LOOPS, Plan
from workings.trace.follow.result import statement_value
from workings.trace.step import Step

UNREAD = "not shown: to read it again would run the code behind it"
_UNWINDING = (ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
"""Statements that an exception passes through on its way out."""


@dataclass
class _Loop:
    """A loop the frame is in; `step` is None where nothing is recorded, or the loop has not asked for its first turn."""

    node: ast.stmt
    began: int
    step: Step | None = None
    at_header: bool = False


class Follower:
    """The statements of one frame as steps."""

    def __init__(self, recorder: Recorder, plan: Plan) -> None:
        self.recorder, self.plan = recorder, plan
        self.node: ast.stmt | None = None
        self.began = self.line = -1
        self.open: Step | None = None
        self.loops: list[_Loop] = []
        self.named: list[tuple[ast.NamedExpr, Step | None]] = []
        self.called: tuple[ast.expr | None, Any] = None, None
        self.thrown: BaseException | None = None
        self.returning: Step | None = None
        self.inner: Follower | None = None  # the inlined comprehension that the frame is in
        self.over: list[Follower] = []  # those of this statement that are over: what they made is known when it is too

    @property
    def innermost(self) -> Follower:
        return self if self.inner is None else self.inner.innermost

    def start(self, frame: Frame, step: Step | None = None) -> None:
        """What the frame runs is recorded in this step, or where we are."""
        self.level, self.muted = len(self.recorder.stack), self.recorder.muted
        self.recorder.stack += [] if step is None else [step]
        self.recorder.push(frame)

    # ---- what Python reports
    def on_event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "exception":
            self.throw(frame, arg[1])
        else:
            self.on_instruction(frame, event)

    def on_instruction(self, frame: types.FrameType, event: str) -> None:
        """The frame is about to run an instruction, the first of its line or any."""
        offset = frame.f_lasti
        reported, self.line = event == "opcode" and offset == self.line, offset if event == "line" else -1
        if reported or not self.plan.placed[offset // 2]:
            return
        node = self.plan.at[offset // 2]
        if node is self.node and offset > self.began:
            if not self.recorder.muted:
                self._on_part(frame, offset)
            return
        if self.open is not None or self.named:
            self.finish(frame, node)
        if self.thrown is not None:
            self._on_caught(node)
        before, self.node, self.began = self.node, node, offset
        if node is None:
            self._leave_loops([])
            return
        self._enter_loops(frame, node, offset)
        if self.recorder.muted:
            return
        if node in self.plan.numbers and not isinstance(node, LOOPS) and not self._is_left(before, node):
            self.open = self.recorder.enter(self.plan.numbers[node], frame.f_locals)
        self._on_part(frame, offset)

    def _is_left(self, before: ast.stmt | None, node: ast.stmt) -> bool:
        """Whether the frame comes to a `with` from inside it."""
        return isinstance(node, (ast.With, ast.AsyncWith)) and self.plan.within(before, node, "body")

    def _on_part(self, frame: types.FrameType, offset: int) -> None:
        """Inside a statement: `(n := e)` is a step before it, `a if test else b` is the branch that runs."""
        if not self.plan.crowded:
            return
        named, choice = self.plan.named[offset // 2], self.plan.chosen[offset // 2]
        while self.named and self.named[-1][0] is not named and not _is_inside(named, self.named[-1][0]):
            self._leave_named(frame)
        if named is not None and all(node is not named for node, _ in self.named):
            self.named.append((named, self.recorder.enter_named(self.plan.numbers[named], frame.f_locals)))
        known = None if choice is None or self.open is None else self.recorder.deciding.get(id(self.open))
        if known is not None and choice is not None:
            known[1][choice[0]] = choice[1]

    def _leave_named(self, frame: types.FrameType) -> None:
        node, step = self.named.pop()
        self.recorder.leave_named(step, Names(frame).get(node.target.id))

    def throw(self, frame: types.FrameType, error: BaseException) -> None:
        """An exception comes out of the statement the frame is in."""
        if isinstance(self.node, LOOPS) and isinstance(error, StopIteration):
            return  # how the items of a loop end
        if self.thrown is not error:
            self.recorder.fail()
        if (
            self.node is not None
            and self.open is not None
            and self.recorder.failing is self.open
            and self.recorder.at is None
        ):
            self.recorder.at = self.node, Names(frame).freeze()
        self.thrown = error
        self.settle_inner(None, None)
        self.named.clear()
        self._pop(self.open)
        self.open = None

    def finish(self, frame: types.FrameType, following: ast.stmt | None) -> None:
        """The open statement is over, and the frame goes on to the following one."""
        while self.named:
            self._leave_named(frame)
        step, node, self.open = self.open, self.node, None
        if step is not None and node is not None:
            self._pop(step)
            if isinstance(node, ast.Return):
                self.returning = step  # its value comes when the frame returns
            elif isinstance(node, ast.Assert):
                self._keep(step, True)
            elif isinstance(node, ast.If):
                self._keep(step, self.plan.within(following, node, "body"))
            else:
                value = statement_value(node, step, Names(frame), self.called)
                made = self.settle_inner(_whole_value(node), value)
                self._keep(step, made if value is None and made is not MISSING else value)
            self._say_inside(frame, node, following)
        if self.returning is None:
            self.settle_inner(None, None)
        self.called = None, None

    def _say_inside(self, frame: types.FrameType, node: ast.stmt, following: ast.stmt | None) -> None:
        """The lines that follow from a statement: the case that is taken, what a `with` gives a name to."""
        if isinstance(node, ast.Match):
            taken = (case.pattern for case in node.cases if following in case.body)
            self._say(frame, next(taken, None))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                value = MISSING if item.optional_vars is None else Names(frame).read(item.optional_vars)
                self._say(frame, item.optional_vars, None if value is MISSING else value)

    def _say(self, frame: types.FrameType, subject: ast.AST | None, value: Any = None) -> None:
        if subject in self.plan.said and not self.recorder.muted:
            step = self.recorder.enter(self.plan.said[subject], frame.f_locals)
            self.recorder.leave(step, value)

    def forget_open(self) -> None:
        """The statement that is open is no step after all."""
        if self.open is not None:
            self._pop(self.open)
            self.recorder.stack[-1].children.pop()
            self.open = None

    def give(self, value: Any) -> None:
        """The frame returns this, or yields it."""
        if self.returning is not None:
            self._keep(self.returning, value)
            self.settle_inner(getattr(self.node, "value", None), value)
        elif self.open is not None and self.open.name == "yield":
            self._pop(self.open)
            self._keep(self.open, value)
            self.open = None

    # ---- inlined comprehensions
    def leave_inner(self) -> None:
        """The comprehension that the frame was in is over."""
        if self.inner is not None:
            self.inner.close()
            self.over.append(self.inner)
            self.inner = None

    def settle_inner(self, expression: ast.expr | None, value: Any) -> Any:
        """The statement is over; its comprehension made this value if it is all there is to the statement's expression.
        What the comprehension knows of the value is given back."""
        over, self.over, made = self.over, [], MISSING
        for turns in over:
            turns.settle(value if turns.makes(expression) else None)
            made = turns.result() if turns.makes(expression) else made
        return made

    def settle(self, result: Any) -> None:
        """All that the frame makes is there."""

    def result(self) -> Any:
        """What the frame made, where it is known."""
        return MISSING

    def makes(self, expression: ast.expr | None) -> bool:
        """Whether this is the expression that the frame computes."""
        return False

    def close(self) -> None:
        """The frame is over, or the block."""
        self.leave_inner()
        self.settle_inner(None, None)
        self._leave_loops([])
        del self.recorder.stack[self.level :]
        self.recorder.muted = self.muted
        self.recorder.pop()

    # ---- statements
    def _pop(self, step: Step | None) -> None:
        stack = self.recorder.stack
        if step is not None and any(s is step for s in stack):
            while (last := stack.pop()) is not step:
                self.recorder.muted -= last.kind == "folded"

    def _keep(self, step: Step, value: Any) -> None:
        if value is MISSING:
            step.note = UNREAD
        else:
            step.live, step.result = value, self.recorder.snapshot(value)
        self.recorder.complete_formula(step)

    def _on_caught(self, node: ast.stmt | None) -> None:
        """Where the frame goes on after an exception, it was caught; a `finally` may run before that is known."""
        last = any(part == "finalbody" for _, part in self.plan.around(node)) if node is not None else True
        if last or isinstance(node, _UNWINDING):
            return
        failing = self.recorder.failing
        if failing is not None and failing.kind in STATEMENTS:
            failing.stop(self.thrown)
        self.thrown = None
        self.recorder.failing = self.recorder.failed = self.recorder.interrupted = self.recorder.at = None

    # ---- loops
    def _enter_loops(self, frame: types.FrameType, node: ast.stmt, offset: int) -> None:
        """Leave the loops that are over, enter those that begin, and begin turns."""
        around = self.plan.loops[node]
        header = isinstance(node, LOOPS)
        if not header and [loop.node for loop in self.loops] == around and not self._is_at_top(offset):
            return  # further on in the same turn
        self._leave_loops([*around, node])
        if self.loops and self.loops[-1].node is node and offset <= self.loops[-1].began:
            self._leave_loops(around)  # not the next turn of this loop: the loop once more
        again = bool(self.loops) and self.loops[-1].node is node
        for outer in around[len(self.loops) - again :]:
            self._say_header(frame, outer)
            self.loops.append(_Loop(outer, offset))  # a loop without a header to evaluate: `while True`
        if not again:
            self._turns(offset)
        if header:
            if not again:
                self._say_header(frame, node)
                self.loops.append(_Loop(node, offset))
            self._ask(self.loops[-1], first=not again)

    def _say_header(self, frame: types.FrameType, loop: Any) -> None:
        """A loop of a generator that yields has no turns, and a line for its header."""
        self._say(frame, loop.test if isinstance(loop, ast.While) else loop.iter)

    def _is_at_top(self, offset: int) -> bool:
        return bool(self.loops) and (self.loops[-1].at_header or offset <= self.loops[-1].began)

    def _ask(self, loop: _Loop, first: bool) -> None:
        """The loop asks for another turn. What a `for` goes through is evaluated before its loop begins."""
        loop.at_header = True
        if not first or not isinstance(loop.node, ast.For):
            self._begin(loop)

    def begin_first_turn(self) -> None:
        """A generator runs for the first turn of a loop: so the loop has begun."""
        if self.loops and self.loops[-1].at_header and self.loops[-1].step is None:
            self._begin(self.loops[-1])

    def _begin(self, loop: _Loop) -> None:
        number = self.plan.numbers.get(loop.node)
        if loop.step is None and number is not None and not self.recorder.muted:
            loop.step = self.recorder.open(self.plan.statements[number])
        if loop.step is not None:
            self.recorder.begin(loop.step)

    def _turns(self, offset: int) -> None:
        """Turns that begin here: from the header into the body, or back to the top of a loop without one."""
        for loop in self.loops:
            endless = isinstance(loop.node, ast.While) and isinstance(loop.node.test, ast.Constant)
            top = endless and offset <= loop.began
            if top or (loop.at_header and loop.step is None):
                self._begin(loop)
            if loop.step is not None and (top or loop.at_header):
                self.recorder.turn(loop.step)
            loop.at_header = False

    def _leave_loops(self, staying: list[ast.stmt]) -> None:
        while self.loops and self.loops[-1].node not in staying:
            loop = self.loops.pop()
            if loop.step is None and loop.at_header and not self.recorder.muted:
                self._begin(loop)  # not one turn
            self.recorder.close_loop(loop.step)


def _whole_value(node: ast.stmt) -> ast.expr | None:
    """The expression whose value a finished statement is shown with."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    plain = isinstance(node, ast.Expr) or isinstance(targets[0], ast.Name | ast.Attribute)
    return node.value if plain and isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) else None


def _is_inside(node: ast.AST | None, outer: ast.AST) -> bool:
    return node is not None and any(part is node for part in ast.walk(outer))
