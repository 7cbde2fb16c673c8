"""Shares that sum to one: a distribution, the rows of a softmax."""

from __future__ import annotations

import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.words import decimal
from workings.check.claims.tables import columns_of, not_one, rows_of, slack
from workings.check.knowledge.nearby import unit_at, value_at
from workings.check.latex.syntax import Function, Group, Matrix, Node, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.names import is_closed
from workings.check.value.scope import Scope
from workings.check.value.value import Table

_DISTRIBUTION = re.compile(r"\b(?:distribut\w+|softmax|categorical|sums? to (?:one|1))\b", re.I)
_NOT_ONE = re.compile(
    r"sigmoid|multi-?label|independen|unnormali|not normali|before normali|logit|score|\bbern|likelihood|\bnot? sum"
    r"|marginal|quer[iy]|\bkeys?\b|embedding|\bpoint|(?<!probability )vector",
    re.I,
)
_WEIGHTS = re.compile(r"\b(?:attention (?:weights?|matrix|probabilit\w+|map)|transition|stochastic|softmax)\b", re.I)
SHARES = {Symbol("p"), Symbol("q"), Symbol("pi"), Symbol("y", ("hat",)), Symbol("p", ("hat",)), Symbol("q", ("hat",))}


def check_shares(line: Line, argument: Argument, scope: Scope) -> None:
    """A printed distribution, or a matrix of them."""
    for index, side in enumerate(line.sides):
        listed = isinstance(side, Group) and len(side.items) > 1 and side.open in "(["
        value = value_at(line, index) if (listed or isinstance(side, Matrix)) and is_closed(side) else None
        if not isinstance(value, Table) or any(x < 0 or x > 1 for x in value.entries):
            continue
        if not all(x.is_integer() for x in value.entries):
            (_check_list if value.is_vector else _check_rows)(line, index, value, argument)


def _others(line: Line, index: int) -> list[Node]:
    """The sides that are set equal to a side."""
    run = next((run for run in line.runs() if index in run), [index])
    return [line.sides[i] for i in run if i != index]


def _is_softmax(node: Node) -> bool:
    """softmax(…), as it stands."""
    return isinstance(node, Function) and node.name in ("softmax", "softargmax") and node.above is None


def _check_list(line: Line, index: int, value: Table, argument: Argument) -> None:
    """p = (0.2, 0.3, 0.6)."""
    shown = unit_at(line, index)
    total = sum(value.entries, arb(0))
    equal = _others(line, index)
    if not any(map(_is_softmax, equal)) and len({str(x) for x in value.entries}) > 1:
        shown = [arb(0) if unit > 0.05 else unit for unit in shown]  # 0.2 of a stated distribution is not rounded
    if len(shown) != len(value.entries) or abs(total - 1) <= slack(shown):
        return
    said = line.words
    if any(map(_is_softmax, equal)):
        level = "likely"
    elif any(isinstance(part, Function) or part == Symbol("sigma") for side in equal for part in side.walk()):
        return  # shares of something else
    elif any(plain(side) in SHARES for side in equal) and not _NOT_ONE.search(said) and total > 0.5 and total < 1.5:
        named = _DISTRIBUTION.search(f"{line.formulas[0].before[-80:]} {line.formulas[-1].after[:40]}")
        level = "likely" if named else "possible"
    else:
        return
    if argument.has_finding(line, index):
        return
    if argument.is_doubtful(line):
        level = "possible"
    why = f"The entries of a distribution sum to one; these sum to {decimal(total)}."
    argument.add(line, index, index, level, "rows", "a sum of 1", why)


def _check_rows(line: Line, index: int, value: Table, argument: Argument) -> None:
    """softmax(S) = a matrix: every row sums to one, or every column."""
    matrix = line.sides[index]
    steps = unit_at(line, index)
    if not isinstance(matrix, Matrix) or len(steps) != len(value.entries):
        return
    width = value.shape[1]
    rows = not_one(value.rows, rows_of(steps, width))
    columns = not_one(value.T.rows, columns_of(steps, width))
    if not rows or not columns:
        return
    if any(map(_is_softmax, _others(line, index))):
        level = "likely"
    elif _WEIGHTS.search(line.words) and any(_is_weights(side) for side in _others(line, index)):
        level = "likely" if len(rows) * 2 <= len(value.rows) or len(columns) * 2 <= width else "possible"
    else:
        return
    if argument.has_finding(line, index):
        return
    by_row = len(rows) / len(value.rows) <= len(columns) / width
    first, total = (rows if by_row else columns)[0]
    at = matrix.rows[first][-1] if by_row else matrix.rows[-1][first]
    name = "Row" if by_row else "Column"
    why = f"{name} {first + 1} sums to {decimal(total)}: softmax makes shares that sum to one."
    argument.add(line, index, index, "possible" if argument.is_doubtful(line) else level, "rows", "a sum of 1", why, at=at)


def _is_weights(node: Node) -> bool:
    """A or P, with or without an index or a hat."""
    node = node.base if isinstance(node, Script) else node
    return isinstance(node, Symbol) and node.name in ("A", "P", "alpha")
