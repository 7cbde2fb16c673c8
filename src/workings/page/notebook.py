"""How a value displays itself in a notebook: text, HTML and LaTeX, of which the front end takes what it can.

An exact tensor is written by a printer of a floor above it. So the front door registers who writes it, and it asks here.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False  # the front door imports this file, and `typing` takes long to load
if TYPE_CHECKING:
    from typing import Any

_WRITERS: dict[str, Callable[[Any], dict[str, str]]] = {}


def register(kind: str, writer: Callable[[Any], dict[str, str]]) -> None:
    """Values of this kind are written by `writer`, which returns a text for each MIME type."""
    _WRITERS[kind] = writer


def bundle(kind: str, value: Any) -> dict[str, str]:
    """What a notebook gets: `text/plain`, `text/html` and `text/latex`."""
    return _WRITERS[kind](value)
