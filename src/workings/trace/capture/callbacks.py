"""The author's functions where no rewritten code calls them: handed to a library, or methods that Python itself calls.

    map(f, xs)      torch.vmap(f)(x)      checkpoint(f, x)      p + q, len(p), Pair(x, y) of a class of the author's

While a capture is open, the code of such a function is exchanged for code that reports, whoever calls it and whenever; then
the function has its own code again.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Iterable
from threading import get_ident
from typing import Any, Protocol

import numpy as np
import torch
from torch.autograd.function import FunctionCtx

from workings.trace.capture.substitute import copy_function, substitute_code
from workings.trace.code.functions import UNRECORDED, call_name, is_library
from workings.trace.code.source import has_source
from workings.trace.step import CONTAINERS

_MOST_ITEMS = 64
_ATOMS = (torch.Tensor, torch.nn.Parameter, torch.Size, np.ndarray, int, float, bool, str, bytes, slice, type(None))


class _Recorder(Protocol):
    """What a callback reports to."""

    muted: int
    pending: str
    saved_state: Any
    codes: set[int]

    def is_wanted_part(self, method: Any) -> bool: ...

    def run(self, function: Any, args: Any, kwargs: Any, kind: str, name: str, title: str = "") -> Any: ...


class Callbacks:
    """The functions of one capture whose code is exchanged."""

    def __init__(self, recorder: _Recorder) -> None:
        self.recorder = recorder
        self.thread = get_ident()
        self.originals: dict[Any, Any] = {}
        """Each function whose code is exchanged, with a copy of it that has its own."""
        self.met: set[type] = {*_ATOMS}
        self.closing: contextlib.ExitStack | None = None

    def __enter__(self) -> None:
        self.closing = contextlib.ExitStack()

    def __exit__(self, *error: object) -> None:
        """Every function has its own code again."""
        assert self.closing is not None
        self.closing.close()
        self.closing = None
        self.originals.clear()
        del self.recorder  # which leads back here, and would wait for the garbage collector

    def original(self, function: Any) -> Any:
        """The same function with its own code."""
        if isinstance(function, types.MethodType):
            plain = self.originals.get(function.__func__)
            return function if plain is None else types.MethodType(plain, function.__self__)
        return self.originals.get(function, function) if isinstance(function, types.FunctionType) else function

    def open_all(self, values: Iterable[Any]) -> None:
        """Functions among these values, also inside lists and partial functions, report from now on when they are called."""
        for value in values:
            if type(value) not in self.met:
                self._open(value)

    def opens(self, function: Any) -> bool:
        """Whether there is a function of the author's behind a library's decorators; if so, it reports from now on."""
        is_method = isinstance(function, types.MethodType)
        plain = _inmost_function(function.__func__ if is_method else function)
        self._exchange(plain, is_method)
        return plain in self.originals

    def _open(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            self._exchange(_inmost_function(value))
        elif isinstance(value, types.MethodType):
            self._exchange(_inmost_function(value.__func__), is_method=True)
            owner = value.__self__
            self.meet(owner if isinstance(owner, type) else type(owner))
        elif isinstance(value, functools.partial):
            self.open_all((value.func, *value.args, *value.keywords.values()))
        elif type(value) in CONTAINERS:
            if len(value) <= _MOST_ITEMS:
                self.open_all(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, type):
            self.meet(value)
            for function in _makers(value):
                self._exchange(function, is_method=True)
        else:
            self.meet(type(value))

    def meet(self, kind: type) -> None:
        """A class: the methods that the author wrote for it report, also where Python calls them for a sign or a `with`."""
        if kind not in self.met:
            self.met.add(kind)
            for function, is_method in _methods(kind):
                self._exchange(function, is_method)

    def _is_wanted_part(self, function: Any) -> bool:
        return isinstance(function, types.FunctionType) and self.recorder.is_wanted_part(function)

    def _exchange(self, function: Any, is_method: bool = False) -> None:
        if self.closing is None or function in self.originals:
            return
        if not _is_authors(function) and not (self._is_wanted_part(function) and has_source(function.__code__)):
            return
        if self.recorder.saved_state is not None:
            self.recorder.saved_state.add(function)  # while its own code tells which names it reads
        original = self.originals[function] = copy_function(function)

        def report(*args: Any, **kwargs: Any) -> Any:
            recorder = self.recorder
            if recorder.muted or get_ident() != self.thread:
                return original(*args, **kwargs)
            pending, bound = recorder.pending, types.MethodType(original, args[0]) if is_method and args else original
            new = (is_method and function.__name__ == "__init__") or isinstance(next(iter(args), None), FunctionCtx)
            if new and recorder.saved_state is not None:
                recorder.saved_state.note_new(args[0])
            try:
                return recorder.run(bound, args[bound is not original :], kwargs, "call", call_name(bound))
            finally:
                recorder.pending = pending

        self.closing.enter_context(substitute_code(function, report))
        self.recorder.codes.add(id(function.__code__))


def _inmost_function(function: Any) -> Any:
    """The author's function that decorators of libraries stand around."""
    while not _is_authors(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _is_authors(function: Any) -> bool:
    """Whether it is not a library's, and can be shown."""
    own = isinstance(function, types.FunctionType) and not is_library(function.__code__)
    return own and has_source(function.__code__)  # in this order: a library's files need not be read


_METHODS: weakref.WeakKeyDictionary[type, list[tuple[Any, bool]]] = weakref.WeakKeyDictionary()


def _methods(kind: type) -> list[tuple[Any, bool]]:
    """The functions that the author wrote for a class and those before it, and whether each gets its owner.

    The forward of a module is not among them, since calls of modules report themselves, nor what only runs where an object
    is made.
    """
    if kind not in _METHODS:
        names = {*_MAKERS, *UNRECORDED, *(["forward"] if issubclass(kind, torch.nn.Module) else [])}
        every = [(name, value) for cls in kind.__mro__ for name, value in vars(cls).items() if name not in names]
        found = [(_inmost_function(plain), bound) for _, value in every for plain, bound in _functions_of(value)]
        _METHODS[kind] = [(plain, bound) for plain, bound in found if _is_authors(plain)]
    return _METHODS[kind]


_MAKERS = ("__init__", "__post_init__")


def _makers(kind: type) -> list[Any]:
    """What runs when an object of the class is made."""
    return [_inmost_function(vars(cls)[name]) for cls in kind.__mro__ for name in _MAKERS if name in vars(cls)]


def _functions_of(member: Any) -> list[tuple[Any, bool]]:
    """The functions behind a member of a class."""
    if isinstance(member, property):
        return [(f, True) for f in (member.fget, member.fset) if f is not None]
    if isinstance(member, staticmethod):
        return [(member.__func__, False)]
    if isinstance(member, classmethod):
        return [(member.__func__, True)]
    if isinstance(member, functools.cached_property):
        return [(member.func, True)]
    return [(member, True)] if isinstance(member, types.FunctionType) else []
