"""Ctrl-C and SIGTERM ask the loop to stop after the step at hand; a second one stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Training was stopped from outside; what was reached is saved, and the message says how to go on."""


class StopRequest:
    """Whether somebody asked to stop; listens while it is entered, and only in the main thread."""

    def __init__(self, listen: bool) -> None:
        self.listen = listen and threading.current_thread() is threading.main_thread()
        self.stop = False
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if self.listen:
            self.before = {number: signal.signal(number, self.on_signal) for number in _SIGNALS}
        return self

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop = True
        self.__exit__()

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}
