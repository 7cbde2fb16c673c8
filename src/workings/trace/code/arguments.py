"""What is really called, and with which arguments."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import torch

from workings.errors import WorkingsError

_CACHED = type(functools.cache(len))


def unwrap(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The function of a partial, the code behind a compiled one, the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    if isinstance(function, torch.nn.Module) and "_orig_mod" in function._modules:  # torch.compile's module around a module
        function = function._modules["_orig_mod"]
    function = getattr(function, "__dict__", {}).get("_torchdynamo_orig_callable") or function  # a module's getattr is slow
    if isinstance(function, _CACHED):  # what it keeps is not needed: the function itself is shown
        function = function.__wrapped__
    if isinstance(function, (types.FunctionType, types.MethodType, torch.nn.Module, type)):
        return function, args, kwargs
    own = vars(type(function)).get("__call__")
    return (types.MethodType(own, function) if isinstance(own, types.FunctionType) else function), args, kwargs


def call_arguments(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """What a call gives to each parameter, in their order, the defaults of the others too.

    >>> list(call_arguments(torch.nn.functional.softmax, ("x",), {"dim": 1}).items())[:2]
    [('input', 'x'), ('dim', 1)]
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def check_unambiguous(function: Any, args: Any, kwargs: Any, **options: Any) -> None:
    """Refuse an option of ours that may be meant for the function: it has a parameter of that name, with no value yet.

    >>> def grow(x, depth=1):
    ...     return x * depth
    >>> check_unambiguous(grow, (2, 3), {}, depth=4)
    >>> check_unambiguous(functools.partial(grow, depth=3), (2,), {}, depth=4)
    >>> check_unambiguous(grow, (2,), {}, depth=4)
    Traceback (most recent call last):
    workings.errors.WorkingsError: depth=4 is ambiguous: grow has a parameter of that name, and so does `show`. \
Give grow its own first: functools.partial(grow, depth=…).
    """
    function, args, kwargs = unwrap(function, args, kwargs)
    called = function.forward if isinstance(function, torch.nn.Module) else function
    if not options.keys() & _argument_names(called):
        return
    try:
        signature = inspect.signature(called)
        bound = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # no signature, or arguments that do not fit, which the call itself says better
        return
    for name, value in options.items():
        if name in signature.parameters and name not in bound:
            own = getattr(function, "__name__", type(function).__name__)
            raise WorkingsError(
                f"{name}={value!r} is ambiguous: {own} has a parameter of that name, and so does `show`. "
                f"Give {own} its own first: functools.partial({own}, {name}=…)."
            )


def _argument_names(function: Any) -> set[str]:
    code = getattr(function, "__code__", None)
    return set() if code is None else {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
