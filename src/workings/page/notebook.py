"""How a value displays itself in a notebook: text, HTML and LaTeX, of which the front end takes what it can.

Values of a low floor (an exact tensor, a checked document) are written by printers of a floor above. So the front door
registers who writes them, and they ask here.
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
