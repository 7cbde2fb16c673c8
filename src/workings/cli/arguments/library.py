"""What `workings show NAME` finds: the functions and modules of `workings.nn`, `workings.models` and `workings.course`,
and the written-out definitions of PyTorch's own operations in `workings.equations`. Where a name is in several, the first of
these has it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from workings.errors import WorkingsError, did_you_mean

SOURCES = ("workings.nn", "workings.models", "workings.course", "workings.equations")


def find(name: str) -> Any:
    """The function or module class of this name; an unknown one suggests the nearest.

    >>> find("softmax").__name__
    'softmax'
    """
    for source in SOURCES:
        module = import_module(source)
        if name in module.__all__ and _is_shown(found := getattr(module, name)):
            return found
    if Path(name).is_dir():
        raise WorkingsError(f"{name} is not a training run: name a folder that `workings train` wrote.")
    hint = did_you_mean(name, sorted(everything()), "workings show --list prints them.", most=3)
    raise WorkingsError(f"No library function is called {name!r}.{hint} Your own: FILE.py:NAME.")


def everything() -> dict[str, Any]:
    """Every function and module class that can be shown, by its name."""
    return {name: value for source in reversed(SOURCES) for name, value in _members(source)}


def _members(source: str) -> Iterator[tuple[str, Any]]:
    module = import_module(source)
    for name in module.__all__:
        if _is_shown(value := getattr(module, name)):
            yield name, value


def _is_shown(value: Any) -> bool:
    """Functions and classes of modules; not the constants and types that stand beside them."""
    from torch import nn

    return inspect.isroutine(value) or (inspect.isclass(value) and issubclass(value, nn.Module))


def listing() -> str:
    """The names, each with the first sentence of its docstring."""
    found = {name: summary(value) for name, value in sorted(everything().items())}
    column = max(map(len, found), default=0)
    return "\n".join(f"{name:{column}}  {said}".rstrip() for name, said in found.items())


def summary(value: Any) -> str:
    """The first line of its docstring that is not a formula.

    >>> summary(find)
    'The function or module class of this name; an unknown one suggests the nearest.'
    """
    words = (inspect.getdoc(value) or "").partition(">>>")[0]
    return next((line for line in words.split("\n") if line and not line.startswith("$$")), "")
