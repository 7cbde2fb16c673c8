"""The recorder: what rewritten code reports to. It builds the tree of steps while the code runs.

Depth is the reader's choice: 1 the function itself, 2 into the author's own functions and modules, 3 into library modules, 4
into fused operations. What lies deeper runs as it is.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from typing import Any

import numpy as np
import torch
from torch.autograd.function import FunctionCtx

from workings.own_code import is_check
from workings.trace.capture.callbacks import Callbacks
from workings.trace.capture.generators import PIECES, PausedFunction
from workings.trace.capture.loops import STATEMENTS
from workings.trace.capture.operations import PYTORCH, note_changes, run_with_operations
from workings.trace.capture.statements import Frame, Statements
from workings.trace.code.decorated import inmost, with_inmost
from workings.trace.code.functions import LAMBDA, MOST_VALUES, call_name, call_of, is_library, underlying, written_out
from workings.trace.code.instrument import RECORDER
from workings.trace.code.look_up import MISSING, computed_attributes, property_of
from workings.trace.code.mutators import CHANGEABLE, KEPT_BY_TENSORS, VALUES, changes_its_owner, changes_nothing
from workings.trace.code.rewrite import Rewritten, rewrite
from workings.trace.code.statement import Statement
from workings.trace.step import Step, Where
from workings.trace.tensors.transformed import transformation_note

__all__ = ["MISSING", "MOST_DEPTH", "STATEMENTS", "Frame", "Recorder"]

MOST_DEPTH = 60
"""Calls inside calls that are recorded; deeper recursion runs unrecorded and says so."""
_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType, type)
_FUNCTION = (types.FunctionType, types.MethodType)
_MODULE = torch.nn.Module
_CACHED = type(functools.cache(len))
KEPT = "not run again: functools.lru_cache has kept its result"


class Recorder(Statements):
    """Collects steps. One for each capture; its methods are called by rewritten code."""

    def __init__(self, depth: int, names: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.depth = depth
        self.names = names
        self.codes: set[int] = set()
        self.known_code: dict[tuple[Any, Any], Rewritten | str] = {}
        self.bound: dict[types.FunctionType, types.FunctionType] = {}
        self.called: tuple[Any, str] = (None, "")
        self.closed = False  # in a library's module that is not opened: what is the author's in it is
        self.callbacks = Callbacks(self)

    # ---- calls
    def get(self, owner: Any, name: str, text: str) -> Any:
        """A property of the author's: computed as a step of its own, and an operand of the statement."""
        pending, found = self.pending, property_of(type(owner), name)
        getter = None if found is None else self.callbacks.original(found.fget)
        if self.muted or getter is None or not self._is_wanted(getter.__code__):
            value = getattr(owner, name)
        else:
            try:
                value = self.run(types.MethodType(getter, owner), (), {}, "call", text)
            except AttributeError:
                value = getattr(owner, name)  # which may have another way
        if not self.muted:
            self._add_operand(text, value)
        self.pending = pending
        return value

    def call(self, function: Any, text: str = "") -> Any:
        """What to call instead: the same function, reporting too, where the depth asks for it."""
        if self.saved_state is None and type(function) is types.BuiltinFunctionType and self.expand is None:
            self.pending = ""
            return function
        if isinstance(function, _MODULE) and not self.pending:
            self.called = function, text  # it reports by itself, from `Module.__call__`, which does not know this text
            return function
        # `f(x)` alone was noted as a possible effect before f was known. Now it is: if its statements report, they tell
        # their effects themselves; if not, the call as a whole is one.
        pending, self.pending = self.pending, ""
        found = self._substitute(self.callbacks.original(function), text)
        if pending and not self.terse and not hasattr(getattr(found, "func", found), _REPORTS):
            found = self._call_alone(function, found, pending)
        elif self.saved_state is not None and not self.quiet and changes_its_owner(function):
            self.note_change(function.__self__, f"{text}(…)")
        if self.before_backward is not None and not self.muted and underlying(found) is torch.Tensor.backward:
            return self._call_backward(found)
        if self.muted or self.terse or self.depth < 2 or not _may_call_back(found):
            return self._make(found) if isinstance(found, type) else found
        return self._call_with_callbacks(found)

    def _make(self, kind: type) -> Any:
        """An object that is made in the run: changing it is no effect."""
        if self.saved_state is None or self.quiet or issubclass(kind, VALUES):
            return kind
        return lambda *args, **kwargs: self.note_new(kind(*args, **kwargs))

    def _call_backward(self, function: Any) -> Any:
        """`loss.backward()`: the graph is there now, and gone afterwards."""

        def run(*args: Any, **kwargs: Any) -> Any:
            assert self.before_backward is not None
            self.muted += 1
            try:
                self.before_backward(function.__self__, args[0] if args else kwargs.get("gradient"))
            finally:
                self.muted -= 1
            return function(*args, **kwargs)

        return run

    def _call_with_callbacks(self, function: Any) -> Any:
        """A library's function, or a class: the author's functions among its arguments report when they are called."""
        made = self._make(function) if isinstance(function, type) else function
        self.callbacks.open_all((function,))

        def run(*args: Any, **kwargs: Any) -> Any:
            self.callbacks.open_all(args)
            self.callbacks.open_all(kwargs.values())
            return made(*args, **kwargs)

        return run

    def _call_alone(self, function: Any, found: Any, pending: str) -> Any:
        """A call whose value nobody wants: what it changes may be put back, or is an effect."""
        owner = getattr(function, "__self__", None)
        own = isinstance(owner, torch.Tensor) and function.__name__ not in KEPT_BY_TENSORS
        if own or self._sets_up(function) or changes_nothing(function) or is_check(function):
            return found
        if self.saved_state is not None and isinstance(function, types.BuiltinMethodType) and isinstance(owner, CHANGEABLE):
            self.note_change(owner, pending)
        elif self.saved_state is not None and isinstance(owner, torch.nn.Module) and isinstance(function, types.MethodType):
            return self._watch(function, pending)
        else:
            self.effects.append(pending)
        return found

    def _sets_up(self, function: Any) -> bool:
        """`super().__init__()`, `ctx.save_for_backward(x)`: a library's method of an object that is made in this run."""
        if self.saved_state is None or not isinstance(function, types.MethodType) or not is_library(function.__code__):
            return False
        owner = function.__self__
        own = function.__name__ == "__init__" or isinstance(owner, FunctionCtx)
        return own and not self.saved_state.is_outside(owner)

    def _watch(self, function: Any, pending: str) -> Any:
        """A library's method of a module, such as `self.train()`: run as it is, and its effects are noted."""
        plain = underlying(function)
        found = rewrite(plain.__code__, _NOBODY) if isinstance(plain, types.FunctionType) else ""
        if not isinstance(found, Rewritten) or found.code.co_flags & PIECES:
            self.effects.append(pending)
            return function

        def run(*args: Any, **kwargs: Any) -> Any:
            self.push(self._frame(function, found))
            self.muted += 1  # no steps,
            self.watching += 1  # but its effects
            try:
                return _bind(function, found, self)(*args, **kwargs)
            finally:
                self.muted -= 1
                self.watching -= 1
                self.pop()

        return run

    def _substitute(self, function: Any, text: str) -> Any:
        if self.watching and isinstance(function, _FUNCTION) and not is_library(function.__code__):
            if id(function.__code__) in self.codes:
                return function
            alone = self.muted == self.watching and self._is_wanted(function.__code__)
            return self._trace_unmuted(function) if alone else self._watch_unopened(function, function)
        if self.muted or (self.expand is None and isinstance(function, _BUILTIN)):
            return function
        if isinstance(function, torch.nn.Module):
            self.called = function, text
            return function
        if (definition := written_out(function)) is not function and self.depth >= 2 and not self.terse:
            return with_inmost(definition, self.trace)
        if self.expand is not None and callable(function):
            expanded = self.expand(self, function)
            if expanded is not None:
                return expanded
        if isinstance(function, functools.partial):
            return functools.partial(self._substitute(function.func, text), *function.args, **function.keywords)
        if isinstance(getattr(function, "__func__", function), _CACHED):
            return self._open_cached(function)
        return self._open_function(function if isinstance(function, _FUNCTION) else call_of(function), function, text)

    def _open_function(self, method: Any, function: Any, text: str) -> Any:
        if not isinstance(method, _FUNCTION) or not hasattr(method, "__code__") or id(method.__code__) in self.codes:
            return function
        library = is_library(method.__code__)
        if library and hasattr(method, "__wrapped__") and not self.terse:
            return self._open_decorated(function)
        if self._is_wanted(method.__code__) or self.is_wanted_part(method):
            has_name = method is function and method.__name__ != LAMBDA
            return self.trace(method, name="" if has_name else text or call_name(method).removesuffix(".__call__"))
        return function if library or self.terse else self._watch_unopened(method, function)

    def _open_decorated(self, function: Any) -> Any:
        """The author's function behind a library's decorators, `@torch.no_grad()`: these do their work around it."""
        if self.depth < 2:
            return self._watch_decorated(function)
        if not self.callbacks.opens(function):
            return function

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self.callbacks.open_all(args)
            return function(*args, **kwargs)

        setattr(run, _REPORTS, True)
        return run

    def _watch_decorated(self, function: Any) -> Any:
        code = getattr(inmost(function), "__code__", None)
        if code is None or is_library(code):
            return function
        found = with_inmost(function, lambda plain: self._watch_unopened(plain, plain))
        setattr(underlying(found), _REPORTS, True)
        return found

    def _open_cached(self, function: Any) -> Any:
        """A function whose values are kept: which of its calls run, only Python knows."""
        if self.names or self.depth < 2 or self.terse or not self.callbacks.opens(function):
            return function

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            count = len(self.stack[-1].children)
            value = function(*args, **kwargs)
            if len(self.stack[-1].children) == count:
                step = Step("call", call_name(function), note=KEPT)
                self.keep(step, value)
                self.file(step)
            return value

        setattr(run, _REPORTS, True)
        return run

    def _watch_unopened(self, method: Any, function: Any) -> Any:
        """A function of the author's that lies deeper: run to see whether it changes something, as are those it calls."""
        note = f"{call_name(method)}, which is not opened at this depth"
        if self.saved_state is None:
            self.effects.append(note)
            return function
        watched = self._watch(method, note)
        if watched is not method:
            setattr(watched, _REPORTS, True)
        return watched

    def _is_wanted(self, code: types.CodeType) -> bool:
        return self.depth >= 2 and not self.terse and not is_library(code)

    def is_wanted_part(self, method: Any) -> bool:
        """A method of a library's module opens with it, `self.forward_features(x)`; so do the functions of its file,
        `rotate_half(q)`. Those of PyTorch's modules do not."""
        if self.depth < 3 or self.terse or str(method.__module__).startswith("torch."):
            return False
        beside = bool(self.globals) and getattr(underlying(method), "__globals__", None) is self.globals[-1]
        return beside or isinstance(getattr(method, "__self__", None), torch.nn.Module)

    def trace(self, function: Any, kind: str = "call", name: str = "", title: str = "") -> Any:
        """The function, rewritten to report here."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self.run(function, args, kwargs, kind, name or call_name(function), title)

        setattr(run, _REPORTS, True)
        return run

    def _trace_unmuted(self, function: Any) -> Any:
        """A function of the author's that a library calls which is only watched: `module.apply(initialise)`."""
        reporting = self.trace(function)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            muted, watching, self.muted, self.watching = self.muted, self.watching, 0, 0
            try:
                return reporting(*args, **kwargs)
            finally:
                self.muted, self.watching = muted, watching

        setattr(run, _REPORTS, True)
        return run

    def run(self, function: Any, args: Any, kwargs: Any, kind: str, name: str, title: str = "") -> Any:
        """Call a function as a step of its own, its statements inside."""
        found = self._rewrite(function, kind)
        if isinstance(found, Rewritten) and found.code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
            return self._in_pieces(function, found, args, kwargs, name)
        note = transformation_note()
        step = Step(kind, name, title, note="" if note and any(s.note == note for s in self.stack) else note)
        self.file(step)
        if not isinstance(found, Rewritten):
            return self._run_unseen(step, function, args, kwargs, found)
        depth, muted = len(self.stack), self.muted
        self.stack.append(step)
        if not self.names:
            step.children += self._inputs(function, args, kwargs)
            step.operands = {child.name: child.result for child in step.children}
        self.push(self._frame(function, found, name if kind == "module" else None))
        self.terse += kind == "expansion"
        closed, self.closed = self.closed, False
        try:
            value = _bind(function, found, self)(*args, **kwargs)
        except Exception:
            self.fail()
            raise
        finally:
            self.pop()
            self.closed = closed
            self.terse -= kind == "expansion"
            self.muted = muted  # an exception, or a generator given up, may have left steps and folded turns open
            del self.stack[depth:]
        if not self.names:
            self.keep(step, value)
        return value

    def _frame(self, function: Any, found: Rewritten, path: str | None = None) -> Frame:
        if self.saved_state is not None:
            self.saved_state.add(function)
        if found.outer:
            self.effects.append(f"{found.outer} in {call_name(function)}")
        if found.uncounted:
            self.snapshots.doubtful = True
        owner = getattr(function, "__self__", None)
        path = self.paths.get(id(owner)) if path is None and isinstance(owner, torch.nn.Module) else path
        return Frame(found.statements, underlying(function).__globals__, len(self.stack), path)

    def _in_pieces(self, function: Any, found: Rewritten, args: Any, kwargs: Any, name: str) -> Any:
        """A generator or coroutine whose pieces report when they run."""
        inner = _bind(function, found, self)(*args, **kwargs)
        inputs = [] if self.names else self._inputs(function, args, kwargs)
        coroutine = bool(found.code.co_flags & inspect.CO_COROUTINE)
        paused = PausedFunction(self, name, self._frame(function, found), inputs, coroutine)
        if coroutine:
            return paused.wait(inner)
        return paused.pieces(inner) if len(self.stack) > 1 else self._ask_values(paused, inner, found)

    def _ask_values(self, paused: PausedFunction, inner: Any, found: Rewritten) -> Any:
        """A generator that is shown itself: it is asked for its values, each a turn."""
        step = Step("call", paused.name)
        step.children, paused.flat = paused.inputs, True
        self.file(step)
        self.stack.append(step)
        where = Where(found.code.co_filename, found.code.co_firstlineno)
        asking = Statement("loop", "yield", f"next({paused.name})", None, where)
        try:
            values = [*itertools.islice(self.turns(asking, paused.pieces(inner)), MOST_VALUES)]
        finally:
            del self.stack[1:]
        inner.close()
        self.keep(step, values)
        step.note = f"a generator: it was stopped after {MOST_VALUES} values" if len(values) == MOST_VALUES else ""
        return values

    def _run_unseen(self, step: Step, function: Any, args: Any, kwargs: Any, reason: str) -> Any:
        """A function whose statements cannot be shown: the PyTorch operations it runs are."""
        if self.names or reason == TOO_DEEP:
            note_changes(self, step, function, reason)
            value = function(*args, **kwargs)
            step.note = f"not shown: {reason}"
        else:
            self.stack.append(step)
            try:
                value = run_with_operations(self, step, function, args, kwargs, reason)
            except Exception:
                self.fail()
                raise
            finally:
                self.stack.pop()
        self.keep(step, value)
        return value

    def _inputs(self, function: Any, args: Any, kwargs: Any) -> list[Step]:
        """The arguments by their names, as the first steps of the call."""
        code = underlying(function).__code__
        names = code.co_varnames[isinstance(function, types.MethodType) : code.co_argcount]
        given = [*zip(names, args, strict=False), *kwargs.items()]
        if code.co_flags & inspect.CO_VARARGS:
            given.append((code.co_varnames[code.co_argcount + code.co_kwonlyargcount], tuple(args[len(names) :])))
        plain = (torch.Tensor, np.ndarray, int, float)
        shown = [(name, value) for name, value in given if isinstance(value, plain) or _has_tensors(value)]
        steps = [Step("input", name) for name, _ in shown]
        for step, (_, value) in zip(steps, shown, strict=True):
            self.keep(step, value)
        return steps

    def _rewrite(self, function: Any, kind: str) -> Rewritten | str:
        if len(self.stack) > MOST_DEPTH:
            return TOO_DEEP
        plain = underlying(function)
        if not isinstance(plain, types.FunctionType):
            return "it is not written in Python"
        # F.cross_entropy shown by itself: its operations say more than its checks of arguments, unless these are asked for.
        if kind == "call" and len(self.stack) == 1 and self.depth < 3 and str(plain.__module__).startswith("torch."):
            return PYTORCH
        method = isinstance(function, types.MethodType) and not isinstance(function.__self__, type)
        owner = type(function.__self__) if method else None
        found = self.known_code.get((owner, plain))  # by its owner too: which attributes are properties depends on it
        if found is None:
            properties = frozenset[str]() if owner is None else computed_attributes(owner, plain.__code__)
            found = self.known_code[owner, plain] = rewrite(plain.__code__, self.names, properties)
        return found

    def modules(self) -> dict[str, torch.nn.Module]:
        """The modules that were called and their parts, by their paths."""
        parts = (part for module in self.known for part in module.modules())
        return {self.paths[id(part)]: part for part in parts if id(part) in self.paths}

    def parameter_names(self, optimizer: Any) -> dict[str, torch.Tensor]:
        """The optimizer's parameters by the names they have in the code."""
        known = {id(step.live): step.name for step in self.root.walk() if step.kind in ("input", "assign")}
        parameters: dict[str, torch.Tensor] = {}
        for module in self.known:
            path = self.paths.get(id(module), "")
            parameters.update({f"{path}.{name}" if path else name: p for name, p in module.named_parameters()})
        known.update({id(p): name for name, p in parameters.items()})
        mine = [p for group in optimizer.param_groups for p in group["params"]]
        return {known.get(id(p), f"parameter {i + 1}"): p for i, p in enumerate(mine)}


_MOST_ITEMS = 64
_HIGHER = (types.FunctionType, types.MethodType, type)
_HIGHER_BUILTINS = frozenset((sorted, max, min, functools.reduce))


def _may_call_back(function: Any) -> bool:
    """Whether a function that is not opened may call functions it is given: a library's, a class, `sorted`."""
    if isinstance(function, _HIGHER):
        plain = hasattr(function, _REPORTS) or getattr(function, "__module__", "") in _FORMULAS or is_check(function)
        return not plain
    if not isinstance(function, types.BuiltinFunctionType):
        return False
    return isinstance(function.__self__, type) or function in _HIGHER_BUILTINS


_FORMULAS = frozenset(("torch.nn.functional", "torch.functional", "math", "einops.einops"))
"""Modules whose functions call nothing of the author's."""


def _has_tensors(value: Any) -> bool:
    """Whether an argument is a list, tuple or dict of a few tensors."""
    if type(value) not in (list, tuple, dict) or not 0 < len(value) <= _MOST_ITEMS:
        return False
    return all(isinstance(item, torch.Tensor) for item in (value.values() if type(value) is dict else value))


_NOBODY = frozenset(("of no statement",))
"""The name of no statement: code that is rewritten for it tells its effects only."""
_REPORTS = "__reports__"
"""Marks a function whose statements report, and with them its effects."""
TOO_DEEP = f"more than {MOST_DEPTH} calls deep"


def _bind(function: Any, found: Rewritten, recorder: Recorder) -> Any:
    """The rewritten code as a function with the original's globals, defaults and closure; one for each capture."""
    plain = underlying(function)
    new = recorder.bound.get(plain)
    if new is None or new.__code__ is not found.code:
        new = recorder.bound[plain] = _with_code(plain, found.code, recorder)
        recorder.codes.add(id(found.code))
    return types.MethodType(new, function.__self__) if isinstance(function, types.MethodType) else new


def _with_code(plain: types.FunctionType, code: types.CodeType, recorder: Recorder) -> types.FunctionType:
    # The author's own cells, so that `nonlocal` writes where it always wrote; the recorder is one more free variable. As a
    # global it would be seen by every other function of the author's module.
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    cells[RECORDER] = types.CellType(recorder)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, closure)
    new.__kwdefaults__ = plain.__kwdefaults__
    return new
