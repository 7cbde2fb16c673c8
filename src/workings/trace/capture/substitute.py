"""Another function in a function's place for a while, wherever that is held: as a method, in a list, in a closure.

Assigning to a class makes Python forget what it knows of the class and of all its subclasses: each look at an attribute of a
module is slow until it has learned again. Exchanging the code of the function costs nothing but the exchange.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import types
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
    """While this is open, a call of the function, by whoever holds it, is a call of the other.

    >>> def double(x):
    ...     return 2 * x
    >>> held = [double]
    >>> with substitute_code(double, lambda x: x + 1):
    ...     held[0](5)
    6
    >>> held[0](5)
    10
    """
    code = function.__code__
    passing = _passing_code(len(code.co_freevars))
    # The other function is a constant of the code: nothing that leads to it is seen on the function, and its defaults,
    # keywords and closure stay as they are.
    constants = tuple(other if value == _OTHER else value for value in passing.co_consts)
    function.__code__ = passing.replace(
        co_consts=constants, co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=code.co_firstlineno
    )
    try:
        yield
    finally:
        function.__code__ = code


_OTHER = "the other function"
_PASSING = f"""
def outer():
    def passing(*args, **kwargs):
        other = {_OTHER!r}
        return other(*args, **kwargs)
"""


@functools.cache
def _passing_code(count: int) -> types.CodeType:
    """Code that hands its arguments on, with this many free variables: those of the function it is exchanged with."""
    module = ast.parse(_PASSING)
    (outer,) = [n for n in module.body if isinstance(n, ast.FunctionDef)]
    (passing,) = [n for n in outer.body if isinstance(n, ast.FunctionDef)]
    names = [f"_{i}" for i in range(count)]
    outer.body[:0] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names]
    passing.body += [ast.Expr(ast.Name(name, ast.Load())) for name in names]  # never reached; it makes them free
    compiled = compile(ast.fix_missing_locations(module), __file__, "exec", dont_inherit=True)
    (around,) = [c for c in compiled.co_consts if isinstance(c, types.CodeType)]
    return next(c for c in around.co_consts if isinstance(c, types.CodeType))
