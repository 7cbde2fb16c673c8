"""Comprehensions in a block: each element is a turn, as in a loop.

Each instruction is looked at while turns are recorded, in the comprehension's own frame or, where it is inlined, in the
frame of its statement. What an element is cannot be read while the frame runs: it is taken from the finished list or
dictionary, or from what a generator expression gives.
"""

from __future__ import annotations

import ast
import sys
import types
from operator import length_hint
from typing import Any

import torch

from workings.trace.capture.loops import MOST_TURNS
from workings.trace.capture.recorder import Frame, Recorder
from workings.trace.code.look_up import MISSING
from workings.trace.follow.comprehension_code import ComprehensionCode, comprehension_of, inlined
from workings.trace.follow.frame import Follower
from workings.trace.follow.names import Names
from workings.trace.follow.plan import Plan
from workings.trace.follow.recompute import COMPUTING
from workings.trace.follow.result import observed_value, statement_value, try_recompute
from workings.trace.follow.source import call_at
from workings.trace.step import Step
from workings.trace.tensors.state import version_of

_SIZED: tuple[type, ...] = (type(iter([])), type(iter(())), type(iter(range(0))))
"""Iterators that know how many items there will be."""
_JUMPS_ARE_LINES = sys.version_info < (3, 12)
"""Whether a jump back is reported as a line, at the instruction it leads to."""


def turns_of(recorder: Recorder, plan: Plan, frame: types.FrameType) -> Turns | None:
    """The turns of the comprehension that begins in this frame; of a generator expression, where its values are asked for
    in the call it is written in."""
    whole = comprehension_of(plan, frame.f_code)
    if whole is None:
        return None
    if isinstance(whole.node, ast.GeneratorExp):
        call = None if frame.f_back is None else call_at(frame.f_back)
        if call is None or whole.node not in call.args:
            return None
    return _begin(recorder, whole, frame)


def _begin(recorder: Recorder, whole: ComprehensionCode, frame: types.FrameType) -> Turns:
    turns = Turns(recorder, whole)
    turns.start(Frame(whole.plan.statements, frame.f_globals, len(recorder.stack), recorder.frames[-1].path))
    return turns


# ---- inlined comprehensions
def deliver(follower: Follower, frame: types.FrameType, event: str, arg: Any) -> None:
    """What Python reports of a frame, to its follower, or to the inlined comprehension that the frame is in."""
    if event == "exception":
        _throw(follower, frame, arg[1])
        return
    level = follower.whole.level if isinstance(follower, Turns) else 0
    around = inlined(follower.plan, frame.f_code).get(frame.f_lasti, ())[level:]
    if isinstance(follower.inner, Turns) and (not around or around[0] is not follower.inner.whole):
        follower.leave_inner()
    if follower.inner is None and around and frame.f_lasti == around[0].first and not follower.recorder.muted:
        follower.inner = _begin(follower.recorder, around[0], frame)
    if follower.inner is None:
        follower.on_event(frame, event, arg)
    else:
        deliver(follower.inner, frame, event, arg)


def _throw(follower: Follower, frame: types.FrameType, error: BaseException) -> None:
    """An exception leaves every comprehension that the frame is in, unless it is how a loop of one ends."""
    if follower.inner is not None:
        _throw(follower.inner, frame, error)
        if follower.inner.thrown is not error:
            return
        follower.leave_inner()
    follower.throw(frame, error)


def _known_length(items: ast.expr, names: Names) -> int | None:
    """How many items a list, a tuple or a range has, before an inlined comprehension goes through it."""
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id == "range":
        limits = [names.read(part) for part in items.args]
        plain = names.get("range") is MISSING and not items.keywords and all(type(n) is int for n in limits)
        return len(range(*limits)) if plain and limits else None
    value = names.read(items)
    return len(value) if type(value) in (list, tuple, range) else None


class Turns(Follower):
    """The turns of one comprehension as steps."""

    def __init__(self, recorder: Recorder, whole: ComprehensionCode) -> None:
        super().__init__(recorder, whole.plan)
        self.whole = whole
        self.asked: int | None = None
        self.counting = False
        self.again: int | None = None  # where counting ended: this instruction is about to be reported once more
        self.early: int | None = None  # how many elements there were when counting began
        self.marks: dict[int, tuple[int, int, int]] = {}
        self.turning: dict[int, Step] = {}
        self.elements: list[tuple[int, Step, Names, list[Follower]]] = []
        self.values: dict[int, Any] = {}  # of the elements, by their places, where they are known
        self.count = 0
        self.statement = ast.copy_location(ast.Expr(whole.expression), whole.expression)

    def on_instruction(self, frame: types.FrameType, event: str) -> None:
        offset = frame.f_lasti
        if self.counting:
            self._count(frame, event, offset)
            return
        again, self.again = self.again, None
        if event != "opcode" or offset == again:
            return
        if self.asked is not None:
            self._on_answer(offset)
        if offset in self.whole.asking:
            self._asks(frame, offset)
        elif offset in self.whole.adding:
            self._on_element(frame)
        elif not self.recorder.muted:
            if self.open is None and offset in self.whole.element:
                self.node, self.open = self.statement, self.recorder.enter(self.whole.number, frame.f_locals)
            self._on_part(frame, offset)

    # ---- turns
    def _asks(self, frame: types.FrameType, offset: int) -> None:
        loop = self.whole.asking[offset]
        self._close(loop + 1)
        if loop not in self.turning and not self.recorder.muted:
            self.turning[loop] = self.recorder.open(self.whole.loops[loop])
            if loop == 0 and (length := self._length(frame)) is not None:
                self.recorder.lengths[id(self.turning[0])] = length
        self._forget(loop)
        if loop in self.turning:
            self.recorder.begin(self.turning[loop])
        self.asked = offset
        if loop == 0 and self.recorder.muted and _JUMPS_ARE_LINES and not isinstance(self.whole.node, ast.DictComp):
            self.counting, self.early, frame.f_trace_opcodes = True, self.count, False

    def _length(self, frame: types.FrameType) -> int | None:
        """How many items the outermost loop will have, where that can be known."""
        if self.whole.level:
            return _known_length(self.whole.node.generators[0].iter, Names(frame))
        items = frame.f_locals.get(".0")
        return length_hint(items) if type(items) in _SIZED else None

    def _forget(self, loop: int) -> None:
        """Elements of turns that were folded away in the meantime: all after the first 50, but the last."""
        asks, kept, begun = self.marks.get(loop, (0, 0, 0))
        if asks == MOST_TURNS:
            kept = begun = len(self.elements)
        elif asks > MOST_TURNS:
            del self.elements[kept:begun]
            begun = len(self.elements)
        self.marks[loop] = asks + 1, kept, begun

    def _on_answer(self, offset: int) -> None:
        """There is a next item, or the loop is over."""
        assert self.asked is not None
        loop = self.whole.asking[self.asked]
        if offset != self.whole.inside[self.asked]:
            self._close(loop)
        elif loop in self.turning:
            self.recorder.turn(self.turning[loop])
        self.asked = None

    def _count(self, frame: types.FrameType, event: str, offset: int) -> None:
        """Turns that are only counted: that the frame asks again says that there was one. The last is followed again."""
        if event == "line" and offset == self.asked:
            self.recorder.turn(self.turning[0])
            self.recorder.begin(self.turning[0])
            if not self.recorder.muted:
                self.counting, self.again, frame.f_trace_opcodes = False, offset, True

    def _close(self, first: int) -> None:
        """The loops from this one on are over."""
        for loop in sorted((n for n in self.turning if n >= first), reverse=True):
            self.recorder.close_loop(self.turning.pop(loop))
            self.marks.pop(loop, None)

    # ---- elements
    def _on_element(self, frame: types.FrameType) -> None:
        """The element is there. What cannot be read now is read when all are there."""
        while self.named:
            self._leave_named(frame)
        step = self.open
        if step is not None and not isinstance(self.whole.node, ast.GeneratorExp):
            self.open = None
            self._pop(step)
            names = Names(frame)
            value = self._observed_value(step, names)
            if value is MISSING:
                self.elements.append((self.count, step, names.freeze(), self.over))
                self.over = []
            else:
                self.values[self.count] = value
                self._keep(step, value)
                self.settle_inner(self.statement.value, value)
        self.count += 1
        self.called = None, None

    def _observed_value(self, step: Step, names: Names) -> Any:
        if isinstance(self.whole.node, ast.SetComp):  # in a set it is not found again
            return statement_value(self.statement, step, names, self.called)
        return observed_value(self.statement.value, step, names, self.called)

    def give(self, value: Any) -> None:
        """A generator expression gives its next element."""
        if self.open is not None:
            self._pop(self.open)
            self._keep(self.open, value)
            self.open = None
        self.settle_inner(self.statement.value, value)

    def throw(self, frame: types.FrameType, error: BaseException) -> None:
        ends = isinstance(error, StopIteration) and self.asked is not None
        if self.counting and frame.f_lasti != self.asked:  # not in asking, so in a turn
            self.recorder.turn(self.turning[0])
        if ends or isinstance(error, GeneratorExit):
            return
        inside = self.open is not None
        super().throw(frame, error)
        if not inside and self.recorder.at is None:  # in a condition, or in what a loop goes through
            self.recorder.at = ast.Expr(self.whole.node), Names(frame).freeze()

    def close(self) -> None:
        self._close(0)
        super().close()

    def makes(self, expression: ast.expr | None) -> bool:
        return expression is self.whole.node

    def settle(self, result: Any) -> None:
        """All elements are there: those of a list and a dictionary are in their places. Where one is not, what changes
        nothing is computed again."""
        values: list[Any] = []
        if isinstance(result, list):
            values = result
        elif isinstance(result, dict) and len(result) == self.count:  # no key came twice
            values = [*result.values()]
        for place, step, names, inner in self.elements:
            late = self.early is not None and place >= self.early  # as many from the end as were seen after it
            place += len(values) - self.count if late else 0
            value = values[place] if 0 <= place < len(values) else try_recompute(self.statement.value, names)
            self.values[place] = value
            self._keep(step, MISSING if self._may_have_changed(value) else value)
            self.over = inner
            self.settle_inner(self.statement.value, value)

    def result(self) -> Any:
        """The list that was made, put together where nobody keeps it; MISSING where an element is not known."""
        known = (
            isinstance(self.whole.node, ast.ListComp)
            and len(self.values) == self.count
            and all(v is not None for v in self.values.values())
        )
        return [self.values[place] for place in sorted(self.values)] if known else MISSING

    def _may_have_changed(self, value: Any) -> bool:
        """Whether a later turn may have written into the tensor."""
        if not isinstance(value, torch.Tensor) or version_of(value) <= 0:
            return False
        calls = [n.func for n in ast.walk(self.whole.node) if isinstance(n, ast.Call)]
        return any(getattr(f, "attr", getattr(f, "id", "")) not in COMPUTING for f in calls)
