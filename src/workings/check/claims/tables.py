"""Printed matrices: rows of one length, and rows that should sum to one."""

from __future__ import annotations

import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.words import decimal
from workings.check.claims.claim import side_at
from workings.check.latex.syntax import Chain, Dots, Matrix, Node, Nothing, Words
from workings.check.value.compare import value_of
from workings.check.value.names import is_closed
from workings.check.value.rounding import units
from workings.check.value.scope import Scope
from workings.check.value.value import Table

_SHARES = re.compile(r"softmax|softargmax|probab|stochastic|transition|attention|distribut|weights", re.IGNORECASE)
"""What speaks of rows that sum to one."""


def check_tables(line: Line, argument: Argument) -> None:
    """Every matrix of a line."""
    for index, side in enumerate(line.sides):
        for node in side.walk():
            if isinstance(node, Matrix):
                _check_rows(line, index, node, argument)
        if isinstance(side, Matrix) and is_closed(side):
            _check_row_sums(line, index, side, argument)


def _check_rows(line: Line, index: int, matrix: Matrix, argument: Argument) -> None:
    """A row with an entry too many or too few."""
    if matrix.kind == "cases" or any(isinstance(part, Dots | Words | Nothing | Chain) for part in matrix.walk()):
        return  # rows of text, or of a derivation
    widths = [len(row) for row in matrix.rows]
    if len(set(widths)) < 2 or (matrix.kind == "[;]" and not is_closed(matrix)):
        return  # I[X; Y, Z] is no matrix
    usual = max(set(widths), key=lambda w: (widths.count(w), w))
    row = next(i for i, width in enumerate(widths) if width != usual)
    at: Node = matrix.rows[row][-1] if matrix.rows[row] else matrix
    why = f"Row {row + 1} has {widths[row]} entries, and {usual} stand in the others."
    argument.add(line, index, index, "error", "shape", f"rows of {usual} entries", why, at=at, basis="closed")


def _check_row_sums(line: Line, index: int, matrix: Matrix, argument: Argument) -> None:
    """Every row but one sums to one: the one is suspect."""
    value = value_of(side_at(line, index), Scope())
    if not isinstance(value, Table) or len(value.rows) < 3 or value.shape[1] < 2:
        return
    if any(x < 0 or x > 1 for x in value.entries) or all(x.is_integer() for x in value.entries):
        return
    shown = units(matrix) or [arb(0)] * len(value.entries)
    for table, steps in ((value.rows, rows_of(shown, value.shape[1])), (value.T.rows, columns_of(shown, value.shape[1]))):
        off = not_one(table, steps)
        if not off:
            return
        if len(off) == 1 and len(table) >= 3:
            row, total = off[0]
            name = "Row" if table is value.rows else "Column"
            why = f"{name} {row + 1} sums to {decimal(total, arb('0.001'))}, every other {name.lower()} to 1."
            at = matrix.rows[row][-1] if table is value.rows else matrix.rows[-1][row]
            basis = "shares" if _SHARES.search(argument.window(line)) else "row sums"
            others = [other for i, other in enumerate(table) if i != row]
            told = sum(not all(x.is_integer() for x in other) for other in others)  # 1 0 0 sums to one, whatever it is
            level = "likely" if told > 1 else "possible"
            argument.add(line, index, index, level, "rows", "a sum of 1", why, at=at, basis=basis)
            return


def slack(steps: list[arb]) -> arb:
    """How far a sum may be from 1 by rounding: half a unit for each number."""
    return sum(steps, arb(0)) / 2 + arb("1e-9")


def not_one(rows: tuple[tuple[arb, ...], ...], steps: list[list[arb]]) -> list[tuple[int, arb]]:
    """The rows that do not sum to one, with their sums."""
    sums = [sum(row, arb(0)) for row in rows]
    return [(i, total) for i, (total, step) in enumerate(zip(sums, steps, strict=True)) if abs(total - 1) > slack(step)]


def rows_of(steps: list[arb], width: int) -> list[list[arb]]:
    """Row by row."""
    return [steps[i : i + width] for i in range(0, len(steps), width)]


def columns_of(steps: list[arb], width: int) -> list[list[arb]]:
    """Column by column."""
    return [steps[i::width] for i in range(width)]
