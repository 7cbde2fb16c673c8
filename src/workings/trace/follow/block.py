"""`with workings.trace() as work:` the statements of a block as steps.

The block stands in code that is already running, so it is not rewritten: it runs as it is, once, and is followed.
Python reports each line of its frame before it runs (each instruction, where a line has several statements); what a
statement made is read from the frame when it is over. The author's functions called inside are followed in the same
way, modules and optimizers report as in `capture`, and libraries run unobserved.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from workings.trace.address import address
from workings.trace.assumed import assumption_notes
from workings.trace.capture.callbacks import Callbacks
from workings.trace.capture.capture import CHANGED, ONE_AT_A_TIME, BeforeBackward, capture, tell
from workings.trace.capture.generators import PausedFunction
from workings.trace.capture.modules import record_modules
from workings.trace.capture.recorder import MOST_DEPTH, TOO_DEEP, Frame, Recorder
from workings.trace.code.source import Unavailable
from workings.trace.first_bad import first_bad, first_nan
from workings.trace.follow.calls import (
    call_info,
    caller,
    is_comprehension,
    is_exact,
    is_fused,
    is_generator,
    is_module_call,
    is_opened,
    record_module_call,
    write_out,
)
from workings.trace.follow.comprehension_code import inlined
from workings.trace.follow.comprehensions import Turns, deliver, turns_of
from workings.trace.follow.failure import explain_failure
from workings.trace.follow.frame import Follower
from workings.trace.follow.listener import Listener, OnEvent
from workings.trace.follow.monitoring import MonitoringListener, free_tool
from workings.trace.follow.names import Names, inputs
from workings.trace.follow.plan import Plan, plan_of_block, plan_of_function
from workings.trace.follow.source import by_identity, is_calling, is_coroutine, is_done_waiting
from workings.trace.record import Trace
from workings.trace.step import Step

ONCE = "not compared with an unmodified run: a block runs only once"
_BACKWARD = torch.Tensor.backward.__code__
LOST = "another trace function was set inside the block: some of what ran afterwards is not shown"


class Block:
    """Records the statements of one `with` block into a trace."""

    def __init__(self, trace: Trace, depth: int = 2, before_backward: BeforeBackward | None = None) -> None:
        self.trace = trace
        self.recorder = Recorder(depth)
        self.recorder.root = trace.root
        self.recorder.stack = [trace.root]
        if before_backward is not None:
            self.recorder.before_backward = functools.partial(tell, before_backward, trace, self.recorder)
        self.listener = _listener(self._on_call)
        self.listener.block = self
        self.followers: dict[types.FrameType, Follower] = {}
        self.paused: dict[types.FrameType, tuple[PausedFunction, Follower]] = {}
        self.closing = contextlib.ExitStack()
        self.waiting = False
        self.away = False

    # ---- the block
    def begin(self, frame: types.FrameType) -> None:
        """Start with the statement after the `with`."""
        self.frame = frame
        try:
            plan, block = plan_of_block(frame)
        except Unavailable as reason:
            self._begin_without_source(str(reason))
            return
        self._open_hooks()
        for name, value in inputs(block.body, Names(frame)):
            self.trace.root.children.append(Step("input", name, result=self.recorder.snapshot(value), live=value))
        follower = self.followers[frame] = Follower(self.recorder, plan)
        follower.start(Frame(plan.statements, frame.f_globals, 1))
        self.listener.start(frame, self._guard(self._on_event), _needs_instructions(plan, frame.f_code))
        if self.outer is not None:
            if frame in self.outer.followers:
                self.outer.followers[frame].forget_open()  # this `with`
            self.outer.recorder.muted += 1

    def _open_hooks(self) -> None:
        """Have modules, optimizers and fused operations report, until `closing` is closed."""
        self.closing.enter_context(ONE_AT_A_TIME)
        self.closing.enter_context(record_modules(self.recorder, None))
        if self.recorder.depth >= 4:
            from workings.trace.follow.fused import Expander

            self.closing.enter_context(Expander(self.recorder, self.followers))

    def _pause(self) -> None:
        """A coroutine waits, others run in the meantime: what they do is not ours, and what we opened they do not find."""
        self.away = True
        self.recorder.muted += 1
        for block in self._with_outer():
            block.closing.close()

    def _resume(self) -> None:
        self.away = False
        self.recorder.muted -= 1
        for block in reversed(self._with_outer()):
            block.recorder.callbacks = Callbacks(block.recorder)
            block._open_hooks()

    def _with_outer(self) -> list[Block]:
        return [self, *(self.outer._with_outer() if self.outer is not None else [])]

    def _begin_without_source(self, reason: str) -> None:
        """PyTorch's operations in the place of statements."""
        from workings.trace.capture.operations import NOTE, Operations

        if self.frame.f_code.co_flags & inspect.CO_COROUTINE:
            self.trace.notes.append(f"not shown: a block in a coroutine is followed by its source ({reason})")
            return
        self._open_hooks()
        code, names = self.frame.f_code, Names(self.frame)
        known = {name: names.get(name) for name in (*code.co_varnames, *code.co_names)}
        mode = Operations(self.recorder, self.trace.root, None)
        mode.inputs((), (), {name: value for name, value in known.items() if isinstance(value, torch.Tensor)})
        self.closing.enter_context(mode)
        self.trace.notes.append(f"{NOTE} ({reason})")

    def end(self, error: BaseException | None) -> None:
        """Stop, with everything as it was before. A `return` in the block is waited for: its value is not there yet."""
        follower = self.followers.get(self.frame)
        if follower is not None and error is None:
            follower.finish(self.frame, None)
            if follower.returning is not None and not self.waiting:
                self.waiting = True
                self.closing.close()
                return
        self._stop(error)

    @property
    def outer(self) -> Block | None:
        """The block around this one, in this thread."""
        return None if self.listener.outer is None else self.listener.outer.block

    def _stop(self, error: BaseException | None) -> None:
        if self.followers:
            if not self.listener.stop():
                self.trace.notes.append(LOST)
            self._leave(self.frame)
        self.closing.close()
        self.recorder.before_backward = None
        if error is not None:
            explain_failure(self.trace, self.recorder, error)
        address(self.trace.root)
        self.trace.modules = self.recorder.modules()
        self.trace.first_bad = first_bad(self.trace)
        self.trace.first_nan = first_nan(self.trace)
        if self.recorder.snapshots.has_changes():
            self.trace.notes.append(CHANGED)
        self.trace.notes += assumption_notes(self.trace)
        self.trace.agreement = ONCE
        if self.outer is not None:
            self._report_to(self.outer, error)
        self.followers.clear()
        self.paused.clear()
        del self.frame

    def _report_to(self, outer: Block, error: BaseException | None) -> None:
        """What ran in this block ran in the block around it too."""
        outer.recorder.muted -= 1
        if outer.recorder.muted:
            return
        steps = [_copy(step) for step in self.trace.root.children if step.kind != "input"]
        outer.recorder.stack[-1].children += steps
        if error is not None:
            for failed in (s for step in steps for s in step.walk() if s.kind == "error"):
                failed.kind, failed.note = "assign" if failed.name else "expression", ""
                outer.recorder.failing = failed  # until it is caught
            outer.recorder.fail()
            outer.recorder.at = self.recorder.at
            if self.frame in outer.followers:
                outer.followers[self.frame].thrown = error

    # ---- what Python reports
    def _on_event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        """Of the block's own frame."""
        follower = self.followers[frame]
        if event == "yield" and is_coroutine(frame.f_code):
            self._pause()
        elif event == "exception" and is_done_waiting(frame) and arg[0] is StopIteration:
            return
        elif event not in ("yield", "return"):
            deliver(follower, frame, event, arg)
        elif not self.waiting:
            follower.give(arg)
        else:
            follower.give(arg)
            self.trace.result = arg
            around = self.listener.around(frame)
            self._stop(None)
            if around is not None:  # a block around this one waits for it too
                around(frame, event, arg)

    def _on_call(self, frame: types.FrameType) -> OnEvent | None:
        """A function is called: the author's own are followed."""
        if frame is self.frame:  # a generator or a coroutine that goes on
            if self.away:
                self._resume()
            return self._guard(self._on_event)
        if self.recorder.muted or self.waiting:
            return None
        if frame.f_code is capture.__code__:
            return self._silence()
        if is_comprehension(frame.f_code):
            return self._in_turns(frame)
        back = caller(frame, self.followers)
        if back not in self.followers or id(frame.f_code) in self.recorder.codes:
            return None
        if is_module_call(frame.f_code):
            record_module_call(self.recorder, frame)
        elif frame.f_code is _BACKWARD:
            self._on_backward(frame)
        if self.recorder.depth < 2:
            return None
        if is_fused(frame.f_code):
            return None if is_exact(frame) else self._guard(self._on_fused_return)
        if not is_opened(frame.f_code):
            return None
        if is_generator(frame.f_code):
            return self._guard(self._piece(frame, self.followers[back].innermost))
        return self._guard(self._follow(frame, self.followers[back].innermost))

    def _on_backward(self, frame: types.FrameType) -> None:
        """`loss.backward()` begins: the graph is there now."""
        if self.recorder.before_backward is not None:
            self.recorder.muted += 1
            try:
                self.recorder.before_backward(frame.f_locals["self"], frame.f_locals.get("gradient"))
            finally:
                self.recorder.muted -= 1

    def _silence(self) -> OnEvent:
        """`show` inside the block records for itself."""
        self.recorder.muted += 1

        def on_event(frame: types.FrameType, event: str, arg: Any) -> None:
            self.recorder.muted -= event == "return"

        return on_event

    def _on_fused_return(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "return" and arg is not None:
            write_out(self.recorder, frame, arg)

    def _follow(self, frame: types.FrameType, back: Follower) -> OnEvent:
        """A step for the call, the statements inside it as they run, its result at the end."""
        found = call_info(self.recorder, frame)
        step = Step("call", found.name, operands={child.name: child.result for child in found.inputs}, children=found.inputs)
        plan = plan_of_function(frame.f_code) if len(self.recorder.stack) <= MOST_DEPTH else TOO_DEEP
        self.recorder.file(step)
        follower = None
        if isinstance(plan, str):
            step.note = f"not shown: {plan}"
        else:
            follower = self.followers[frame] = Follower(self.recorder, plan)
            follower.start(Frame(plan.statements, frame.f_globals, len(self.recorder.stack) + 1, found.path), step)
            self.listener.watch(frame, _needs_instructions(plan, frame.f_code))

        def on_event(frame: types.FrameType, event: str, arg: Any) -> None:
            if event == "return":
                self._on_return(frame, step, arg)
                back.called = found.call, arg
            elif follower is not None:
                deliver(follower, frame, event, arg)

        return on_event

    def _in_turns(self, frame: types.FrameType) -> OnEvent | None:
        """A comprehension runs, or a generator expression goes on."""
        turns, back = self.followers.get(frame), None if frame.f_back is None else self.followers.get(frame.f_back)
        back = None if back is None else back.innermost
        if turns is None and back is not None:
            turns = turns_of(self.recorder, back.plan, frame)
        if not isinstance(turns, Turns):
            return None
        if frame not in self.followers:
            self.listener.watch(frame, True)
        self.followers[frame] = turns

        def on_event(frame: types.FrameType, event: str, arg: Any) -> None:
            if event not in ("yield", "return"):
                deliver(turns, frame, event, arg)
            elif event == "yield" and turns.thrown is None:
                turns.give(arg)
            else:
                self._leave(frame)
                turns.settle(arg)
                if back is not None:
                    back.called = turns.whole.node, arg

        return self._guard(on_event)

    def _piece(self, frame: types.FrameType, back: Follower) -> OnEvent:
        """A generator runs up to its next yield."""
        if frame.f_back is not None and not is_calling(frame.f_back):
            back.begin_first_turn()
        plan = plan_of_function(frame.f_code)
        if isinstance(plan, str):
            return _nothing
        if frame not in self.paused:
            found = call_info(self.recorder, frame)
            running = Frame(plan.statements, frame.f_globals, len(self.recorder.stack), found.path)
            paused = PausedFunction(self.recorder, found.name, running, found.inputs)
            self.paused[frame] = paused, Follower(self.recorder, plan)
            self.listener.watch(frame, _needs_instructions(plan, frame.f_code))
        paused, follower = self.paused[frame]
        paused.resume()
        self.followers[frame] = follower

        def on_event(frame: types.FrameType, event: str, arg: Any) -> None:
            if event in ("yield", "return"):
                if event == "return":
                    follower.finish(frame, None)
                    paused.name_last()
                follower.give(arg)
                self.followers.pop(frame, None)
                paused.pause()
            else:
                deliver(follower, frame, event, arg)

        return on_event

    def _on_return(self, frame: types.FrameType, step: Step, value: Any) -> None:
        follower = self.followers.get(frame)
        failed = follower is not None and follower.thrown is not None
        if follower is not None:
            follower.finish(frame, None)
            if not failed:
                follower.give(value)
            self._leave(frame)
        if not failed:
            step.live, step.result = value, self.recorder.snapshot(value)

    def _leave(self, frame: types.FrameType) -> None:
        follower = self.followers.pop(frame)
        follower.close()

    def _guard(self, on_event: OnEvent) -> OnEvent:
        """What goes wrong here must not go wrong in the author's code."""

        def safe(frame: types.FrameType, event: str, arg: Any) -> None:
            try:
                on_event(frame, event, arg)
            except Exception as reason:
                self.recorder.muted += 1
                self.trace.notes.append(f"the rest of the block is not shown: tracing it failed ({reason!r})")

        return safe


def _listener(on_call: Callable[[types.FrameType], OnEvent | None]) -> Listener | MonitoringListener:
    """The one that disturbs others least: by `sys.monitoring` where Python has it and a tool's place is free."""
    return Listener(on_call) if free_tool() is None else MonitoringListener(on_call, _may_be_followed)


@by_identity
def _may_be_followed(code: types.CodeType) -> bool:
    """Whether `_on_call` may want to hear of this code; a library's other code it never does."""
    ours = code is capture.__code__ or code is _BACKWARD or is_module_call(code) or is_fused(code)
    return ours or is_comprehension(code) or is_opened(code)


def _needs_instructions(plan: Plan, code: types.CodeType) -> bool:
    """Whether lines do not tell enough of this code."""
    return plan.crowded or bool(inlined(plan, code))


def _nothing(frame: types.FrameType, event: str, arg: Any) -> None:
    """Runs unobserved."""


def _copy(step: Step) -> Step:
    return replace(step, children=[_copy(child) for child in step.children])
