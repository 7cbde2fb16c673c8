"""Loops as steps: each turn holds what ran in it, from asking for the next item to the end of its body.

Of a long loop the first turns are kept, and the last, whose values are those that the code goes on with:

    turn 1 … turn 50, folded («turns 51–99 ran and are not shown»), turn 100

Which turn is the last is known beforehand where something with a length is gone through to its end; the turns between then
run unrecorded. In any other loop each turn is recorded, and the one before it is folded away; a loop that goes on runs
unrecorded in the end, and of its last turn only the values it left are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import torch

from workings.trace.code.statement import Statement
from workings.trace.formula.targets import Target
from workings.trace.step import Step
from workings.trace.tensors.snapshot import Snapshots

MOST_TURNS = 50
"""Turns of one loop that are kept, with the last; the rest run and are counted."""
_MOST_FOLDED = 1_000
"""Steps of one loop that are recorded only to be folded away."""
_MOST_STEPS = 1_000
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
        self.lengths: dict[int, int] = {}  # of the open loops whose last turn is known beforehand, by their identity
        self.snapshots = Snapshots()
        self.marks: dict[int, tuple[int, int]] = {}
        """Where, among what is kept by reference, the last two turns of an open loop begin."""
        self.spent: dict[int, int] = {}  # steps of an open loop that were folded away

    def file(self, step: Step) -> None:
        """Put a step where we are, unless there are too many already."""
        children = self.stack[-1].children
        if len(children) < _MOST_STEPS:
            children.append(step)
            return
        if children[-1].kind != "folded":
            children.append(Step("folded"))
        children[-1].count += 1
        children[-1].note = f"{children[-1].count} more steps ran and are not shown"

    # ---- called by rewritten code
    def loop(self, number: int, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a for loop; each is a turn."""
        return iter(items) if self.muted else self.turns(self.statements[-1][number], items)

    def turns(self, known: Statement, items: Iterable[Any]) -> Iterator[Any]:
        loop = self.open(known)
        iterator = iter(items)
        if not known.leaves and type(items) in _SIZED:
            self.lengths[id(loop)] = len(items)  # type: ignore[arg-type]
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
        return None if self.muted else self.open(self.statements[-1][number])

    def ask(self, loop: Step | None) -> bool:
        """It asks whether to go on."""
        if loop is not None:
            self.begin(loop)
        return True

    def turn(self, loop: Step | None) -> None:
        """There is a turn: what was begun is one."""
        if loop is None or not self.is_open(loop):
            return
        turn, last = self.stack[-1], loop.children[-1] if loop.children else None
        if last is not None and last.kind == "turn" and last.count > MOST_TURNS:
            self._forget(loop, loop.children.pop())
            self._fold(loop)
        if turn.kind == "folded":
            self._fold(loop)
        else:
            loop.children.append(turn)

    def _fold(self, loop: Step) -> None:
        """One more turn that ran and is not kept."""
        if loop.children[-1].kind != "folded":
            loop.children.append(Step("folded"))
        folded = loop.children[-1]
        folded.count += 1
        folded.note = _folded_note(folded.count)

    def _forget(self, loop: Step, turn: Step) -> None:
        """A turn is folded away after all: what it kept by reference need not live on."""
        self.spent[id(loop)] = self.spent.get(id(loop), 0) + sum(1 for _ in turn.walk())
        first, last = self.marks[id(loop)]
        del self.snapshots.by_reference[first:last]
        self.marks[id(loop)] = first, first

    def close_loop(self, loop: Step | None) -> None:
        """No more turns. What ran in asking for another belongs to the last one."""
        if loop is None or not self.is_open(loop):
            return
        # Asking for another turn opened one, which does not come; what the question ran (the test of a while) stands in it.
        asked = next((turn for before, turn in pairwise(self.stack) if before is loop), loop)
        self.end_turn(loop)
        self.stack.pop()
        self.lengths.pop(id(loop), None)
        self.marks.pop(id(loop), None)
        self.spent.pop(id(loop), None)
        if loop.children and loop.children[-1].kind == "folded":
            self.on_loop_end(loop)
        last = loop.children[-1] if loop.children else self.stack[-1]
        if asked.kind == "turn" and asked is not last and last.kind != "folded":
            last.children += asked.children

    # ---- turns
    def is_open(self, step: Step) -> bool:
        return self.stack[-1] is step or any(open_ is step for open_ in reversed(self.stack))

    def on_loop_end(self, loop: Step) -> None:
        """A loop is over whose last turn was not recorded."""

    def open(self, known: Statement) -> Step:
        step = Step("loop", known.name, known.source, where=known.where, syntax=known.syntax)
        self.file(step)
        self.stack.append(step)
        return step

    def begin(self, loop: Step) -> None:
        """Perhaps another turn."""
        if not self.is_open(loop):
            return
        self.end_turn(loop)
        # Large tensors are kept by reference. Those of a turn that is folded away later are let go, so it is known where the
        # last two turns begin in that list: when a turn begins, the one before may still become the last.
        number, kept = number_of_turns(loop) + 1, len(self.snapshots.by_reference)
        self.marks[id(loop)] = self.marks.get(id(loop), (kept, kept))[1], kept
        between = number < self.lengths.get(id(loop), 0) or self.spent.get(id(loop), 0) > _MOST_FOLDED
        if number > MOST_TURNS and between:
            self.stack.append(Step("folded", count=number))
            self.muted += 1
        else:
            self.stack.append(Step("turn", str(number), count=number))

    def end_turn(self, loop: Step) -> None:
        while self.stack[-1] is not loop:
            step = self.stack.pop()
            self.muted -= step.kind == "folded"
            if step.kind in STATEMENTS:  # an exception is on its way out of the loop
                self.interrupted = self.interrupted or step


_SIZED = (range, list, tuple, torch.Tensor, torch.nn.ModuleList, torch.nn.Sequential)
"""What has a length that can be asked for without running anything of the author's."""


def number_of_turns(loop: Step) -> int:
    """How many turns there were."""
    last = loop.children[-1] if loop.children else None
    return 0 if last is None else last.count + (MOST_TURNS if last.kind == "folded" else 0)


def _folded_note(count: int) -> str:
    """Which turns were not kept.

    >>> _folded_note(1), _folded_note(3)
    ('turn 51 ran and is not shown', 'turns 51–53 ran and are not shown')
    """
    first, last = MOST_TURNS + 1, MOST_TURNS + count
    return f"turns {first}–{last} ran and are not shown" if count > 1 else f"turn {first} ran and is not shown"


def unfold(loop: Step, last: Step) -> None:
    """Put the last turn in place of the last that was folded away."""
    folded = loop.children.pop()
    folded.count -= 1
    folded.note = _folded_note(folded.count)
    loop.children += [*([folded] if folded.count else []), last]


def assigned_names(loop: Step) -> list[str]:
    """The names that the turns of a loop give values to: y of `y = e`, `y += e` and `y[0] = e`."""
    found: dict[str, None] = {}
    waiting = [*loop.children]
    while waiting:
        step = waiting.pop(0)
        if step.kind in ("turn", "loop", "branch"):
            waiting += step.children
        elif step.kind == "assign":
            found |= dict.fromkeys(_whole(place).text for target in step.syntax.targets for place in target.places())
    return [name for name in found if name.isidentifier()]


def _whole(place: Target) -> Target:
    """y of y[0]"""
    return place if place.whole is None else _whole(place.whole)


def given_names(loop: Step) -> list[str]:
    """The names that a loop gives values to: i, a and rest of `for i, (a, *rest) in …`."""
    target = loop.syntax.target
    return [] if target is None else [name for name in target.names if name != "_"]
