"""A tensor that is taken apart row by row: `a, b = x`, `for r in x`.

PyTorch does it by unbind, whose parts are the outputs of one node of autograd's graph. The statement does not tell them; a
row is found by its number, behind what was made of it.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd.graph import GradientEdge
from torch.utils._pytree import tree_leaves

from workings.trace.formula.tree import Apply, Leaf
from workings.trace.gradient.scope import Statement, Value

_MOST_ROWS = 64
"""Rows of which those that nobody read are counted in."""


def rows_source(statement: Statement) -> Value | None:
    """The tensor whose rows a statement gives names to."""
    match statement.formula:
        case Apply(op="unbind", args=(Leaf(text=text),), options=()):
            return statement.read.get(text)
    return None


def row_of(whole: Value, number: int, made: Any) -> Value | None:
    """A row that something was made of; None where it was made of no row."""
    if number >= len(whole.then):
        return None
    if not whole.varies:
        return Value(whole.then[number], None, whole.then[number])
    queue = [node for t in tree_leaves(made) if isinstance(t, Tensor) and (node := t.grad_fn) is not None]
    seen = set(queue)
    while queue:
        node = queue.pop()
        if node.name().startswith("UnbindBackward") and _reads(node, whole):
            return Value(whole.then[number], GradientEdge(node, number), whole.then[number])
        following = [after for after, _ in node.next_functions if after is not None and after not in seen]
        seen.update(following)
        queue += following
    return None


def _reads(node: Any, whole: Value) -> bool:
    ((before, number), *_) = node.next_functions
    if whole.edge is None:
        return getattr(before, "variable", None) is whole.tensor
    return before is whole.edge.node and number == whole.edge.output_nr


def complete(statement: Statement) -> None:
    """Put the parts that were read in their order; a row that nobody read has its place among them."""
    made = {value.edge.output_nr if value.edge is not None else 0: (name, value) for name, value in statement.made}
    whole, nodes = rows_source(statement), {value.edge.node for _, value in statement.made if value.edge is not None}
    if whole is None or len(whole.then) > _MOST_ROWS or len(made) < len(statement.made) or len(nodes) > 1:
        statement.made.sort(key=lambda pair: pair[1].edge.output_nr if pair[1].edge is not None else 0)
        return
    rows = [Value(row, None, row) for row in whole.then]
    statement.made = [made.get(i, ("", row)) for i, row in enumerate(rows)]
