"""What happened, as data: the steps of a computation.

`with workings.trace() as work:` records a block; `workings.show(f, …)` a function.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Formula
from workings.trace.record import Trace
from workings.trace.step import Step, Where

__all__ = ["Formula", "Step", "Trace", "Where", "capture"]


class _Callable(types.ModuleType):
    """Lets `workings.trace` be opened and called; the `Work` it gives prints itself, which the floor above does."""

    def __call__(self, depth: int | None = None) -> Any:
        return importlib.import_module("workings.show.work").trace(depth)


sys.modules[__name__].__class__ = _Callable
