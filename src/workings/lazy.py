"""Packages whose names load when they are first used. The stub beside `__init__.py` is the table of the names, which type
checkers read too: one line for each, `from workings.nn.temperature import softmax as softmax`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that offers the names in its stub.

    >>> softmax = lazy("workings.nn")[0]("softmax")
    >>> softmax.__module__
    'workings.nn.temperature'
    """
    module = sys.modules[package]
    stub = Path(module.__path__[0], "__init__.pyi").read_text(encoding="utf-8")
    files = {name: file for file, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}

    def load(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(files[name]), name)
        setattr(module, name, value)  # the next use does not come here
        return value

    return load, lambda: sorted(files), sorted(files)
