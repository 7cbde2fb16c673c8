"""Vectors are columns: a @ b of two vectors is aᵀ b, x @ M is Mᵀ x, x @ M @ y is xᵀ M y, outer(a, b) is a bᵀ.

PyTorch's tensors of one axis are neither rows nor columns, so code need not say; mathematics does. A product of matrices
is written in the order of the code. How an operation is written of vectors stands in its row.
"""

from __future__ import annotations

from workings.show.formula.shapes import Shapes
from workings.trace.formula.operation import OPERATIONS, Operation
from workings.trace.formula.tree import Apply, Formula, map_parts, walk


def with_columns(formula: Formula, shapes: Shapes) -> Formula:
    """The formula with its vectors as columns.

    >>> import torch
    >>> from workings.trace.formula.tree import Leaf
    >>> x, M = Leaf("x"), Leaf("M")
    >>> shapes = Shapes({"x": torch.ones(2), "M": torch.ones(2, 3)})
    >>> with_columns(Apply("matmul", (x, M)), shapes)
    Apply(op='matmul', args=(Apply(op='transpose', args=(Leaf(text='M'),), options=()), Leaf(text='x')), options=())
    """
    if not any(_row(part) for part in walk(formula)):
        return formula
    written = map_parts(formula, lambda part: with_columns(part, shapes))
    row = _row(formula)
    if row is None or row.of_vectors is None or not isinstance(formula, Apply) or not isinstance(written, Apply):
        return written
    return row.of_vectors(written.args, written.options, [shapes.rank(arg) for arg in formula.args]) or written


def _row(formula: Formula) -> Operation | None:
    """The row of an operation that is written in another way of vectors."""
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    return row if row is not None and row.of_vectors is not None else None
