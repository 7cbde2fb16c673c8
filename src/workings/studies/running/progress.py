"""What a person sees while a study runs: one live line on a terminal, nothing elsewhere.

for step in progress(range(200), "training with batch norm"):
    …
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")
_REFRESH = 0.1
_PREFIX: ContextVar[str | None] = ContextVar("prefix", default=None)
"""What stands before the line: the study, and which of its runs; None where nobody looks."""


@contextmanager
def shown(prefix: str) -> Iterator[None]:
    """Show progress below this name, if a terminal is there to show it."""
    token = _PREFIX.set(prefix if sys.stderr.isatty() else None)
    _say(prefix)
    try:
        yield
    finally:
        if _PREFIX.get() is not None:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        _PREFIX.reset(token)


def progress(items: Collection[T], what: str) -> Iterator[T]:
    """The items one by one, with a line that says how far it is.

    >>> list(progress([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    said = 0.0
    for i, item in enumerate(items):
        if (now := perf_counter()) - said > _REFRESH:
            said = now
            _say(f"{_PREFIX.get()}: {what} {i:,}/{len(items):,}")
        yield item


def _say(line: str) -> None:
    if _PREFIX.get() is not None:
        sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
