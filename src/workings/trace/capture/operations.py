"""Where there is no source to read: each PyTorch operation as a step.

A function made by `exec`, a compiled one, a function of PyTorch itself: its statements are not known, but PyTorch tells us
each of its operations. They are kept as the statements they amount to (`t1 = x + 1`), and read as those are.
"""

from __future__ import annotations

import ast
import dis
import types
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from workings.trace.capture.operation_syntax import (
    call_syntax,
    operation_name,
    out_of_place,
    unusual_options,
    value_syntax,
    without_library,
)
from workings.trace.capture.statements import Statements
from workings.trace.code.effects import is_uncounted
from workings.trace.code.statement import syntax_of
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.targets import Target
from workings.trace.step import Step

NOTE = "source not available: operations shown instead of statements"
PYTORCH = "it is a function of PyTorch"
_NOTES = {PYTORCH: "a function of PyTorch: depth 3 shows its statements"}
MOST_OPERATIONS = 100
"""Operations of one function that are recorded; the rest run and are counted."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def run_with_operations(recorder: Statements, step: Step, function: Any, args: Any, kwargs: Any, reason: str) -> Any:
    """Call a function and record its operations inside a step."""
    note_changes(recorder, step, function, reason)
    code = getattr(function, "__code__", None)
    owner = getattr(function, "__self__", None)
    method = isinstance(owner, torch.Tensor)
    mode = Operations(
        recorder, step, getattr(torch.Tensor, function.__name__) if method else function, _NOTES.get(reason, NOTE)
    )
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    mode.inputs(names, (owner, *args) if method else args, kwargs)
    try:
        with mode:
            result = function(*args, **kwargs)
    except Exception as error:
        recorder.failing = recorder.failing or (mode.failed[0] if mode.failed and mode.failed[1] is error else None)
        raise
    finally:
        step.note = mode.note() if mode.count else f"not shown: {reason}"
    if not mode.count and code is None:
        mode.record_call(result, args, kwargs)
    return result


def note_changes(recorder: Statements, step: Step, function: Any, reason: str) -> None:
    """A function whose statements are not seen has an effect if its compiled code may have one."""
    code = getattr(function, "__code__", None)
    if code is None or is_uncounted(code):
        recorder.snapshots.doubtful = True
    if code is not None and reason != PYTORCH and _changes_something(code):
        recorder.effects.append(f"{step.name}, whose statements are not known")


def _changes_something(code: types.CodeType) -> bool:
    """Whether compiled code writes to attributes or globals, or calls something only for what it does.

    In-place methods of tensors, which end in an underscore, do not count.
    """
    writes = {"STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "DELETE_ATTR", "DELETE_GLOBAL"}
    method = ""
    for now, after in pairwise(dis.get_instructions(code)):
        method = str(now.argval) if now.opname in ("LOAD_METHOD", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME") else method
        dropped = now.opname.startswith("CALL") and after.opname == "POP_TOP" and not method.endswith("_")
        if dropped or now.opname in writes:
            return True
    return False


class Operations(TorchFunctionMode):
    """Files each operation that makes a tensor, or changes one, under a step."""

    def __init__(self, recorder: Statements, step: Step, whole: Any, remark: str = NOTE) -> None:
        super().__init__()
        self.recorder = recorder
        self.step = step
        self.whole = whole
        self.remark = remark
        self.failed: tuple[Step, BaseException] | None = None
        self.count = 0
        self.names: dict[int, tuple[str, Any]] = {}
        self.taken: set[str] = set()

    def inputs(self, names: tuple[str, ...], args: Any, kwargs: Any) -> None:
        """The arguments by the names in the code, or by letters."""
        tensors = dict.fromkeys(id(a) for a in args if isinstance(a, torch.Tensor))
        letters = dict(zip(tensors, _LETTERS, strict=False))
        given = zip(names, args, strict=False) if names else ((letters.get(id(a), ""), a) for a in args)
        for name, value in (*given, *kwargs.items()):
            if name and name not in self.taken and isinstance(value, (torch.Tensor, int, float)):
                shown = self.recorder.snapshot(value)
                self.step.operands[name] = shown
                self.step.children.append(Step("input", name, result=shown, live=value))
                self.taken.add(name)
                if isinstance(value, torch.Tensor):
                    self.names[id(value)] = name, value

    def note(self) -> str:
        left = self.count - MOST_OPERATIONS
        return f"{self.remark}; {left} more operations ran and are not shown" if left > 0 else self.remark

    def record_call(self, result: Any, args: Any, kwargs: Any) -> None:
        """A function with no PyTorch in it: the call and its value."""
        self.step.note = "source not available: the call is shown, not its statements"
        step, written = self.operation(self.whole, args, kwargs)
        step.name = step.source = ast.unparse(without_library(written))
        step.live, step.result = result, self.recorder.snapshot(result)
        self.step.children.append(step)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.recorder.muted or self.recorder.stack[-1] is not self.step:
            return func(*args, **kwargs)
        if self.count >= MOST_OPERATIONS:
            result = func(*args, **kwargs)
            self.count += self.is_computation(func, result)
            return result
        step, written = self.operation(func, args, kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.failed = step, error
            self.file(step, written, func)
            step.note = "raised an exception"
            raise
        if self.is_computation(func, result):
            step.live = args[0] if result is None else result
            step.result = self.recorder.snapshot(step.live)
            self.file(step, written, func)
            self.expand(step, func, args, kwargs, result)
        return result

    def is_computation(self, func: Any, result: Any) -> bool:
        """Whether the operation belongs to the mathematics: it made a tensor or wrote into one."""
        return operation_name(func) == "__setitem__" or any(isinstance(part, torch.Tensor) for part in tree_leaves(result))

    def operation(self, func: Any, args: Any, kwargs: Any) -> tuple[Step, ast.expr | ast.Assign]:
        """The step of an operation that is about to run, with its operands as they are now, and how it is written."""
        operands = {self.name(t): t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        options = {key: value_syntax(value, self.name) for key, value in unusual_options(func, kwargs).items()}
        written = call_syntax(func, [value_syntax(a, self.name) for a in args], options)
        value, statement = (written.value, written) if isinstance(written, ast.Assign) else (written, ast.Expr(written))
        step = Step("operation", formula=formula_of(out_of_place(value)), syntax=syntax_of(statement), lives=operands)
        step.operands = {text: self.recorder.snapshot(value) for text, value in operands.items()}
        return step, written

    def file(self, step: Step, written: ast.expr | ast.Assign, func: Any) -> None:
        self.count += 1
        step.source = ast.unparse(written)
        if step.syntax.target is not None:
            step.name = step.syntax.target.text
        elif func is self.whole and not isinstance(step.live, (tuple, list)):
            step.name = ast.unparse(without_library(written))
        else:
            target = self.target(step.live)
            step.name, step.source = target.text, f"{target.text} = {step.source}" if target.text else step.source
            step.syntax = replace(step.syntax, targets=(target,))
        self.step.children.append(step)

    def target(self, value: Any) -> Target:
        """t1, t2, … for new tensors, in the order they are made; several at once are t1, t2."""
        several = isinstance(value, (tuple, list))
        names = [self.name(part) for part in (value if several else [value]) if isinstance(part, torch.Tensor)]
        return Target(", ".join(names), tuple(map(Target, names)) if several and len(names) > 1 else ())

    def name(self, value: torch.Tensor) -> str:
        if id(value) not in self.names:
            self.names[id(value)] = self.new_name(value), value
        return self.names[id(value)][0]

    def new_name(self, value: torch.Tensor) -> str:
        known = next((n for m in self.recorder.known for n, p in m.named_parameters() if p is value), "")
        numbers = (f"t{n}" for n in range(1, len(self.taken) + 2))
        name = known or next(name for name in numbers if name not in self.taken)
        self.taken.add(name)
        return name

    def expand(self, step: Step, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """At depth 4 a fused operation is written out beside it."""
        if self.recorder.record_expansion is not None and func in OPERATIONS.definitions:
            self.recorder.stack.append(step)
            try:
                self.recorder.record_expansion(self.recorder, func, args, kwargs, result)
            finally:
                self.recorder.stack.pop()
