"""Packages whose names load when they are first used, and packages that can be called."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

CALLS: dict[str, tuple[str, str]] = {}
"""What a call of a package is a call of: the module and the name in it. The front door says so, which knows every floor."""


class CallablePackage(ModuleType):
    """A package that can be called: `workings.trace()`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, name = CALLS[self.__name__]
        return getattr(import_module(module), name)(*args, **kwargs)


def lazy(package: str, names: dict[str, str]) -> list[str]:
    """Let a package offer names of its files: `names` maps each file to the names in it. Returns the names, sorted.

    A file may be called like a function in it (`nn/attention.py` has `attention`). Importing a file binds its name in the
    package; the function keeps it here, and the file is still reached by `from workings.nn.attention import …`.
    """
    where = {name: file for file, listed in names.items() for name in listed.split()}

    class Package(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name not in where:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(import_module(f"{package}.{where[name]}"), name)
            super().__setattr__(name, value)
            return value

        def __setattr__(self, name: str, value: Any) -> None:
            if not (name in where and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *where})

    sys.modules[package].__class__ = Package
    return sorted(where)
