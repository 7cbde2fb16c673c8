"""Listening to a frame by `sys.monitoring` (PEP 669, from Python 3.12 on).

A debugger, a profiler or a coverage tool that listens too is not disturbed, and code that is never followed is reported
once and then runs as fast as ever. Events come from all threads and tasks: a listener hears those of its own.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from workings.trace.follow.listener import OnEvent

_MONITORING: Any = getattr(sys, "monitoring", None)
_EVERYWHERE = "PY_START PY_RESUME PY_THROW PY_UNWIND RAISE"
_IN_FOLLOWED_CODE = "LINE PY_RETURN PY_YIELD"
_TOOLS = (4, 3, 2, 1, 0, 5)
"""The numbers a tool can have, those that Python's documentation gives no purpose first."""


def _events(names: str) -> int:
    """A set of events, as `sys.monitoring` has them."""
    return sum(getattr(_MONITORING.events, name) for name in names.split())


class MonitoringListener:
    """Listens to one frame, and to the calls for which `on_call` gives a function to be told."""

    def __init__(
        self, on_call: Callable[[types.FrameType], OnEvent | None], follows: Callable[[types.CodeType], bool]
    ) -> None:
        self.on_call, self.follows = on_call, follows
        self.outer: MonitoringListener | None = None
        self.block: Any = None  # whose listener it is
        self.handlers: dict[types.FrameType, OnEvent] = {}
        self.thread = threading.get_ident()
        self.listening = False

    def start(self, frame: types.FrameType, ours: OnEvent, instructions: bool) -> None:
        """From now on, and for lines of this frame (or its instructions)."""
        self.outer = _current()
        self.handlers[frame] = ours
        self.listening = True
        _LISTENER.set(self)
        _TOOL.open(self)
        self.watch(frame, instructions)

    def stop(self) -> bool:
        """Everything as it was; nobody can take the place in the meantime."""
        self.listening = False
        self.handlers.clear()
        if _LISTENER.get() is self:
            _LISTENER.set(self.outer)
        _TOOL.close(self)
        return True

    def watch(self, frame: types.FrameType, instructions: bool) -> None:
        """Lines of this frame are reported, or each instruction."""
        _TOOL.watch(frame.f_code, _events(_IN_FOLLOWED_CODE + " INSTRUCTION" * instructions))

    def around(self, frame: types.FrameType) -> OnEvent | None:
        """Whom the block around this one tells of this frame."""
        return None if self.outer is None else self.outer.handlers.get(frame)

    def call(self, frame: types.FrameType) -> None:
        """A function is called, or a generator goes on."""
        ours = self.on_call(frame)
        if ours is not None:
            self.handlers[frame] = ours
            self.watch(frame, False)


_LISTENER: ContextVar[MonitoringListener | None] = ContextVar("workings listener", default=None)


def _current() -> MonitoringListener | None:
    """The innermost listener of this thread and task."""
    found = _LISTENER.get()
    while found is not None and not found.listening:
        found = found.outer
    return found if found is not None and found.thread == threading.get_ident() else None


class _Tool:
    """Our place among the tools that monitor this process, taken while somebody listens."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.listeners: list[MonitoringListener] = []
        self.codes: dict[int, tuple[types.CodeType, int]] = {}
        self.lock = threading.Lock()

    def open(self, listener: MonitoringListener) -> None:
        with self.lock:
            self.listeners.append(listener)
            if self.number is not None:
                return
            self.number = free_tool()
            assert self.number is not None
            _MONITORING.use_tool_id(self.number, "workings")
            for event, callback in _CALLBACKS.items():
                _MONITORING.register_callback(self.number, _events(event), callback)
            _MONITORING.set_events(self.number, _events(_EVERYWHERE))

    def close(self, listener: MonitoringListener) -> None:
        with self.lock:
            self.listeners = [other for other in self.listeners if other is not listener]
            if self.listeners or self.number is None:
                return
            _MONITORING.set_events(self.number, 0)
            for code, _ in self.codes.values():
                _MONITORING.set_local_events(self.number, code, 0)
            for event in _CALLBACKS:
                _MONITORING.register_callback(self.number, _events(event), None)
            _MONITORING.free_tool_id(self.number)
            _MONITORING.restart_events()  # whoever has this number next hears of everything
            self.codes.clear()
            self.number = None

    def watch(self, code: types.CodeType, events: int) -> None:
        with self.lock:
            before = self.codes[id(code)][1] if id(code) in self.codes else 0
            if self.number is not None and before | events != before:
                self.codes[id(code)] = code, before | events
                _MONITORING.set_local_events(self.number, code, before | events)


_TOOL = _Tool()


def free_tool() -> int | None:
    """A number that no tool has, or the one that is ours; None where there is none, as in Python 3.11."""
    if _MONITORING is None:
        return None
    return next((n for n in _TOOLS if n == _TOOL.number or _MONITORING.get_tool(n) is None), None)


# ---- what Python reports
def _on_start(code: types.CodeType, offset: int) -> Any:
    listener = _current()
    if listener is None:
        return None
    if not listener.follows(code) and id(code) not in _TOOL.codes:
        return _MONITORING.DISABLE
    listener.call(sys._getframe(1))
    return None


def _on_throw(code: types.CodeType, offset: int, error: BaseException) -> None:
    if (listener := _current()) is not None and id(code) in _TOOL.codes:
        listener.call(sys._getframe(1))


def _on_line(code: types.CodeType, line: int) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.get(frame := sys._getframe(1))) is not None:
        ours(frame, "line", None)


def _on_instruction(code: types.CodeType, offset: int) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.get(frame := sys._getframe(1))) is not None:
        ours(frame, "opcode", None)


def _on_yield(code: types.CodeType, offset: int, value: Any) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.get(frame := sys._getframe(1))) is not None:
        ours(frame, "yield", value)


def _on_return(code: types.CodeType, offset: int, value: Any) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.pop(frame := sys._getframe(1), None)) is not None:
        ours(frame, "return", value)


def _on_unwind(code: types.CodeType, offset: int, error: BaseException) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.pop(frame := sys._getframe(1), None)) is not None:
        ours(frame, "return", None)


def _on_raise(code: types.CodeType, offset: int, error: BaseException) -> None:
    if (listener := _current()) is not None and (ours := listener.handlers.get(frame := sys._getframe(1))) is not None:
        ours(frame, "exception", (type(error), error, error.__traceback__))


_CALLBACKS: dict[str, Callable[..., Any]] = {
    "PY_START": _on_start,
    "PY_RESUME": _on_start,
    "PY_THROW": _on_throw,
    "LINE": _on_line,
    "INSTRUCTION": _on_instruction,
    "PY_YIELD": _on_yield,
    "PY_RETURN": _on_return,
    "PY_UNWIND": _on_unwind,
    "RAISE": _on_raise,
}
