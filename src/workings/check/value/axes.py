"""What is taken along an axis of a table: the mean of each row, the largest of each column, the sum of all."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from workings.check.value.value import Reason, Table, Undecided, Value

_ACROSS, _DOWN = frozenset((-1, 1)), frozenset((-2, 0))
"""The axes of a table, counted from either end: along each row, and down each column."""


def is_down(along: tuple[int, ...]) -> bool:
    """Whether it is the one axis down the columns."""
    return len(along) == 1 and along[0] in _DOWN


def reduced(rule: Callable[[list[arb]], arb], value: Value, along: tuple[int, ...] | None) -> Value:
    """`rule` of each row or each column of a table, of all its entries where no axis is named or it is a list.

    What is left of the rows stands beside them, what is left of the columns below them; either may stand as a list.
    """
    if not isinstance(value, Table):
        raise Undecided("an axis of a number", Reason.SIZE)
    if along is None or len(along) == 2 or (value.free and along[0] in (-1, 0)):
        return rule(value.entries)
    if value.free:
        raise Undecided("an axis that a list does not have", Reason.SIZE)
    if len(along) == 1 and along[0] in _ACROSS:
        return Table(tuple((rule(list(row)),) for row in value.rows), free=True)
    if is_down(along):
        return Table((tuple(rule(list(column)) for column in value.T.rows),), free=True)
    raise Undecided("an axis that a table does not have", Reason.SIZE)
