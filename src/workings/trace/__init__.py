"""What happened, as data: the steps of a computation.

`with workings.trace() as work:` records a block; `workings.show(f, …)` a function.
"""

from __future__ import annotations

import sys

from workings.lazy import CallablePackage
from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Formula
from workings.trace.record import Trace
from workings.trace.step import Step, Where

__all__ = ["Formula", "Step", "Trace", "Where", "capture"]

sys.modules[__name__].__class__ = CallablePackage
