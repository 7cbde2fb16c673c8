"""Loops as steps: each turn holds what ran in it, from asking for the next item to the end of its body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from workings.trace.statement import Statement
from workings.trace.step import Step

MOST_TURNS = 50
"""Turns of one loop that are recorded; the rest run and are counted."""
MOST_STEPS = 1_000
"""Steps of one place that are recorded, turns of loops apart."""
STATEMENTS = frozenset(("assign", "return", "expression", "branch"))


class Loops:
    """The part of a recorder that rewritten loops report to, and the stack of open steps."""

    def __init__(self) -> None:
        self.root = Step("root")
        self.stack = [self.root]
        self.statements: list[tuple[Statement, ...]] = []
        self.muted = 0
        self.interrupted: Step | None = None

    def file(self, step: Step) -> None:
        """Put a step where we are, unless there are too many already."""
        children = self.stack[-1].children
        if len(children) < MOST_STEPS:
            children.append(step)
            return
        if children[-1].kind != "folded":
            children.append(Step("folded", "0"))
        count = int(children[-1].name) + 1
        children[-1].name, children[-1].note = str(count), f"{count} more steps ran and are not shown"

    # ---- called by rewritten code
    def loop(self, number: int, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a for loop; each is a turn."""
        return iter(items) if self.muted else self.turns(self.statements[-1][number], items)

    def turns(self, known: Statement, items: Iterable[Any]) -> Iterator[Any]:
        loop = self.open(known)
        iterator = iter(items)
        try:
            while True:
                self.begin(loop)
                try:
                    item = next(iterator)
                except StopIteration:
                    return
                except BaseException:
                    self.turn(loop)
                    raise
                self.turn(loop)
                yield item
        finally:
            self.close_loop(loop)

    def open_loop(self, number: int) -> Step | None:
        """A while loop begins."""
        return None if self.muted else self._open(number)

    def asks(self, loop: Step | None) -> bool:
        """It asks whether to go on."""
        if loop is not None:
            self.begin(loop)
        return True

    def turn(self, loop: Step | None) -> None:
        """There is a turn: what was begun is one."""
        if loop is None or not self.is_open(loop):
            return
        turn, last = self.stack[-1], loop.children[-1] if loop.children else None
        if turn.kind == "folded" and last is not None and last.kind == "folded":
            last.name = str(int(last.name) + 1)
            last.note = f"{last.name} more turns ran and are not shown"
        else:
            loop.children.append(turn)

    def close_loop(self, loop: Step | None) -> None:
        """No more turns. What ran in asking for another belongs to the last one."""
        if loop is None or not self.is_open(loop):
            return
        asked = next((turn for before, turn in pairwise(self.stack) if before is loop), loop)
        self.end_turn(loop)
        self.stack.pop()
        last = loop.children[-1] if loop.children else self.stack[-1]
        if asked.kind == "turn" and asked is not last:
            last.children += asked.children

    # ---- turns
    def is_open(self, step: Step) -> bool:
        return self.stack[-1] is step or any(open_ is step for open_ in reversed(self.stack))

    def _open(self, number: int) -> Step:
        return self.open(self.statements[-1][number])

    def _turn(self, loop: Step) -> None:
        self.begin(loop)
        self.turn(loop)

    def _close(self, loop: Step) -> None:
        self.close_loop(loop)

    def open(self, known: Statement) -> Step:
        step = Step("loop", known.name, known.source, where=known.where)
        self.file(step)
        self.stack.append(step)
        return step

    def begin(self, loop: Step) -> None:
        """Perhaps another turn."""
        if not self.is_open(loop):
            return
        self.end_turn(loop)
        count = len(loop.children)
        if count < MOST_TURNS:
            self.stack.append(Step("turn", str(count + 1)))
        else:
            self.stack.append(Step("folded", "1", note="1 more turns ran and are not shown"))
            self.muted += 1

    def end_turn(self, loop: Step) -> None:
        while self.stack[-1] is not loop:
            step = self.stack.pop()
            self.muted -= step.kind == "folded"
            if step.kind in STATEMENTS:  # an exception is on its way out of the loop
                self.interrupted = self.interrupted or step
