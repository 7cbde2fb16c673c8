"""A finished capture: the steps, and how it compares with the plain run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workings.trace.step import Step


@dataclass
class Trace:
    """What `capture` returns.

    `result` is the caller's own return value. `agreement` says how the capture compares with a plain run («agrees
    with the plain
    run (largest difference 0)»); `difference` is that largest difference, None where the plain run could not be
    repeated. `error` is
    the exception that stopped the code, if one did; its step is the last one, of kind `error`. `first_bad` is the
    first step whose
    result has a NaN or an infinity that its operands had not.
    """

    root: Step
    result: Any = None
    agreement: str = ""
    difference: float | None = None
    error: BaseException | None = None
    first_bad: Step | None = None
    notes: list[str] = field(default_factory=list)
    modules: dict[str, Any] = field(default_factory=dict, repr=False)
    """The modules that were called and their parts, by their paths: the backward pass names their parameters by these."""

    def steps(self) -> Iterator[Step]:
        """Every step in the order it happened, without the root."""
        steps = self.root.walk()
        next(steps)
        return steps
