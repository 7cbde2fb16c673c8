"""Any object in one line: its own `repr`, shortened; nothing an object does here can stop the printer."""

from __future__ import annotations

import reprlib
from typing import Any

from torch import Tensor

_LONGEST = 200
"""Characters of the line."""


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = _LONGEST
        self.maxlevel = 3

    def repr_instance(self, x: Any, level: int) -> str:
        """The author's own `repr`; of a tensor its shape, and one that fails is said to."""
        if isinstance(x, Tensor):
            return f"tensor {'×'.join(map(str, x.shape)) or 'scalar'}"
        try:
            return repr(x)
        except Exception:
            return f"<{type(x).__name__}, its repr fails>"


def name_of(x: Any) -> str:
    """The name of a function or class, of any other object that of its type.

    >>> name_of(len), name_of(object())
    ('len', 'object')
    """
    try:
        name = str(getattr(x, "__name__", type(x).__name__))
    except Exception:
        return type(x).__name__
    return type(x).__name__ if name in ("<lambda>", "<genexpr>") else name


def short_repr(x: Any) -> str:
    """At most one line of a `repr`; of a tensor inside, its shape."""
    try:
        said = " ".join(_Short().repr(x).split())
    except Exception:
        return f"<{type(x).__name__}, its repr fails>"
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
