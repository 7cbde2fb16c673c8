"""Another function in a method's place for a while, without a change to its class.

Assigning to a class makes Python forget what it knows of the class and of all its subclasses: each look at an attribute of a
module is slow until it has learned again. Exchanging the code of the function costs nothing but the exchange.
"""

from __future__ import annotations

import contextlib
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
