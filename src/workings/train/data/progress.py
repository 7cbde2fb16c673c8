"""A progress bar on a terminal; nothing but the work itself elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def bar(items: Sequence[T], title: str) -> Iterable[T]:
    """The items, with a bar while they are gone through.

    >>> list(bar([1, 2], "counting"))
    [1, 2]
    """
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, title, console=Console(stderr=True), transient=True)
