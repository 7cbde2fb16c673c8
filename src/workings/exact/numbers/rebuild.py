"""A formula made again from the inside out, of other operands: how values are put in for letters and parts rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workings.exact.numbers import algebra
from workings.exact.numbers.build import build
from workings.exact.numbers.value import SPECIAL, Value, bottom_up

Made = dict[Value, Value]
Row = Callable[[Value, Made], Value]
ATOMS = frozenset({"q", "letter", "const", *SPECIAL})


def _sum(v: Value, made: Made) -> Value:
    return algebra.add_all(algebra.scale(made[t], c) for c, t in v.args)


def _dot(v: Value, made: Made) -> Value:
    row, column = v.args
    return algebra.dot(tuple(made[x] for x in row), tuple(made[y] for y in column))


def _product(v: Value, made: Made) -> Value:
    return algebra.multiply_all(algebra.power(made[base], r) for base, r in v.args)


def _function(v: Value, made: Made) -> Value:
    return build(v.kind, *[made[x] for x in v.args])


REBUILD: dict[str, Row] = dict.fromkeys(ATOMS, lambda v, made: v) | {
    "add": _sum,
    "mul": _product,
    "dot": _dot,
}
"""How a node is made again; a kind without a row is a function."""


def rebuild(v: Value, rows: Mapping[str, Row] = REBUILD, function: Row = _function) -> Value:
    """`v` made again by these rows."""
    made: Made = {}
    for x in bottom_up(v):
        made[x] = rows.get(x.kind, function)(x, made)
    return made[v]


def with_numbers(v: Value, numbers: Mapping[str, Value]) -> Value:
    """`v` with numbers in the place of letters."""
    return rebuild(v, REBUILD | {"letter": lambda x, made: numbers[x.args[0]]})
