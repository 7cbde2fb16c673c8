"""What a script above or below means: a power, a transpose, an inverse, an entry of a table, the kind of a norm."""

from __future__ import annotations

from flint import arb

from workings.check.latex.syntax import Big, Function, Group, Items, Node, Number, Product, Script, Symbol
from workings.check.value.evaluation.brackets import length
from workings.check.value.evaluation.context import EvaluationContext, rule, value
from workings.check.value.functions import ZERO, degree, exponential
from workings.check.value.names import is_name
from workings.check.value.scope import is_transpose
from workings.check.value.value import (
    MOST_ENTRIES,
    Reason,
    Table,
    Undecided,
    Value,
    each,
    inverse,
    matrix_product,
    power,
    scalar,
)

_MARKS = ("ast", "star", "dagger", "circ", "prime")
"""Superscripts that are part of a name."""
_HIGHEST_POWER = 64
"""The highest power of a matrix that is multiplied out."""


@rule(Script)
def script(node: Script, context: EvaluationContext) -> Value:
    """‖x‖₂², Aᵢⱼ, eˣ, Aᵀ and xʸ, in this order."""
    base, below, above = node.base, node.below, node.above
    if isinstance(base, Group) and base.open in "|‖" and len(base.items) == 1:
        x = length(base, below, context)
        return x if above is None else power(x, scalar(value(above, context)))
    if above is None:
        return _entry(base, below, context)
    if base == Symbol("e") and below is None and context.known(base) is None:
        exponent = value(above, context)
        if isinstance(exponent, Table) and not exponent.is_vector and is_name(above):
            raise Undecided("the exponential of a matrix is not that of its entries")
        return each(exponential, exponent)
    body = base if below is None else Script(base, below, span=node.span)
    if is_transpose(above):
        return _transpose(body, above, context)
    if isinstance(above, Symbol) and above.name == "circ" and isinstance(base, Number) and below is None:
        return scalar(value(base, context)) * degree()
    if isinstance(above, Group) and above.open in "([" and not isinstance(base, Number):
        raise Undecided("a superscript in brackets is an index")
    return _power_of(value(body, context), above, context)


def _transpose(body: Node, above: Node, context: EvaluationContext) -> Value:
    """Aᵀ; of a number the power, if T has a value."""
    x = value(body, context)
    if not isinstance(x, Table):
        return x if context.scope.definition(above) is None else power(x, scalar(value(above, context)))
    if x.free and (not isinstance(body, Group) or context.reading.lists == "columns"):
        return Table(x.rows)  # the vector w is a column, so that its transpose is a row
    return x.transposed


def _power_of(x: Value, above: Node, context: EvaluationContext) -> Value:
    """xʸ; of a matrix entry by entry or as a matrix; A⁻¹ is the inverse."""
    if isinstance(above, Symbol) and above.name in _MARKS:
        raise Undecided("a mark above a letter is part of its name")
    exponent = scalar(value(above, context))
    if not isinstance(x, Table):
        return power(x, exponent)
    if exponent == -1:
        return inverse(x)
    if context.reading.powers == "dot" and x.is_vector and exponent == 2:
        return sum((number * number for number in x.entries), ZERO)
    moderate = exponent.is_integer() and 0 < float(exponent) <= _HIGHEST_POWER
    if context.reading.powers == "matrix" and x.shape[0] == x.shape[1] and moderate:
        return _matrix_power(x, int(float(exponent)))
    return each(lambda number: power(number, exponent), x)


def _matrix_power(A: Table, n: int) -> Table:
    """A A … A, n times."""
    result = A
    for _ in range(n - 1):
        result = matrix_product(result, A)
    return result


def _entry(base: Node, below: Node | None, context: EvaluationContext) -> Value:
    """xᵢ, Aᵢⱼ, A_{i,j}: an entry of a known table."""
    if below is None:
        return value(base, context)
    if isinstance(base, Number):
        return _in_base(base, below, context)
    if isinstance(base, Symbol) and base.name in ("0", "1"):
        return _filled(arb(int(base.name)), below, context)
    if isinstance(base, Function | Big):
        raise Undecided("an index of a function")
    table = value(base, context)
    indices = _whole_numbers(below, table, context)
    if not isinstance(table, Table):
        raise Undecided("an index of a number", Reason.SIZE)
    match [i - context.reading.first for i in indices]:
        case [i] if table.is_vector and 0 <= i < table.shape[0] * table.shape[1]:
            return table.entries[i]
        case [i, j] if 0 <= i < table.shape[0] and 0 <= j < table.shape[1]:
            return table.rows[i][j]
    raise Undecided("an index outside of the table", Reason.SIZE)


def _filled(number: arb, size: Node, context: EvaluationContext) -> Table:
    """𝟏₃ and 𝟎_{2 × 3}: a list or a table full of one number."""
    factors = size.factors if isinstance(size, Product) else (("", size),)
    lengths = [scalar(value(factor, context)) for _, factor in factors]
    if any(not n.is_integer() or not 0 < float(n) <= MOST_ENTRIES for n in lengths) or len(lengths) > 2:
        raise Undecided("a size that is no number")
    *rows, columns = [int(float(n)) for n in lengths]
    if (rows[0] if rows else 1) * columns > MOST_ENTRIES:
        raise Undecided("the table is too large", Reason.LARGE)
    return Table(((number,) * columns,) * (rows[0] if rows else 1), free=not rows)


def _in_base(number: Number, below: Node, context: EvaluationContext) -> arb:
    """101₂: the digits of a number in another base."""
    base = scalar(value(below, context))
    whole, _, part = number.text.partition(".")
    digits = whole + part
    if not base.is_integer() or not 2 <= float(base) <= 10 or not digits.isdigit():
        raise Undecided("an index of a number", Reason.SIZE)
    b = int(float(base))
    if any(int(digit) >= b for digit in digits):
        raise Undecided(f"digits that base {b} does not have")
    return arb(int(digits, b)) / arb(b) ** len(part)


def _whole_numbers(below: Node, table: Value, context: EvaluationContext) -> list[int]:
    """The whole numbers of an index."""
    indices = []
    for part in _index_parts(below, table):
        index = scalar(value(part, context))
        if not index.is_integer() or abs(float(index)) > 1e9:
            raise Undecided("an index that is not a whole number")
        indices.append(int(float(index)))
    return indices


def _index_parts(below: Node, table: Value) -> tuple[Node, ...]:
    """The parts of an index: `i`, `i,j`, `ij` or `12` (two digits of a matrix)."""
    match below:
        case Items(parts=parts) | Group(items=parts):
            return parts
        case Product(factors=factors) if all(sign == "" for sign, _ in factors):
            return tuple(factor for _, factor in factors)
        case Number(text=text) if len(text) == 2 and isinstance(table, Table) and not table.is_vector:
            return Number(text[0]), Number(text[1])
    return (below,)
