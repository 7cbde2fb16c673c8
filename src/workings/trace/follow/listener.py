"""A trace function of ours beside that of a debugger or a coverage tool, not in its place.

`sys.settrace` has room for one listener. Ours takes the place while a block is open and passes everything on to the one
before, which has its place back afterwards. Several blocks may be open in one thread: one inside another, or in coroutines
that take turns. The one that began last is told of a call first, and asks the ones below it.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from workings.trace.follow.source import is_yielding

OnEvent = Callable[[types.FrameType, str, Any], Any]
"""Told of a frame: "line", "opcode", "exception", "yield" or "return", and what is raised or given."""


class _TraceFunction:
    """The trace function of one frame: ours, then theirs."""

    def __init__(self, listener: Listener, ours: OnEvent | None, theirs: OnEvent | None) -> None:
        self.listener, self.ours, self.theirs = listener, ours, theirs

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if self.ours is not None:
            self.ours(frame, "yield" if event == "return" and is_yielding(frame) else event, arg)
        if self.theirs is not None and event != "opcode":  # instructions are reported because we asked for them
            self.theirs = self.theirs(frame, event, arg)
            self.listener.stay()
        return self


class Listener:
    """Listens to one frame, and to the calls for which `on_call` gives a trace function."""

    frame: types.FrameType

    def __init__(self, on_call: Callable[[types.FrameType], OnEvent | None]) -> None:
        self.on_call = on_call
        self.installed: OnEvent = self.call  # one object, so that it is known again by its identity
        self.theirs: OnEvent | None = None
        self.below: Listener | None = None
        self.outer: Listener | None = None
        self.block: Any = None  # whose listener it is
        self.listening = False

    def start(self, frame: types.FrameType, ours: OnEvent, instructions: bool) -> None:
        """From now on, and for lines of this frame (or its instructions)."""
        before: Any = sys.gettrace()
        self.below = _listener(before)
        running = list(_callers(frame))
        self.outer = next((one for one in _chain(self.below) if one.frame in running), None)
        self.theirs = before if self.below is None else self.below.theirs
        self.frame, self.before = frame, (frame.f_trace, frame.f_trace_opcodes)
        local: Any = frame.f_trace
        frame.f_trace = _TraceFunction(self, ours, local.theirs if isinstance(local, _TraceFunction) else local)
        frame.f_trace_opcodes = instructions
        self.listening = True
        sys.settrace(self.installed)

    def watch(self, frame: types.FrameType, instructions: bool) -> None:
        """Lines of a frame that is followed are reported, or each instruction."""
        frame.f_trace_opcodes = instructions

    def around(self, frame: types.FrameType) -> OnEvent | None:
        """Whom the block around this one tells of this frame."""
        before = self.before[0]
        return before.ours if isinstance(before, _TraceFunction) else None

    def stop(self) -> bool:
        """Everything as it was; False where somebody else has taken the place in the meantime, who keeps it."""
        self.listening = False
        now = _listener(sys.gettrace())
        kept = self in _chain(now)
        self.frame.f_trace_opcodes = self.before[1]
        local: Any = self.frame.f_trace  # a coroutine that went on has another than the one it began with
        if isinstance(local, _TraceFunction) and local.listener is self:
            self.frame.f_trace = self.before[0] if isinstance(self.before[0], _TraceFunction) else local.theirs
        if kept and self.below is not None:
            self.below.theirs = self.theirs
        for above in _chain(now):
            if above.below is self:  # another coroutine's block began later, and goes on
                above.below = self.below
        if now is self:
            sys.settrace(self.theirs if self.below is None else self.below.installed)
        return kept

    def call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """A function is called somewhere in this thread."""
        theirs = None
        if self.theirs is not None:
            theirs = self.theirs(frame, event, arg)
            self.stay()
        for one in _chain(self):
            ours = one.on_call(frame)
            if ours is not None:
                return _TraceFunction(one, ours, theirs)
        return _TraceFunction(self, None, theirs) if theirs is not None else None

    def stay(self) -> None:
        """A debugger that withdraws, or takes the place for itself when it is told something, does not end ours."""
        now: Any = sys.gettrace()  # pdb calls settrace in its own handler, for example after «continue»
        if self.listening and self not in _chain(_listener(now)):
            self.theirs = now
            sys.settrace(self.installed)


def _listener(trace_function: Any) -> Listener | None:
    found = getattr(trace_function, "__self__", None)
    return found if isinstance(found, Listener) else None


def _chain(listener: Listener | None) -> Iterator[Listener]:
    """A listener and those below it."""
    while listener is not None:
        yield listener
        listener = listener.below


def _callers(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frame, the one that called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back
