"""The shapes of a formula's parts, from those of its operands: computed on PyTorch's meta device, without numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.formula.arguments import FormulaError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Formula, Leaf, Number

Shape = tuple[int, ...]


class Shapes:
    """The shapes of parts of one statement.

    >>> from workings.trace.formula.tree import Apply
    >>> shapes = Shapes({"A": torch.ones(2, 3), "x": torch.ones(3)})
    >>> shapes.of(Apply("matmul", (Leaf("A"), Leaf("x")))), shapes.of(Leaf("unknown"))
    ((2,), None)
    """

    def __init__(self, operands: Mapping[str, Any]) -> None:
        self.operands = operands
        self._empty: dict[str, Any] | None = None

    def of(self, part: Formula) -> Shape | None:
        """The shape of a part; () of a number, None where it is not known."""
        match part:
            case Leaf(text):
                return _shape(self.operands.get(text))
            case Number():
                return ()
        try:
            return _shape(evaluate(part, self._without_values()))
        except FormulaError:
            return None

    def rank(self, part: Formula) -> int | None:
        """How many axes a part has; of sums and transposes that is known without PyTorch's meta device, which takes long
        to load."""
        row = OPERATIONS.get(part.op) if isinstance(part, Apply) else None
        if isinstance(part, Apply) and row is not None and (row.elementwise or part.op == "transpose"):
            ranks = [self.rank(arg) for arg in part.args]
            return None if not ranks or None in ranks else max(rank for rank in ranks if rank is not None)
        shape = self.of(part)
        return None if shape is None else len(shape)

    def _without_values(self) -> dict[str, Any]:
        if self._empty is None:
            self._empty = {text: _without_values(value) for text, value in self.operands.items()}
        return self._empty


def _shape(value: Any) -> Shape | None:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return () if isinstance(value, int | float | complex) else None


def _without_values(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    dtype = torch.float64 if isinstance(value, ExactTensor) else value.dtype
    return torch.empty(value.shape, dtype=dtype, device="meta")
