"""Printers: the same steps as text, LaTeX, Markdown, HTML and JSON.

`workings.show(function, *args)` runs a function or module and returns its `Work`, the worked solution.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from workings.show.options import Options
from workings.show.work import Work, show

__all__ = ["Options", "Work", "show"]


class _Callable(types.ModuleType):
    """Lets `workings.show` be called and opened: `workings.show(f, x)` and `workings.show.Options(digits=6)`."""

    def __call__(self, function: Any, *args: Any, **options: Any) -> Work:
        return show(function, *args, **options)


sys.modules[__name__].__class__ = _Callable
