"""What stands behind a function: whose code it is, the plain function, the name it is called by; and what it gives."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import sysconfig
import types
from pathlib import Path
from typing import Any

from workings.errors import WorkingsError
from workings.own_code import FOLDER, is_readable

_LIBRARY = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of packages that are installed elsewhere: for one user, for the whole system, in a place of their own."""


UNRECORDED = frozenset(
    """
    __repr__ __str__ __format__ __hash__ __eq__ __bool__ __del__ __getattr__ __getattribute__ __setattr__ __delattr__ __dir__
    __reduce__ __reduce_ex__ __getstate__ __setstate__ __copy__ __deepcopy__ __instancecheck__ __subclasscheck__ __new__
    __init_subclass__ __set_name__ __torch_function__ __torch_dispatch__ __array__
    """.split()
)
"""Methods by which anybody looks at an object, this library too: that they ran says nothing about the computation."""


def is_library(code: types.CodeType) -> bool:
    """Whether the code is installed or part of Python, not the author's."""
    return in_library(code.co_filename)


@functools.cache
def in_library(file: str) -> bool:
    """Whether a file is installed or part of Python, and not one of ours that is written to be read."""
    installed = file.startswith((*_LIBRARY, FOLDER, "<frozen")) or any(part in _INSTALLED for part in Path(file).parts)
    return installed and not is_readable(file)


def written_out(function: Any) -> Any:
    """The textbook function behind one that runs a fused kernel outside `show`; any other function itself."""
    return without_type_checks(getattr(function, "__definition__", function))


def without_type_checks(function: Any) -> Any:
    """The function behind jaxtyping's check of its argument types, which is there while tests run."""
    owner = getattr(function, "__self__", None)
    while (code := getattr(function, "__code__", None)) is not None and "/jaxtyping/" in code.co_filename:
        plain = function.__wrapped__
        function = plain if owner is None else types.MethodType(plain, owner)
    return function


LAMBDA = "<lambda>"
"""What Python calls a function without a name."""


def call_name(function: Any) -> str:
    """`attention`, or `Encoder.mix` for a method; a function without a name is `lambda`."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if owner is None or isinstance(owner, types.ModuleType):
        in_class = str(getattr(function, "__qualname__", name)).rpartition("<locals>.")[2]
        return (in_class if in_class.endswith(f".{name}") else str(name)).replace(LAMBDA, "lambda")
    return f"{(owner if isinstance(owner, type) else type(owner)).__name__}.{name}"


def call_of(function: Any) -> Any:
    """The method that runs when an object of the author's is called."""
    found = (vars(cls)["__call__"] for cls in type(function).__mro__ if "__call__" in vars(cls))
    own = None if isinstance(function, type) else next(found, None)
    return types.MethodType(own, function) if isinstance(own, types.FunctionType) else None


def underlying(function: Any) -> Any:
    """The plain function behind a method."""
    return without_type_checks(function.__func__ if isinstance(function, types.MethodType) else function)


MOST_VALUES = 50
"""Values that are asked of a generator which was shown itself."""


def run_to_end(value: Any) -> Any:
    """The values of a generator (the first 50), what a coroutine returns; anything else as it is.

    >>> run_to_end(n * n for n in range(3))
    [0, 1, 4]
    """
    if inspect.isgenerator(value):
        found = [*itertools.islice(value, MOST_VALUES)]
        value.close()
        return found
    if not inspect.iscoroutine(value):
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(value)
    value.close()
    raise WorkingsError(
        "A coroutine is shown by running it to its end, and an event loop is already running here, as in a notebook: "
        "show it in a thread of its own, await asyncio.to_thread(workings.show, f, …)."
    )
