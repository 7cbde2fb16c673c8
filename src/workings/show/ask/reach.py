"""Which cells of its operands one cell of an operation needs.

S = Q Kᵀ        S[i, j] needs row i of Q and row j of K
A = softmax(S)  A[i, j] needs row i of S

The row of an operation says it; of an operation that does not, all cells are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workings.trace.formula.operation import OPERATIONS, Cells, Index
from workings.trace.formula.tree import Apply


def cells(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells:
    """The cells that each operand of an operation gives to these cells of its result.

    >>> from workings.trace.formula.tree import Leaf
    >>> cells(Apply("matmul", (Leaf("Q"), Leaf("V"))), (0, 1), {})
    [(0, slice(None, None, None)), (slice(None, None, None), 1)]
    """
    row = OPERATIONS.get(formula.op)
    if row is not None and row.elementwise:
        return [index] * len(formula.args)
    found = row.reach(formula, index, operands) if row is not None and row.reach is not None else None
    return [None] * len(formula.args) if found is None else found
