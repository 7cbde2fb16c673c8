"""What a rule is asked for: what flows from the results of one statement to one value that it read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from workings.trace.gradient.hidden import HiddenParameters
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.scope import Scope, Statement, Value


@dataclass(frozen=True)
class GradientRequest:
    """From the results of a statement, by the names they have in its scope, to a value that it read."""

    statement: Statement
    made: list[tuple[str, Value]]
    value: Value
    scope: Scope
    loss: Loss
    gradient: Tensor
    """Autograd's numbers."""
    given: Mapping[str, Any]
    """The gradients of the results, by their symbols."""
    layers: HiddenParameters
    """The layers that no statement calls by a formula, which a long way leads through."""
