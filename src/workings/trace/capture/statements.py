"""The part of the recorder that the statements of rewritten code report to: what they read, what they made, what failed."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from workings.trace.capture.dropout import write_dropout_mask
from workings.trace.capture.loops import STATEMENTS, Loops, assigned_names, given_names, number_of_turns, unfold
from workings.trace.code.look_up import MISSING, look_up
from workings.trace.code.statement import CALLED, Statement
from workings.trace.formula.arguments import FormulaError, index_value
from workings.trace.formula.completion import completed
from workings.trace.formula.tree import Index
from workings.trace.shapes.layer_text import layer_call
from workings.trace.step import CONTAINERS, Step
from workings.trace.tensors.transformed import is_wrapped

if TYPE_CHECKING:
    from workings.trace.replay.saved_state import SavedState


@dataclass
class Frame:
    """A running function: its statements and globals, where its steps begin on the stack, the path of its module."""

    statements: tuple[Statement, ...]
    globals: dict[str, Any]
    base: int
    path: str | None = None


class Statements(Loops):
    """Keeps the stack of open steps: a statement enters, and leaves with its value."""

    def __init__(self) -> None:
        super().__init__()
        self.globals: list[dict[str, Any]] = []
        self.frames: list[Frame] = []
        self.snapshot = self.snapshots.take
        self.failed: tuple[Any, Any, Any] | None = None
        self.failing: Step | None = None
        self.at: tuple[Any, Any] | None = None  # the statement of a followed frame that failed, with its names
        self.effects: list[str] = []
        self.saved_state: SavedState | None = None  # what is put back for the plain run, if there is one
        self.watching = 0  # in a function that is run only to see whether it changes something outside
        self.pending = ""  # the effect a call alone would be, until it is known which function is called
        self.deciding: dict[int, tuple[Statement, dict[int, bool]]] = {}
        self.drawing: dict[int, torch.Tensor] = {}  # the random state before a statement that may forget numbers by chance
        self.terse = 0  # inside a written-out definition: its equations only
        self.paths: dict[int, str] = {}  # of modules, by their identity
        self.known: list[torch.nn.Module] = []  # the modules that were called from outside any other
        self.expand: Callable[..., Any] | None = None  # at depth 4: what to call in a fused function's place
        self.record_expansion: Callable[..., None] | None = None  # at depth 4: records what a fused call is made of
        self.before_backward: Callable[[torch.Tensor, Any], None] | None = None  # told of `loss.backward(g)`
        self.left: list[tuple[Step, Frame | None]] = []  # loops that are over, whose last turn was not recorded

    # ---- called by rewritten code
    def enter(self, number: int, here: dict[str, Any]) -> Step | None:
        """A statement begins."""
        if self.muted:
            return None
        known = self.statements[-1][number]
        self.pending = ""
        if self.left:
            self._complete_loops(here)
        if known.effect:
            self.note_effect(number)
        if self.terse and known.kind == "branch":
            return None
        step = Step(known.kind, known.name, known.source, known.formula, where=known.where, syntax=known.syntax)
        self._read(step, known, here)  # now: the statement itself may change what it reads
        if known.undecided is not None:
            self.deciding[id(step)] = known, {}
        if known.draws_mask:
            self.drawing[id(step)] = torch.get_rng_state()
        if self.stack[-1].kind == "turn":
            self._give_turns(here)
        self.file(step)
        self.stack.append(step)
        return step

    def leave(self, step: Step | None, value: Any) -> Any:
        """Its value is there."""
        if step is not None:
            while self.stack.pop() is not step:  # what a caught exception, or a generator given up, left open inside it
                pass
            self.keep(step, value)
            if self.deciding or self.drawing:
                self.complete_formula(step)
        return value

    def hold(self, step: Step | None, value: Any) -> Any:
        """The right side of `x += e`, `y[0] = e` or `a, b = e` is there; the statement may still fail."""
        if step is not None:
            step.live = value
        return value

    def leave_header(self, step: Step | None, value: Any) -> Any:
        """What a `with` opens is there: the line has no value of its own."""
        self.leave(step, None)
        return value

    def leave_changed(self, value: Any) -> None:
        """`x += e` or `y[0] = e` is over, and x or y is this."""
        if not self.muted and self.stack[-1].kind in STATEMENTS:
            self.leave(self.stack[-1], value)

    def leave_unpacked(self, parts: Any) -> None:
        """`a, b = e` is over; e may be used up, as `map(f, xs)` is, and then its parts are what it was."""
        if not self.muted and self.stack[-1].kind in STATEMENTS:
            held = self.stack[-1].live
            self.leave(self.stack[-1], held if isinstance(held, (tuple, list, torch.Tensor, dict)) else tuple(parts))

    def leave_held(self) -> None:
        """`a.h, b = e` is over."""
        if not self.muted and self.stack[-1].kind in STATEMENTS:
            self.leave(self.stack[-1], self.stack[-1].live)

    def keep(self, step: Step, value: Any) -> None:
        """The value of a step, as it is now."""
        step.result = now = self.snapshot(value)
        step.live = self.snapshots.live(value, now)

    def note_effect(self, number: int) -> None:
        """A statement that changes something outside begins."""
        known = self.statements[-1][number]
        text = f"{known.source} (line {known.where.line})"
        if known.effect == CALLED:
            self.pending = "" if self.quiet else text
        elif not self.quiet:
            self.effects.append(text)

    @property
    def quiet(self) -> bool:
        return bool(self.muted and not self.watching)

    def before_write(self, owner: Any, text: str, attribute: bool) -> Any:
        """A statement is about to change an attribute or an entry of this object."""
        if self.saved_state is not None and not self.quiet and not self.terse:
            self.note_change(owner, text, attribute)
        return owner

    def note_change(self, owner: Any, text: str, attribute: bool = False) -> None:
        """It is an effect unless the object is put back for the plain run, or was made in this one."""
        assert self.saved_state is not None
        # The numbers of tensors and arrays are compared: what a statement writes into one that can be reached is put back.
        if attribute if isinstance(owner, (torch.Tensor, np.ndarray)) else self.saved_state.is_outside(owner):
            self.effects.append(text)

    def note_new(self, value: Any) -> Any:
        """A list, dictionary or set that is written out here, or an object of a class that is called here."""
        if self.saved_state is not None:
            self.saved_state.note_new(value)
        return value

    def enter_named(self, number: int, here: dict[str, Any]) -> Step | None:
        """`(n := e)` begins: a step of its own, before the statement it stands in."""
        # n has its value before the rest of the statement is computed, so its step goes before that of the statement, which
        # has begun already. In a step that is no statement (a turn) it stands in its place anyway.
        outer = self.stack[-1]
        step = self.enter(number, here)
        if step is not None and outer.kind in STATEMENTS and outer.children and outer.children[-1] is step:
            container = next(s for s in reversed(self.stack[:-1]) if s.kind not in STATEMENTS)
            place = next((i for i, child in enumerate(container.children) if child is outer), None)
            if place is not None:
                container.children.insert(place, outer.children.pop())
        return step

    def leave_named(self, step: Step | None, value: Any) -> Any:
        """The statement it stands in reads n."""
        self.leave(step, value)
        if step is not None:
            self._add_operand(step.name, value)
        return value

    def choose(self, number: int, test: Any) -> bool:
        """Which branch of `a if test else b` the statement takes."""
        found = bool(test)
        if not self.muted and (entry := self.deciding.get(id(self.stack[-1]))) is not None:
            entry[1][number] = found
        return found

    def complete_formula(self, step: Step) -> None:
        """What is known of a formula when its statement is over: the branches it took, what it forgot by chance."""
        self._decide(step)
        random_state = self.drawing.pop(id(step), None)
        if random_state is not None:
            write_dropout_mask(step, random_state)

    def _decide(self, step: Step) -> None:
        known, choices = self.deciding.pop(id(step), (None, {}))
        if known is not None and choices:
            taken = known.decide(choices)
            step.formula, step.note = completed(taken.formula, step.operands), taken.note
            step.operands = {text: step.operands[text] for text in taken.texts if text in step.operands}
            step.lives = {text: step.lives[text] for text in taken.texts if text in step.lives}

    def _add_operand(self, text: str, value: Any) -> None:
        """A value the running statement reads, which came about while it ran."""
        step = self.stack[-1]
        if step.kind in STATEMENTS:
            step.operands[text] = now = self.snapshot(value)
            if isinstance(value, torch.Tensor):
                step.lives[text] = self.snapshots.live(value, now)

    # ---- exceptions
    def mark(self) -> int:
        """A `try` begins: how deep we are in this function."""
        return len(self.stack) - self.frames[-1].base

    def on_caught(self, level: int) -> None:
        """An exception was handled: what was running inside the `try` is over."""
        level += self.frames[-1].base  # `mark` counted from here: a generator may go on at another depth of the stack
        step = self.failing or self.interrupted or (self.stack[-1] if len(self.stack) > level else None)
        if step is not None and step.kind in STATEMENTS:
            step.stop(sys.exc_info()[1])
        self.failed = self.failing = self.interrupted = self.at = None
        while len(self.stack) > level:
            self.muted -= self.stack.pop().kind == "folded"

    def fail(self) -> None:
        """An exception leaves a function: remember where it came from."""
        self.failing = self.failing or self.interrupted or self._statement()

    def _statement(self) -> Step:
        """The statement that is running."""
        return next((s for s in reversed(self.stack) if s.kind in STATEMENTS), self.stack[-1])

    def push(self, frame: Frame) -> None:
        """A function begins to run, or goes on."""
        self.frames.append(frame)
        self.statements.append(frame.statements)
        self.globals.append(frame.globals)

    def pop(self) -> None:
        self.frames.pop()
        self.statements.pop()
        self.globals.pop()

    # ---- turns
    def _give_turns(self, here: dict[str, Any]) -> None:
        """What the open turns are about, known when the first statement in them begins: h = 0 of `for h in range(heads)`."""
        for loop, turn in pairwise(self.stack[self.frames[-1].base - 1 :] if self.frames else ()):
            if turn.kind == "turn" and loop.kind == "loop" and turn.live is None:
                turn.live = True
                for name in given_names(loop):
                    self._give(turn, name, here.get(name, MISSING))

    def on_loop_end(self, loop: Step) -> None:
        self.left.append((loop, self.frames[-1] if self.frames else None))

    def _complete_loops(self, here: dict[str, Any]) -> None:
        """What the last turn of a long loop left is known when the next statement begins."""
        left, self.left = self.left, []
        for loop, frame in left:
            if not self.frames or self.frames[-1] is not frame:
                continue  # the function returned from its loop: its names are gone
            last = number_of_turns(loop)
            turn = Step("turn", str(last), count=last, note="of this turn only what it left is shown", live=True)
            for name in given_names(loop):
                self._give(turn, name, here.get(name, MISSING))
            for name in assigned_names(loop):
                if _is_plain(value := here.get(name, MISSING)):
                    turn.children.append(Step("assign", name))
                    self.keep(turn.children[-1], value)
            if turn.children:
                unfold(loop, turn)

    def _give(self, turn: Step, name: str, value: Any) -> None:
        if isinstance(value, torch.nn.Module):
            path = self.paths.get(id(value), "")
            turn.source += f"{', ' if turn.source else ''}{name} = {f'{path}: ' if path else ''}{layer_call(value)}"
        elif _is_plain(value):
            turn.operands[name] = self.snapshot(value)

    # ---- operands
    def _read(self, step: Step, known: Statement, here: dict[str, Any]) -> None:
        """The values the statement reads: as they are now, and the tensors themselves."""
        outside, is_recording = self.globals[-1], torch.is_grad_enabled()
        for wanted in known.reads:
            value = look_up(wanted, here, outside)
            if isinstance(value, torch.Tensor):
                step.operands[wanted.text] = now = self.snapshot(value)
                graph = is_recording or value.requires_grad  # as `Snapshots.live`, without its call: this runs most often
                step.lives[wanted.text] = value if graph and not is_wrapped(value) else now
            elif value is not MISSING and (not wanted.beside or isinstance(value, (int, float, np.ndarray))):
                step.operands[wanted.text] = self.snapshot(value)
                if type(value) in CONTAINERS and is_recording:
                    step.lives[wanted.text] = copy.copy(value)  # its entries may be others by then
        for whole, index in known.entries:
            self._read_entry(step.operands, whole, index)
        if known.needs_values and step.formula is not None:
            arrays = {wanted.text for wanted in known.reads if isinstance(look_up(wanted, here, outside), np.ndarray)}
            step.formula = completed(step.formula, step.operands, arrays)

    def _read_entry(self, operands: dict[str, Any], whole: str, index: Index) -> None:
        """The value of x[t], where t is a whole number."""
        values = operands.get(whole)
        if not isinstance(values, (*CONTAINERS, torch.Tensor)):
            return
        try:
            place = index_value(index, operands)
            if isinstance(values, dict) or all(type(i) is int for i in (place if isinstance(place, tuple) else (place,))):
                operands[f"{whole}[{index}]"] = values[place]  # of the copy: nothing of the author's runs
        except (FormulaError, TypeError, ValueError, IndexError, KeyError, AttributeError):
            return


_FEW_ITEMS = 8
_PLAIN = (torch.Tensor, int, float, complex, str, type(None))


def _is_plain(value: Any) -> bool:
    """Whether a value that a loop gives is shown: a tensor, a number, a word, a few of them together."""
    several = isinstance(value, (tuple, list)) and len(value) <= _FEW_ITEMS and all(map(_is_plain, value))
    return several or isinstance(value, _PLAIN)
