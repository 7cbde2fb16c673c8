"""Which code is this library's own, and which of that is written to be read.

Layers, models and equations open like the author's own functions when work is shown, wherever they are installed. The
packages that hold them say so themselves, so that no floor has to know the files of a floor above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parent)
_READABLE: set[str] = set()


def mark_readable(folders: Iterable[str]) -> None:
    """Called by a package with its `__path__`: the functions in its files are opened when their work is shown."""
    _READABLE.update(folders)


def is_own(file: str) -> bool:
    """Whether the file belongs to this library."""
    return file.startswith(FOLDER)


def is_readable(file: str) -> bool:
    """Whether the file belongs to a package of this library whose functions are opened."""
    return file.startswith(tuple(_READABLE))


def is_check(function: Any) -> bool:
    """Whether this is a check of code that is written to be read: it is called `check_…` or `_check_…` and has no value.

    So it raises or does nothing; `tests/test_own_code.py` holds every function of that kind to it.
    """
    code = getattr(function, "__code__", None)
    named = code is not None and code.co_name.lstrip("_").startswith("check_") and has_checks(code.co_filename)
    return named and function.__annotations__.get("return", ...) in (None, "None")


def has_checks(file: str) -> bool:
    """Whether the checks in a file are those of equations: it is readable, or one of the files on the ground floor."""
    return is_readable(file) or str(Path(file).parent) == FOLDER
