"""Calls of the author's functions from code that runs as it is: which are opened, their names and arguments."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.own_code import is_own, is_readable
from workings.trace.capture.recorder import Recorder
from workings.trace.code.decorated import with_inmost
from workings.trace.code.functions import LAMBDA, UNRECORDED, call_name, is_library
from workings.trace.code.instrument import path
from workings.trace.code.look_up import MISSING
from workings.trace.code.source import has_source
from workings.trace.definitions.expand import compare
from workings.trace.follow.names import Names
from workings.trace.follow.source import by_identity, call_at, is_calling
from workings.trace.formula.from_python import is_path
from workings.trace.step import Step

_SEEN_THROUGH = frozenset("<listcomp> <setcomp> <dictcomp> <genexpr>".split())
_AWAITED = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@by_identity
def is_opened(code: types.CodeType) -> bool:
    """Whether this is a function of the author's: not of a library, not one that Python calls of its own accord."""
    function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_flags & _AWAITED and not is_comprehension(code)
    ours = is_own(code.co_filename) and not is_readable(code.co_filename)
    made = code.co_name.startswith("__") and not has_source(code)  # the __init__ of a dataclass
    return bool(function) and not ours and not made and not is_library(code) and code.co_name not in UNRECORDED


def is_comprehension(code: types.CodeType) -> bool:
    return code.co_name in _SEEN_THROUGH


def caller(frame: types.FrameType, followed: Container[types.FrameType]) -> types.FrameType | None:
    """The frame whose statement makes this call; a comprehension without turns belongs to the statement it stands in, what a
    library calls to the statement that called the library."""
    back, handed = _outermost(frame).f_back, is_opened(frame.f_code)
    while back is not None and back not in followed and (_is_seen_through(back) or (handed and _calls_back(back.f_code))):
        back = back.f_back
    return back


def _is_seen_through(frame: types.FrameType) -> bool:
    return is_comprehension(frame.f_code) or (is_fused(frame.f_code) and is_exact(frame))


@by_identity
def _calls_back(code: types.CodeType) -> bool:
    """Whether this is a library's code; what ours calls is no part of the block."""
    return is_library(code) and not is_own(code.co_filename)


def _outermost(frame: types.FrameType) -> types.FrameType:
    """The frame of the last of a library's decorators around a function of the author's, such as @torch.no_grad()."""
    if not is_opened(frame.f_code):
        return frame
    while (back := frame.f_back) is not None and _may_decorate(back.f_code) and _decorates(back, frame.f_code):
        frame = back
    return frame


@by_identity
def _may_decorate(code: types.CodeType) -> bool:
    return bool(code.co_freevars) and is_library(code) and not is_fused(code)


def _decorates(frame: types.FrameType, code: types.CodeType) -> bool:
    """Whether this frame belongs to a function that was made around one with this code."""
    closed_over = (frame.f_locals.get(name) for name in frame.f_code.co_freevars)
    return is_calling(frame) and any(getattr(value, "__code__", None) is code for value in closed_over)


def is_generator(code: types.CodeType) -> bool:
    """Whether the code runs in pieces, each when the next value is asked for."""
    return bool(code.co_flags & inspect.CO_GENERATOR)


# ---- its name and its arguments
def _called_function(frame: types.FrameType, call: ast.Call | None) -> Any:
    """The function object, found by the text of the call; None where that leads elsewhere."""
    if call is None or frame.f_back is None:
        return None
    names = Names(frame.f_back)
    if isinstance(call.func, ast.Attribute):
        function = _attribute(names.read(call.func.value), call.func.attr)
    else:
        function = names.read(call.func)
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    return function if getattr(plain, "__code__", None) is frame.f_code else None


def _attribute(owner: Any, name: str) -> Any:
    """A function by the name of an attribute, bound as Python binds it."""
    found = inspect.getattr_static(owner, name, MISSING)
    if isinstance(found, classmethod):
        return types.MethodType(found.__func__, owner if isinstance(owner, type) else type(owner))
    if isinstance(found, staticmethod):
        return found.__func__
    bound = (
        isinstance(found, types.FunctionType) and not isinstance(owner, type) and name not in getattr(owner, "__dict__", ())
    )
    return types.MethodType(found, owner) if bound else found


def _name_of(frame: types.FrameType, function: Any, call: ast.Call | None) -> str:
    """`attention`, `Encoder.mix` for a method, the name of an object that is called itself."""
    if frame.f_code.co_name == LAMBDA and call is not None and is_path(call.func):
        return ast.unparse(call.func)
    if function is not None:
        return call_name(function)
    code, names = frame.f_code, frame.f_locals
    owner = type(names[code.co_varnames[0]]) if code.co_argcount else None
    if owner is None or not _is_method(frame):
        return code.co_name.replace(LAMBDA, "lambda")
    if code.co_name == "__call__":
        return (ast.unparse(call.func) if call is not None and is_path(call.func) else "") or owner.__name__
    return f"{owner.__name__}.{code.co_name}"


def _is_method(frame: types.FrameType) -> bool:
    """Whether the code is that of a method of its first argument."""
    code, names = frame.f_code, frame.f_locals
    owner = type(names[code.co_varnames[0]]) if code.co_argcount else object
    return getattr(inspect.getattr_static(owner, code.co_name, None), "__code__", None) is code


def _arguments(frame: types.FrameType, function: Any, call: ast.Call | None) -> Iterator[tuple[str, Any]]:
    """The arguments that were given, by name; those left to their defaults are not among them."""
    code, names = frame.f_code, frame.f_locals
    method = isinstance(function, types.MethodType) or (function is None and _is_method(frame))
    positional = code.co_varnames[method : code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given: Any = (*positional, *keywords)
    if function is not None and call is not None and not _is_starred(call):
        given = (*positional[: len(call.args)], *[k.arg for k in call.keywords])
    for name in given:
        if isinstance(names.get(name), (torch.Tensor, np.ndarray, int, float)):
            yield name, names[name]


def _is_starred(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


@dataclass(frozen=True)
class CallInfo:
    """A call that is opened: its name, the arguments as steps, where it is written, its place among modules."""

    name: str
    inputs: list[Step]
    call: ast.Call | None
    path: str | None


def call_info(recorder: Recorder, frame: types.FrameType) -> CallInfo:
    """What is known of the call that this frame is."""
    outer = _outermost(frame)
    call = call_at(outer.f_back) if outer.f_back is not None and is_calling(outer.f_back) else None
    function = _called_function(outer, call)
    given = _arguments(frame, function, call)
    inputs = [Step("input", name, result=recorder.snapshot(value), live=value) for name, value in given]
    path = recorder.paths.get(id(getattr(function, "__self__", None)))
    return CallInfo(_name_of(frame, function, call), inputs, call, path)


def is_module_call(code: types.CodeType) -> bool:
    return code is torch.nn.Module._wrapped_call_impl.__code__


def record_module_call(recorder: Recorder, frame: types.FrameType) -> None:
    """The text by which a module is called gives it its name."""
    call = call_at(frame.f_back) if frame.f_back is not None and is_calling(frame.f_back) else None
    if call is not None:
        recorder.called = frame.f_locals["self"], path(call.func)


# ---- textbook functions with a kernel behind them
def is_fused(code: types.CodeType) -> bool:
    """Whether this is the function that chooses between a definition and its kernel (`workings.fused`)."""
    return "kernel" in code.co_freevars and "definition" in code.co_freevars and is_own(code.co_filename)


def is_exact(frame: types.FrameType) -> bool:
    """Whether a textbook function got exact tensors: then its definition runs, and is followed as it runs."""
    return any(isinstance(value, ExactTensor) for value in frame.f_locals["args"])


def write_out(recorder: Recorder, frame: types.FrameType, result: Any) -> None:
    """The kernel ran, as it would without us; its definition is recorded beside it, and compared."""
    names = frame.f_locals
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        written = with_inmost(names["definition"], recorder.trace)(*names["args"], **names["kwargs"])
    step = recorder.stack[-1].children[-1]
    step.live, step.result, step.note = result, recorder.snapshot(result), compare(result, written)
