"""Comprehensions in a block: each element is a turn, as in a loop.

Up to Python 3.11 a comprehension runs in a frame of its own, and a generator expression does in every version; each
instruction of that frame is looked at while turns are recorded. (From 3.12 on the other comprehensions run in the frame
of their statement, and are shown as one statement.) What an element is cannot be read while the frame runs: it is taken
from the finished list or dictionary, or from what a generator expression gives.
"""

from __future__ import annotations

import ast
import dis
import sys
import types
from dataclasses import dataclass
from operator import length_hint
from typing import Any

import torch

from workings.trace.capture.loops import MOST_TURNS
from workings.trace.capture.recorder import Frame, Recorder
from workings.trace.code.look_up import MISSING
from workings.trace.code.statement import Statement
from workings.trace.follow.frame import Follower
from workings.trace.follow.names import Names
from workings.trace.follow.plan import Comprehension, Plan, parts
from workings.trace.follow.recompute import COMPUTING
from workings.trace.follow.result import observed_value, statement_value, try_recompute
from workings.trace.follow.source import call_at, end, positions, span, start
from workings.trace.step import Step
from workings.trace.tensors.state import version_of

_ADDING = ("LIST_APPEND", "SET_ADD", "MAP_ADD", "YIELD_VALUE")
_SIZED: tuple[type, ...] = (type(iter([])), type(iter(())), type(iter(range(0))))
"""Iterators that know how many items there will be."""
_JUMPS_ARE_LINES = sys.version_info < (3, 12)
"""Whether a jump back is reported as a line, at the instruction it leads to."""


@dataclass(frozen=True)
class ComprehensionCode:
    """A comprehension, and which of its instructions do what."""

    node: Comprehension
    plan: Plan
    loops: tuple[Statement, ...]
    number: int
    """Of the element among the statements."""
    asking: dict[int, int]
    """By the offset of the instruction that asks for the next item: which loop it belongs to."""
    inside: dict[int, int]
    """By the same offset: the one where Python goes on if there is a next item."""
    element: frozenset[int]
    """The offsets of the instructions of the element."""
    adding: frozenset[int]
    """Where the element is there."""


def _whole_of(plan: Plan, code: types.CodeType) -> ComprehensionCode | None:
    """The comprehension that this code is of, among those of a plan."""
    if id(code) not in plan.known:
        plan.known[id(code)] = code, _read_comprehension(plan, code)
    found: ComprehensionCode | None = plan.known[id(code)][1]
    return found


def _read_comprehension(plan: Plan, code: types.CodeType) -> ComprehensionCode | None:
    places = [place for place in map(span, positions(code)) if place is not None]
    nodes = [n for n in plan.comprehensions if _name(n) == code.co_name and n.lineno == code.co_firstlineno]
    nodes = [n for n in nodes if places and all(start(n) <= a and b <= end(n) for a, b in places)]
    if not nodes:
        return None
    node = max(nodes, key=start)
    first, count = plan.comprehensions[node], len(node.generators)
    element = node.value if isinstance(node, ast.DictComp) else node.elt
    steps = list(dis.get_instructions(code))
    asking = [i for i, step in enumerate(steps) if step.opname == "FOR_ITER"]
    loops = [n for n, g in enumerate(node.generators) if n == 0 or not _is_assignment(g)]
    if len(asking) != len(loops):
        return None
    own = parts(plan, code, [element, *[test for g in node.generators for test in g.ifs]])
    return ComprehensionCode(
        node,
        own,
        plan.statements[first : first + count],
        first + count,
        {steps[i].offset: n for i, n in zip(asking, loops, strict=True)},
        {steps[i].offset: steps[i + 1].offset for i in asking},
        frozenset(2 * i for i, place in enumerate(positions(code)) if _is_within(span(place), element)),
        frozenset(step.offset for step in steps if step.opname in _ADDING),
    )


def _name(node: Comprehension) -> str:
    return "<genexpr>" if isinstance(node, ast.GeneratorExp) else f"<{type(node).__name__.lower()}>"


def _is_assignment(generator: ast.comprehension) -> bool:
    """`for y in [f(x)]`, which Python runs as y = f(x)."""
    items = generator.iter
    return isinstance(items, (ast.List, ast.Tuple)) and len(items.elts) == 1 and not isinstance(items.elts[0], ast.Starred)


def _is_within(place: Any, node: ast.expr) -> bool:
    return place is not None and start(node) <= place[0] and place[1] <= end(node)


def turns_of(recorder: Recorder, plan: Plan, frame: types.FrameType) -> Turns | None:
    """The turns of the comprehension that begins in this frame; of a generator expression, where its values are asked for
    in the call it is written in."""
    whole = _whole_of(plan, frame.f_code)
    if whole is None:
        return None
    if isinstance(whole.node, ast.GeneratorExp):
        call = None if frame.f_back is None else call_at(frame.f_back)
        if call is None or whole.node not in call.args:
            return None
    turns = Turns(recorder, whole)
    turns.start(Frame(plan.statements, frame.f_globals, len(recorder.stack), recorder.frames[-1].path))
    frame.f_trace_opcodes = True
    return turns


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
        self.elements: list[tuple[int, Step, Names]] = []
        self.count = 0
        element = whole.node.value if isinstance(whole.node, ast.DictComp) else whole.node.elt
        self.statement = ast.copy_location(ast.Expr(element), element)

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
            if loop == 0 and type(items := frame.f_locals.get(".0")) in _SIZED:
                self.recorder.lengths[id(self.turning[0])] = length_hint(items)
        self._forget(loop)
        if loop in self.turning:
            self.recorder.begin(self.turning[loop])
        self.asked = offset
        if loop == 0 and self.recorder.muted and _JUMPS_ARE_LINES and not isinstance(self.whole.node, ast.DictComp):
            self.counting, self.early, frame.f_trace_opcodes = True, self.count, False

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
                self.elements.append((self.count, step, names.freeze()))
            else:
                self._keep(step, value)
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

    def settle(self, result: Any) -> None:
        """All elements are there: those of a list and a dictionary are in their places. Where one is not, what changes
        nothing is computed again."""
        values: list[Any] = []
        if isinstance(result, list):
            values = result
        elif isinstance(result, dict) and len(result) == self.count:  # no key came twice
            values = [*result.values()]
        for place, step, names in self.elements:
            late = self.early is not None and place >= self.early  # as many from the end as were seen after it
            place += len(values) - self.count if late else 0
            value = values[place] if 0 <= place < len(values) else try_recompute(self.statement.value, names)
            self._keep(step, MISSING if self._may_have_changed(value) else value)

    def _may_have_changed(self, value: Any) -> bool:
        """Whether a later turn may have written into the tensor."""
        if not isinstance(value, torch.Tensor) or version_of(value) <= 0:
            return False
        calls = [n.func for n in ast.walk(self.whole.node) if isinstance(n, ast.Call)]
        return any(getattr(f, "attr", getattr(f, "id", "")) not in COMPUTING for f in calls)
