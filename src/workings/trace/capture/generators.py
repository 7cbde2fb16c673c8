"""Functions that run in pieces: generators, and coroutines.

A generator runs from one `yield` to the next whenever somebody asks for a value. Each such piece is a step of its own,
filed under the statement (or the turn of a loop) that asked. A coroutine is one step, however often it waits.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workings.trace.capture.loops import MOST_TURNS
from workings.trace.capture.statements import Frame, Statements
from workings.trace.step import Step

PIECES = inspect.CO_GENERATOR | inspect.CO_COROUTINE


@dataclass
class PausedFunction:
    """A generator or coroutine between two pieces: what it takes to go on recording it."""

    recorder: Statements
    name: str
    frame: Frame
    inputs: list[Step]
    coroutine: bool = False
    flat: bool = False
    """Whether its statements stand in the step that asked, without one of their own."""
    tail: list[Step] = field(default_factory=list)
    count: int = 0
    step: Step | None = None
    _before: tuple[int, int] = (0, 0)

    def pieces(self, inner: Any) -> Iterator[Any]:
        """The values of a generator (or what a coroutine waits for), each of its pieces recorded."""
        go: Callable[[Any], Any] = inner.send
        given: Any = None
        while True:
            self.resume()
            try:
                item = go(given)
            except StopIteration as end:
                self.name_last()
                return end.value
            except Exception:
                self.recorder.fail()
                raise
            finally:
                self.pause()
            try:
                given = yield item
                go = inner.send
            except GeneratorExit:
                self.resume()
                try:
                    inner.close()
                finally:
                    self.pause()
                raise
            except BaseException as error:
                go, given = inner.throw, error

    def name_last(self) -> None:
        """The piece that runs is the last one: no yield ends it."""
        if self.step is not None and not self.coroutine:
            self.step.source = "after the last yield" if self.count > 1 else "to its end"

    async def wait(self, inner: Any) -> Any:
        steps: Any = types.coroutine(self.pieces)
        return await steps(inner)

    def resume(self) -> None:
        """Go on where it was paused, among the steps of whoever asked."""
        recorder = self.recorder
        # The steps that its statements left open belong on the stack of whoever asks now, who may be another one each time.
        self._before = len(recorder.stack), recorder.muted
        self.begin()
        self.frame.base = len(recorder.stack)
        recorder.push(self.frame)
        recorder.stack += self.tail
        recorder.muted += sum(step.kind == "folded" for step in self.tail)

    def pause(self) -> None:
        """Put away what is open, and leave the asker's steps as they were."""
        recorder = self.recorder
        recorder.pop()
        self.tail = recorder.stack[self.frame.base :]
        depth, recorder.muted = self._before
        del recorder.stack[depth:]
        self.end()

    def begin(self) -> None:
        """The step this piece is recorded in."""
        recorder = self.recorder
        if recorder.muted or self.flat:
            recorder.stack += [] if self.flat else [Step("call", self.name)]
            return
        if not self.coroutine or self.step is None:
            self.count += 1
            self.step = Step("call", self.name, "" if self.coroutine else f"up to yield {self.count}")
            self.step.children += self.inputs
            self.step.operands = {step.name: step.result for step in self.inputs}
            self.inputs = []
            self.place(self.step)
        recorder.stack.append(self.step)
        recorder.muted += self.count > MOST_TURNS

    def place(self, step: Step) -> None:
        """Where the one who asked can see it; many pieces are counted."""
        beside = self.recorder.stack[-1].children
        if self.count <= MOST_TURNS:
            beside.append(step)
        elif beside and beside[-1].kind == "folded" and beside[-1].source == self.name:
            beside[-1].count += 1
            beside[-1].note = f"{beside[-1].count} more values of {self.name} were asked for and are not shown"
        else:
            note = f"1 more value of {self.name} was asked for and is not shown"
            beside.append(Step("folded", source=self.name, count=1, note=note))

    def end(self) -> None:
        """A piece in which nothing was recorded, such as the end after the last yield, is no step."""
        step, beside = self.step, self.recorder.stack[-1].children
        if step is not None and not step.children and beside and beside[-1] is step:
            beside.pop()
