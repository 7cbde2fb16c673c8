"""The author's function behind a library's decorators: they do their work around it, and its statements are shown.

@torch.no_grad()
def forward(self, x): …      `forward` is PyTorch's function, which calls this one
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from workings.trace.code.functions import is_library, without_type_checks


def inmost(function: Any) -> Any:
    """The function that the decorators of libraries stand around.

    >>> import torch
    >>> inmost(torch.no_grad()(inmost)) is inmost
    True
    """
    function = without_type_checks(function)
    return inmost(function.__wrapped__) if _place(function) is not None else function


def with_inmost(function: Any, replaced: Callable[[Any], Any]) -> Any:
    """The same decorators around another function: what `replaced` makes of the inmost.

    >>> import torch
    >>> f = torch.no_grad()(lambda x: 2 * x)
    >>> with_inmost(f, lambda g: lambda x: (g(x), torch.is_grad_enabled()))(4)
    (8, False)
    """
    function = without_type_checks(function)
    place = _place(function)
    if place is None:
        return replaced(function)
    if isinstance(function, types.MethodType):
        owner, plain = function.__self__, _plain(function)
        inner = with_inmost(_bind(plain.__wrapped__, owner), replaced)
        return types.MethodType(_around(plain, place, lambda _, *a, **k: inner(*a, **k)), owner)
    return _around(function, place, with_inmost(function.__wrapped__, replaced))


def _place(function: Any) -> int | None:
    """Where, among the values a library's function closes over, the one stands that it decorates."""
    plain = _plain(function)
    if not isinstance(plain, types.FunctionType) or not hasattr(plain, "__wrapped__") or not is_library(plain.__code__):
        return None
    return next((i for i, cell in enumerate(plain.__closure__ or ()) if _is_in(plain.__wrapped__, cell)), None)


def _plain(function: Any) -> Any:
    return function.__func__ if isinstance(function, types.MethodType) else function


def _is_in(value: Any, cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # nothing in it yet
        return False


def _bind(function: Any, owner: Any) -> Any:
    return types.MethodType(function, owner) if isinstance(function, types.FunctionType) else function


def _around(decorator: types.FunctionType, place: int, inner: Any) -> types.FunctionType:
    """A copy of a decorator's function that calls `inner`."""
    cells = list(decorator.__closure__ or ())
    if isinstance(inner, types.FunctionType):
        functools.update_wrapper(inner, cells[place].cell_contents)  # decorators may ask for its name and signature
    cells[place] = types.CellType(inner)
    copy = types.FunctionType(
        decorator.__code__, decorator.__globals__, decorator.__name__, decorator.__defaults__, tuple(cells)
    )
    copy.__kwdefaults__ = decorator.__kwdefaults__
    copy.__dict__.update(decorator.__dict__)
    return copy
