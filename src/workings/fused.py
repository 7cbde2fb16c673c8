"""A textbook function with a fast kernel behind it.

The function states the equations, one a line; that is what a reader, the tracer and exact tensors get. Outside
`show`, a call runs the kernel instead. A test holds the two equal, and so does every capture: it compares what it showed
with the unmodified run, which used the kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from workings.written_out import follows_equations

P = ParamSpec("P")
R = TypeVar("R")


def fused(kernel: Callable[P, R], check: Callable[P, None] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let `kernel` compute the decorated function for ordinary tensors.

    `check` refuses arguments before the equations are followed; a kernel makes its own checks.

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
            definition = after(check, definition)

        @functools.wraps(definition)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if follows_equations(args) or (kwargs and follows_equations(kwargs.values())):
                return definition(*args, **kwargs)  # exact tensors follow the written-out equations
            return kernel(*args, **kwargs)

        call.__definition__ = definition  # type: ignore[attr-defined]
        return call

    return with_kernel


def after(check: Callable[P, None], equation: Callable[P, R]) -> Callable[P, R]:
    """The equation, for arguments that the check lets pass; without it, the equation is PyTorch's operation too."""

    @functools.wraps(equation)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check(*args, **kwargs)
        return equation(*args, **kwargs)

    return checked
