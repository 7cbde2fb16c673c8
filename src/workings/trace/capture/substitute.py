"""Another function in a function's place for a while, wherever that is held: as a method, in a list, in a closure.

Assigning to a class makes Python forget what it knows of the class and of all its subclasses: each look at an attribute of a
module is slow until it has learned again. Exchanging the code of the function costs nothing but the exchange.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
import warnings
from collections.abc import Callable, Iterator, Set
from typing import Any


def copy_function(function: Any) -> Any:
    """Another function with the same code, which keeps it while the first has other code."""
    code, names = function.__code__, function.__kwdefaults__
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    new.__kwdefaults__ = None if names is None else dict(names)
    return new


@contextlib.contextmanager
def substitute_method(method: Any, original: Any, other: Callable[..., Any], passed: Set[type]) -> Iterator[None]:
    """While this is open, a call of the method is a call of the other, but for objects of the classes in `passed`.

    >>> class Lamp:
    ...     def light(self, colour="white"):
    ...         return colour
    >>> with substitute_method(Lamp.light, copy_function(Lamp.light), lambda self, *colours: "red", set()):
    ...     Lamp().light("green")
    'red'
    >>> Lamp().light("green")
    'green'
    """
    code, names = method.__code__, method.__kwdefaults__
    # Code is exchanged only for code with as many free variables, so what it needs comes as defaults of its keywords, not in
    # a closure. They are there before the code and go after it: another thread may call the method at any moment.
    method.__kwdefaults__ = {"_original": original, "_other": other, "_passed": passed}
    method.__code__ = _substitute.__code__
    try:
        yield
    finally:
        method.__code__ = code
        method.__kwdefaults__ = names


def is_replaced(method: Any) -> bool:
    """Whether another function stands in the method's place now."""
    return bool(method.__code__ is _substitute.__code__)


def _substitute(self: Any, *args: Any, _original: Any, _other: Any, _passed: Set[type], **kwargs: Any) -> Any:
    return (_original if type(self) in _passed else _other)(self, *args, **kwargs)


@contextlib.contextmanager
def substitute_code(function: types.FunctionType, other: Callable[..., Any]) -> Iterator[None]:
    """While this is open, a call of the function, by whoever holds it, is a call of the other. Its signature stays.

    >>> def double(x, by=2):
    ...     return by * x
    >>> held = [double]
    >>> with substitute_code(double, lambda x, by=0: x + by):
    ...     held[0](5), held[0](5, by=1)
    (5, 6)
    >>> held[0](5)
    10
    """
    code = function.__code__
    passing, usual, named = _passing_code(code), function.__defaults__ or (), function.__kwdefaults__ or {}

    def call(args: tuple[Any, ...], extra: tuple[Any, ...], kwargs: dict[str, Any], more: dict[str, Any]) -> Any:
        count = len(args)
        while not extra and (i := count - 1 - len(args) + len(usual)) >= 0 and args[count - 1] is usual[i]:
            count -= 1
        given = {name: value for name, value in kwargs.items() if name not in named or value is not named[name]}
        return other(*args[:count], *extra, **given, **more)

    # The call is a constant of the code: nothing that leads to it is seen on the function, and its defaults, keywords and
    # closure stay as they are.
    constants = tuple(call if value == _CALL else value for value in passing.co_consts)
    _exchange(function, passing.replace(co_consts=constants))
    try:
        yield
    finally:
        _exchange(function, code)


def _exchange(function: types.FunctionType, code: types.CodeType) -> None:
    """Give a function other code. From Python 3.13 on a generator's in the place of a plain function's is warned of: here
    the plain one calls the generator function and hands on what it makes, so callers notice nothing."""
    if (function.__code__.co_flags ^ code.co_flags) & _KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            function.__code__ = code
    else:
        function.__code__ = code


_KINDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_CALL = "call the other function"


_PASSING: dict[int, tuple[types.CodeType, types.CodeType]] = {}
"""By the identity of the code that each was made for, which it keeps alive: to hash one goes through all its constants."""


def _passing_code(code: types.CodeType) -> types.CodeType:
    if id(code) not in _PASSING:
        _PASSING[id(code)] = code, _new_passing_code(code)
    return _PASSING[id(code)][1]


def _new_passing_code(code: types.CodeType) -> types.CodeType:
    """Code with the same parameters and as many free variables that hands its arguments on: the positional ones, those of
    `*args`, the named ones, those of `**kwargs`."""
    names = iter(code.co_varnames)
    positional = [next(names) for _ in range(code.co_argcount)]
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    extra = next(names) if code.co_flags & inspect.CO_VARARGS else None
    more = next(names) if code.co_flags & inspect.CO_VARKEYWORDS else None
    parameters = ast.arguments(
        posonlyargs=[ast.arg(name) for name in positional[: code.co_posonlyargcount]],
        args=[ast.arg(name) for name in positional[code.co_posonlyargcount :]],
        vararg=ast.arg(extra) if extra else None,
        kwonlyargs=[ast.arg(name) for name in keywords],
        kw_defaults=[None for _ in keywords],
        kwarg=ast.arg(more) if more else None,
        defaults=[],
    )
    read = [
        ast.Tuple([_read(name) for name in positional], ast.Load()),
        _read(extra) if extra else ast.Tuple([], ast.Load()),
    ]
    read += [ast.Dict([*map(ast.Constant, keywords)], [*map(_read, keywords)]), _read(more) if more else ast.Dict([], [])]
    call: ast.expr = ast.Call(ast.Name(_LOCAL, ast.Load()), read, [])
    body: list[ast.stmt] = [ast.Assign([ast.Name(_LOCAL, ast.Store())], ast.Constant(_CALL)), ast.Return(call)]
    free = [f"_free_{i}" for i in range(len(code.co_freevars))]
    body += [ast.Expr(_read(name)) for name in free]  # never reached; it makes them free
    passing = ast.FunctionDef("passing", parameters, body, [], None, type_params=[])  # type: ignore[call-arg]
    around: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in free]
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = ast.FunctionDef("outer", nothing, [*around, passing], [], None, type_params=[])  # type: ignore[call-arg]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    found = _inside(_inside(compile(module, code.co_filename, "exec", dont_inherit=True)))
    return found.replace(co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno)


_LOCAL = "_workings_call"


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _inside(code: types.CodeType) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType))
