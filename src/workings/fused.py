"""A textbook function with a fast kernel behind it.

The function states the equations, one a line; that is what a reader, the tracer and exact tensors get. Outside
`show`, a call runs the kernel instead. A test holds the two equal, and so does every capture: it compares what it showed
with the unmodified run, which used the kernel.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from workings.written_out import follows_equations

P = ParamSpec("P")
R = TypeVar("R")


def fused(kernel: Callable[..., R], check: Callable[..., None] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let `kernel` compute the decorated function for ordinary tensors.

    `check` refuses arguments before either of the two runs.

    >>> def product(x, y):
    ...     return x.addcmul(x, y, value=0).mul(y)
    >>> @fused(product)
    ... def times(x, y):
    ...     return x * y
    >>> import torch
    >>> times(torch.tensor(3.0), torch.tensor(4.0))
    tensor(12.)
    """

    def with_kernel(definition: Callable[P, R]) -> Callable[P, R]:
        if check is not None:
            definition = _after(check, definition)

        @functools.wraps(definition)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if follows_equations(args) or (kwargs and follows_equations(kwargs.values())):
                return definition(*args, **kwargs)  # exact tensors follow the written-out equations
            if check is not None:
                check(*args, **kwargs)
            return kernel(*args, **kwargs)

        call.__definition__ = definition  # type: ignore[attr-defined]
        return call

    return with_kernel


def _after(check: Callable[..., None], equation: Callable[P, R]) -> Callable[P, R]:
    """The equation, for arguments that the check lets pass; without it, the equation is PyTorch's operation too."""

    checks = (check,)  # in a tuple, so that a tracer takes this for a decorator of the equation, not of the check

    @functools.wraps(equation)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        checks[0](*args, **kwargs)
        return equation(*args, **kwargs)

    return checked


def with_check(check: Callable[..., None], equation: Callable[P, R]) -> Callable[P, R]:
    """The equation, for arguments that the check lets pass; `show` shows the equation alone."""
    return fused(equation, check)(equation)


def special_case_of(
    equation: Callable[..., R], result: Callable[..., R] | None = None
) -> Callable[[Callable[P, dict[str, Any]]], Callable[P, R]]:
    """A function that is an equation at certain arguments: the decorated function says at which.

    `show` looks through it, as through any decorator, and shows the statements of the equation. `result` gives what the
    equation came to another form; it gets that and the arguments.

    >>> def power(x, n):
    ...     y = x**n
    ...     return y
    >>> @special_case_of(power)
    ... def cube(x):
    ...     return {"x": x, "n": 3}
    >>> cube(2)
    8
    """

    usual = {name: parameter.default for name, parameter in inspect.signature(equation).parameters.items()}

    def with_arguments(arguments: Callable[P, dict[str, Any]]) -> Callable[P, R]:
        def around() -> Callable[P, R]:
            @functools.wraps(arguments)
            def call(*args: P.args, **kwargs: P.kwargs) -> R:
                given = arguments(*args, **kwargs)
                value = equation(**{name: x for name, x in given.items() if not _is_same(x, usual[name])})
                return value if result is None else result(value, *args, **kwargs)

            call.__signature__ = inspect.signature(arguments)  # type: ignore[attr-defined]
            call.__arguments__ = arguments  # type: ignore[attr-defined]  # whose annotations are to be read
            call.__wrapped__ = equation  # type: ignore[assignment]
            return call

        function: Any = around()
        function.__definition__ = around()  # by this mark `show` knows that it is to begin with the equation
        return function

    return with_arguments


def _is_same(x: Any, usual: Any) -> bool:
    """Whether an argument is the default: such an argument is not shown among those that were given."""
    return x is usual or (isinstance(x, bool | int | float | str) and type(x) is type(usual) and x == usual)
