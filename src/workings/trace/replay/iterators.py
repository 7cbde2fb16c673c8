"""Iterators that a run may use up: what they gave cannot be had again, so such code is not run twice."""

from __future__ import annotations

import inspect
import io
import itertools
import operator
import types
from typing import Any


def cannot_be_put_back(value: Any) -> bool:
    """Whether this is an iterator whose place is not among its attributes: not one of a class that is written in Python.

    >>> [cannot_be_put_back(value) for value in (iter([1]), (n for n in [1]), [1])]
    [True, True, False]
    """
    return isinstance(getattr(type(value), "__next__", None), types.WrapperDescriptorType)


def place(iterator: Any) -> Any:
    """How far an iterator has come; something new each time where that is not known.

    >>> letters = iter("abc")
    >>> before = place(letters)
    >>> before == place(letters), (next(letters), before == place(letters))
    (True, ('a', False))
    """
    if isinstance(iterator, types.GeneratorType):
        state = inspect.getgeneratorstate(iterator)
        return state if state in (inspect.GEN_CREATED, inspect.GEN_CLOSED) else object()
    if isinstance(iterator, io.IOBase):
        return _place_in_file(iterator)
    if isinstance(iterator, itertools.count):
        return repr(iterator)
    return operator.length_hint(iterator, -1) if hasattr(iterator, "__length_hint__") else object()


def _place_in_file(file: io.IOBase) -> Any:
    """In a file that is read; one that is written to is used by calls, which are effects."""
    try:
        return file.tell() if file.readable() and not file.writable() and file.seekable() else None
    except (OSError, ValueError):  # in the middle of a line, or closed
        return object()
