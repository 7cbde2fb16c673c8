"""The recorder: what rewritten code reports to. It builds the tree of steps while the code runs.

Depth is the reader's choice: 1 the function itself, 2 into the author's own functions and modules, 3 into library modules, 4
into fused operations. What lies deeper runs as it is.
"""

from __future__ import annotations

import functools
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from workings.trace.rewrite import RECORDER, Rewritten, Statement, rewritten
from workings.trace.snapshot import Snapshots
from workings.trace.step import Step

MOST_TURNS = 50
"""Turns of one loop that are recorded; the rest run and are counted."""
MOST_DEPTH = 200
"""Calls inside calls that are recorded; deeper recursion runs unrecorded and says so."""
_LIBRARY = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_library(code: types.CodeType) -> bool:
    """Whether the code is installed or part of Python, not the author's."""
    return _in_library(code.co_filename)


_TO_BE_READ = tuple(str(Path(__file__).parents[1] / floor) for floor in ("nn", "models"))
"""Our own layers and models are written to be read, so they open like the author's functions wherever they are installed."""


@functools.cache
def _in_library(file: str) -> bool:
    return file.startswith((*_LIBRARY, "<frozen")) and not file.startswith(_TO_BE_READ)


def written_out(function: Any) -> Any:
    """The textbook function behind one that runs a fused kernel when nobody is looking; any other function itself."""
    return getattr(function, "__definition__", function)


STATEMENTS = frozenset(("assign", "return", "expression", "branch"))
MISSING = object()
"""A leaf whose value could not be looked up."""


class Recorder:
    """Collects steps. One for each capture; its methods are called by rewritten code."""

    def __init__(self, depth: int, names: frozenset[str] = frozenset()) -> None:
        self.depth = depth
        self.names = names
        self.root = Step("root")
        self.stack = [self.root]
        self.statements: list[tuple[Statement, ...]] = []
        self.globals: list[dict[str, Any]] = []
        self.muted = 0
        self.snapshots = Snapshots()
        self.snapshot = self.snapshots.take
        self.codes: set[int] = set()
        self.expand: Callable[[Recorder, Any], Any] | None = None
        self.parameters: dict[str, torch.Tensor] = {}
        self.known: set[int] = set()
        self.buffers: dict[int, tuple[torch.Tensor, int]] = {}
        self.failed: tuple[Any, Any, Any] | None = None
        self.failing: Step | None = None
        self.interrupted: Step | None = None
        self.effects: list[str] = []
        self.terse = 0  # inside a written-out definition: its equations only

    # ---- called by rewritten code
    def enter(self, number: int, here: dict[str, Any]) -> Step | None:
        """A statement begins."""
        if self.muted:
            return None
        known = self.statements[-1][number]
        if known.effect:
            self.effects.append(f"{known.source} (line {known.where.line})")
        if (self.names and known.name not in self.names) or (self.terse and known.kind == "branch"):
            return None
        step = Step(known.kind, known.name, known.source, known.formula, where=known.where)
        if known.formula is not None:
            self._read(step, known, here)
        self.stack[-1].children.append(step)
        self.stack.append(step)
        return step

    def leave(self, step: Step | None, value: Any) -> Any:
        """Its value is there."""
        if step is not None:
            while self.stack.pop() is not step:
                pass
            step.live = value
            step.result = self.snapshot(value)
        return value

    def after(self, value: Any) -> None:
        """The value of a name after the statement that changed it."""
        if not self.muted and self.stack[-1].children:
            step = self.stack[-1].children[-1]
            step.live, step.result = value, self.snapshot(value)

    def call(self, function: Any) -> Any:
        """What to call instead: the same function, reporting too, where the depth asks for it."""
        if self.muted:
            return function
        if (definition := written_out(function)) is not function and self.depth >= 2 and not self.terse:
            return self.traced(definition)
        if self.expand is not None and callable(function):
            expanded = self.expand(self, function)
            if expanded is not None:
                return expanded
        if not isinstance(function, (types.FunctionType, types.MethodType)):
            return function
        code = function.__code__
        if id(code) in self.codes:
            return function
        if not self._wanted(code):
            if not is_library(code) and not self.terse:
                self.effects.append(f"{function.__name__}, which is not opened at this depth")
            return function
        return self.traced(function)

    def _wanted(self, code: types.CodeType) -> bool:
        return self.depth >= 2 and not self.terse and not is_library(code)

    def loop(self, number: int, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a for loop; each is a turn."""
        if self.muted:
            yield from items
            return
        loop = self._open(number)
        try:
            for item in items:
                self._turn(loop)
                yield item
        finally:
            self._close(loop)

    def open_loop(self, number: int) -> None:
        if not self.muted:
            self._open(number)

    def turn(self, number: int) -> None:
        loop = self._loop()
        if loop is not None:
            self._turn(loop)

    def close_loop(self, number: int) -> None:
        loop = self._loop()
        if loop is not None:
            self._close(loop)

    def mark(self) -> int:
        """A `try` begins: how deep we are."""
        return len(self.stack)

    def caught(self, level: int) -> None:
        """An exception was handled: what was running inside the `try` is over."""
        step = self.failing or self.interrupted or (self.stack[-1] if len(self.stack) > level else None)
        if step is not None and step.kind in STATEMENTS:
            step.note = "raised an exception, which was caught"
        self.failed = self.failing = self.interrupted = None
        while len(self.stack) > level:
            self.muted -= self.stack.pop().kind == "folded"

    def _statement(self) -> Step:
        """The statement that is running."""
        return next((s for s in reversed(self.stack) if s.kind in STATEMENTS), self.stack[-1])

    # ---- loops
    def _open(self, number: int) -> Step:
        known = self.statements[-1][number]
        step = Step("loop", known.name, known.source, where=known.where)
        self.stack[-1].children.append(step)
        self.stack.append(step)
        return step

    def _loop(self) -> Step | None:
        return next((s for s in reversed(self.stack) if s.kind == "loop"), None)

    def _end_turn(self, loop: Step) -> None:
        while self.stack[-1] is not loop:
            step = self.stack.pop()
            self.muted -= step.kind == "folded"
            if step.kind in STATEMENTS:  # an exception is on its way out of the loop
                self.interrupted = self.interrupted or step

    def _turn(self, loop: Step) -> None:
        self._end_turn(loop)
        count = sum(1 for child in loop.children if child.kind == "turn")
        if count < MOST_TURNS:
            turn = Step("turn", str(count + 1))
            loop.children.append(turn)
        elif loop.children[-1].kind == "folded":
            turn = loop.children[-1]
            turn.name = str(int(turn.name) + 1)
        else:
            turn = Step("folded", "1")
            loop.children.append(turn)
        if turn.kind == "folded":
            turn.note = f"{turn.name} more turns ran and are not shown"
            self.muted += 1
        self.stack.append(turn)

    def _close(self, loop: Step) -> None:
        if loop in self.stack:
            self._end_turn(loop)
            self.stack.pop()

    # ---- calls
    def traced(self, function: Any, kind: str = "call", name: str = "", title: str = "") -> Any:
        """The function, rewritten to report here."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self.run(function, args, kwargs, kind, name or call_name(function), title)

        return run

    def run(self, function: Any, args: Any, kwargs: Any, kind: str, name: str, title: str = "") -> Any:
        """Call a function as a step of its own, its statements inside."""
        step = Step(kind, name, title)
        self.stack[-1].children.append(step)
        reporting = self._reporting(function, step)
        if reporting is None:
            step.live = function(*args, **kwargs)
            step.result = self.snapshot(step.live)
            return step.live
        depth, muted = len(self.stack), self.muted
        self.stack.append(step)
        if not self.names:
            self._inputs(step, function, args, kwargs)
        self.statements.append(reporting[1])
        self.globals.append(_underlying(function).__globals__)
        self.terse += kind == "expansion"
        try:
            step.live = reporting[0](*args, **kwargs)
        except Exception:
            self.failing = self.failing or self.interrupted or self._statement()
            raise
        finally:
            self.statements.pop()
            self.globals.pop()
            self.terse -= kind == "expansion"
            self.muted = muted
            del self.stack[depth:]
        if not self.names:
            step.result = self.snapshot(step.live)
        return step.live

    def _inputs(self, step: Step, function: Any, args: Any, kwargs: Any) -> None:
        """The arguments by their names, as the first steps of the call."""
        code = _underlying(function).__code__
        names = code.co_varnames[isinstance(function, types.MethodType) : code.co_argcount]
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if isinstance(value, (torch.Tensor, int, float)):
                step.operands[name] = self.snapshot(value)
                step.children.append(Step("input", name, result=step.operands[name], live=value))

    def _reporting(self, function: Any, step: Step) -> tuple[Any, tuple[Statement, ...]] | None:
        if len(self.stack) > MOST_DEPTH:
            step.note = f"not shown: more than {MOST_DEPTH} calls deep"
            return None
        plain = _underlying(function)
        found = rewritten(plain.__code__) if isinstance(plain, types.FunctionType) else "it is not written in Python"
        if not isinstance(found, Rewritten):
            step.note = f"not shown: {found}"
            return None
        if found.outer:
            self.effects.append(f"{found.outer} in {step.name}")
        return _bound(function, plain, found, self), found.statements

    def named(self, optimizer: Any) -> dict[str, torch.Tensor]:
        """The optimizer's parameters by the names they have in the code."""
        known = {id(step.live): step.name for step in self.root.walk() if step.kind in ("input", "assign")}
        known.update({id(p): name for name, p in self.parameters.items()})
        mine = [p for group in optimizer.param_groups for p in group["params"]]
        return {known.get(id(p), f"parameter {i + 1}"): p for i, p in enumerate(mine)}

    # ---- operands
    def _read(self, step: Step, known: Statement, here: dict[str, Any]) -> None:
        """The values the statement reads: as they are now, and the tensors themselves."""
        for text in known.leaves:
            value = self.look_up(text, here)
            if value is not MISSING:
                step.operands[text] = self.snapshot(value)
                if isinstance(value, torch.Tensor):
                    step.lives[text] = value

    def look_up(self, text: str, here: dict[str, Any]) -> Any:
        """The value of a leaf, by names and plain attributes only: nothing of the author's runs."""
        path, _, index = text.partition("[")
        first, *rest = path.split(".")
        value = here.get(first, self.globals[-1].get(first, MISSING))
        for attribute in rest:
            value = _plain_attribute(value, attribute)
        if index and isinstance(value, (torch.Size, tuple)):
            try:
                return value[int(index.rstrip("]"))]
            except (ValueError, IndexError):
                return MISSING
        return MISSING if isinstance(value, (types.ModuleType, type)) or callable(value) else value


def _plain_attribute(value: Any, name: str) -> Any:
    if isinstance(value, torch.nn.Module):
        for table in (value._parameters, value._buffers, value._modules, value.__dict__):
            if name in table:
                return table[name]
        return MISSING
    if isinstance(value, torch.Tensor):
        return value.shape if name == "shape" else MISSING
    return vars(value).get(name, MISSING) if hasattr(value, "__dict__") and not callable(value) else MISSING


def call_name(function: Any) -> str:
    """`attention`, or `Encoder.mix` for a method."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if owner is None or isinstance(owner, types.ModuleType):
        return str(name)
    return f"{(owner if isinstance(owner, type) else type(owner)).__name__}.{name}"


def _underlying(function: Any) -> Any:
    """The plain function behind a method."""
    return function.__func__ if isinstance(function, types.MethodType) else function


def _bound(function: Any, plain: types.FunctionType, found: Rewritten, recorder: Recorder) -> Any:
    """The rewritten code as a function with the original's globals, defaults and closure."""
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    cells[RECORDER] = types.CellType(recorder)
    closure = tuple(cells[name] for name in found.code.co_freevars)
    new = types.FunctionType(found.code, plain.__globals__, plain.__name__, plain.__defaults__, closure)
    new.__kwdefaults__ = plain.__kwdefaults__
    recorder.codes.add(id(found.code))
    return types.MethodType(new, function.__self__) if isinstance(function, types.MethodType) else new
