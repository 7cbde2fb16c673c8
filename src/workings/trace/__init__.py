"""`with workings.trace() as work:` records the statements of a block; `workings.show(f, …)` those of a function.

    >>> import torch, workings
    >>> x = torch.tensor([1.0, 2.0])
    >>> with workings.trace() as work:
    ...     y = x * x
    >>> work["y"]
    tensor([1., 4.])

What happened is data: a `Trace` of `Step`s, each with the author's name, the formula, the operands, the result and where it
stands. `capture(function, *args)` gives the bare trace; `workings.show` prints it.

Rooms, each importing only from those before it: `formula` (mathematics as trees), `tensors` (values at one moment), `code`
(the author's, read), `definitions` (fused operations written out), `shapes`, `operations` (one row each), `optimizer`,
`replay` (the unmodified run), `capture` (rewritten code, recorded), `follow` (running code, recorded), `gradient` (the
backward pass).
"""

from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Formula
from workings.trace.operations import OPERATIONS
from workings.trace.record import Trace
from workings.trace.step import Step, Where

__all__ = ["OPERATIONS", "Formula", "Step", "Trace", "Where", "capture"]


def __dir__() -> list[str]:
    return sorted(__all__)
