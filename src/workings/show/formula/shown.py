"""The formula of a statement as it is shown: in mathematical notation, its sizes as numbers, its vectors as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workings.show.formula.calls import with_notation
from workings.show.formula.columns import with_columns
from workings.show.formula.rearranged import with_words
from workings.show.formula.shapes import Shapes
from workings.show.formula.sizes import with_sizes
from workings.trace.formula.tree import Formula


def as_shown(formula: Formula, operands: Mapping[str, Any], source: str = "") -> Formula:
    """The formula to write, from that of the code; `source` is the Python of the statement.

    >>> import torch
    >>> from workings.trace.formula.tree import Apply, Leaf
    >>> a = torch.ones(2)
    >>> as_shown(Apply("matmul", (Leaf("a"), Leaf("b"))), {"a": a, "b": a})
    Apply(op='inner', args=(Leaf(text='a'), Leaf(text='b')), options=())
    """
    shapes = Shapes(operands)
    found = with_notation(with_sizes(formula, operands), shapes, source)
    return with_columns(with_words(found, shapes), shapes)
