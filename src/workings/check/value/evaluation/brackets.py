"""What stands between brackets or bars: (x), [1, 2, 3], ⌊x⌋, ⟨a, b⟩, |x|, ‖x‖ and matrices."""

from __future__ import annotations

import operator
from collections.abc import Callable

from flint import arb

from workings.check.latex.syntax import Chain, Group, Matrix, Node, Number, Symbol
from workings.check.value.evaluation.context import EvaluationContext, rule, value
from workings.check.value.functions import call, norm
from workings.check.value.names import is_capital
from workings.check.value.sets import is_set, set_size
from workings.check.value.value import (
    Mismatch,
    Reason,
    Table,
    Undecided,
    Value,
    broadcast,
    concatenate,
    determinant,
    each,
    entrywise,
    free_list,
    inner,
    scalar,
    stack_rows,
)

_RELATIONS: dict[str, Callable[[arb, arb], bool]] = {
    "<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge, "=": operator.eq, "≠": operator.ne,
}  # fmt: skip
_TRUTHS: dict[Node, int] = {Symbol("T"): 1, Symbol("F"): 0}


@rule(Group)
def group(node: Group, context: EvaluationContext) -> Value:
    """(x) is x, ⌊x⌋ and ⟨a, b⟩ are computed, and a list in brackets is a vector."""
    if node.open in "|‖":
        if len(node.items) != 1:
            raise Undecided("several things between bars")
        if node.open == "|" and context.reading.bars == "entries":
            return each(abs, value(node.items[0], context))
        return length(node, None, context)
    if node.open == "⌊" or node.open == "⌈":
        return call("floor" if node.open == "⌊" else "ceil", [value(node.items[0], context)], context.reading)
    if node.open == "⟨" and len(node.items) == 2:
        a, b = (value(item, context) for item in node.items)
        if isinstance(a, Table) and isinstance(b, Table) and len(a.entries) == len(b.entries):
            return inner(a.entries, b.entries)
        raise Undecided("⟨ ⟩ of what are not two vectors of one length")
    if len(node.items) == 1:
        only = node.items[0]
        return _holds(only, context) if isinstance(only, Chain) else value(only, context)
    if not node.items:
        raise Undecided("empty brackets", Reason.UNFINISHED)
    return _list_table(node, context)


def _holds(node: Chain, context: EvaluationContext) -> Value:
    """(a < b): 1 where it holds, 0 where it does not, entry by entry."""
    if len(node.relations) != 1 or node.relations[0] not in _RELATIONS:
        raise Undecided("a relation in brackets")
    decide = _RELATIONS[node.relations[0]]
    a, b = (value(item, context) for item in node.items)
    if isinstance(a, Table) and isinstance(b, Table):
        a, b = broadcast(a, b)

    def rule(x: arb, y: arb) -> arb:
        if x.overlaps(y) and not (x.is_exact() and y.is_exact()):
            raise Undecided("two numbers that may be equal")
        return arb(int(decide(x, y)))

    return entrywise(rule, a, b, node.relations[0])


def _truths(rows: tuple[tuple[Node, ...], ...], context: EvaluationContext) -> Table | None:
    """T and F, where nothing else stands and the letters have no values: 1 and 0."""
    cells = [cell for row in rows for cell in row]
    if not cells or any(cell not in _TRUTHS or context.known(cell) is not None for cell in cells):
        return None
    return Table(tuple(tuple(arb(_TRUTHS[cell]) for cell in row) for row in rows))


def _list_table(node: Group, context: EvaluationContext) -> Table:
    """(1, 2, 3) is a list, ((1, 2), (3, 4)) has lists as its rows, [A, B] has tables beside or below each other."""
    if (found := _truths((node.items,), context)) is not None:
        return Table(found.rows, free=True)
    values = [value(item, context) for item in node.items]
    if not any(isinstance(x, Table) for x in values):
        if node.open == "{":
            raise Undecided("a set")
        return free_list([scalar(x) for x in values])
    if all(isinstance(x, Table) and x.free for x in values):
        return stack_rows([x for x in values if isinstance(x, Table)])
    if node.open == "[" and all(isinstance(x, Table) for x in values):
        return concatenate(values, below=not context.reading.beside)
    raise Undecided("a list of tables")


def length(bars: Group, below: Node | None, context: EvaluationContext) -> arb:
    """|x| of a number, ‖x‖ of a vector, |A| of a square matrix (its determinant), |{1, 2}| of a set (its size)."""
    if below is None and is_set(bars.items[0], context.scope):
        return arb(set_size(bars.items[0], context))
    x = value(bars.items[0], context)
    if below is None and bars.open == "|":
        if not isinstance(x, Table):
            return abs(x)
        if is_capital(bars.items[0]):
            raise Undecided("|A| may be the size of a set")
        return norm(x, "2") if x.is_vector else determinant(x)
    match below:
        case None:
            return norm(x, "2" if not isinstance(x, Table) or x.is_vector else "")
        case Number(text="1" | "2" as p):
            return norm(x, p)
        case Symbol(name="infty"):
            return norm(x, "∞")
        case Symbol(name="F"):
            return norm(x, "F")
    raise Undecided("a norm that is not known")


@rule(Matrix)
def matrix(node: Matrix, context: EvaluationContext) -> Value:
    """Rows of numbers, or of blocks; between bars its determinant."""
    widths = {len(row) for row in node.rows}
    if len(widths) != 1:
        raise Mismatch(f"rows of {' and '.join(map(str, sorted(widths)))} entries")
    if (found := _truths(node.rows, context)) is not None:
        return found
    values = [[value(entry, context) for entry in row] for row in node.rows]
    if node.kind == "Vmatrix":
        return norm(_numbers(values), "2" if 1 in (len(values), len(values[0])) else "")
    if node.kind == "vmatrix":
        return determinant(_numbers(values))
    if any(isinstance(x, Table) for row in values for x in row):
        return stack_rows([concatenate(row, below=False) for row in values])
    return _numbers(values)


def _numbers(values: list[list[Value]]) -> Table:
    """A table whose entries must be numbers."""
    return Table(tuple(tuple(scalar(x) for x in row) for row in values))
