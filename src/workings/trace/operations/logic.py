"""Relations, truth values, and choices between two values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from workings.precedence import ATOM, POWER, PRODUCT, RELATION
from workings.trace.formula import notation
from workings.trace.formula.operation import Operation, captured
from workings.trace.formula.simplify import ZERO
from workings.trace.operations.node import Gradients, Node, RuleError, f
from workings.trace.shapes.explain_tensors import elementwise

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
    "=": operator.eq,
    "≠": operator.ne,
}


def _logical(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    function = getattr(torch, f"logical_{name}")
    return lambda *args: function(*args) if any(isinstance(x, Tensor) for x in args) else plain(*args)


def _masked_fill(node: Node) -> Gradients:
    a, mask, value = node.args
    if node.varies(value):
        raise RuleError("there is no rule for the value that masked_fill fills in")
    return node.fit(lambda: f("masked_fill", node.G, mask, ZERO), a), None, None


def _where(node: Node) -> Gradients:
    condition, a, b = node.args
    return (
        None,
        node.fit(lambda: f("where", condition, node.G, ZERO), a),
        node.fit(lambda: f("where", condition, ZERO, node.G), b),
    )


ROWS = (
    Operation("all: whether all entries are true, or any", others="all any", constant=True),
    Operation(
        "compare: a relation; option relation is one of < ≤ > ≥ = ≠",
        others="eq ne lt le gt ge",
        operator="eq ne lt le gt ge",
        compute=lambda a, b, *, relation: RELATIONS[relation](a, b),
        notation=notation.compare,
        constant=True,
        elementwise=True,
        misfit=elementwise,
    ),
    Operation(
        "not: ¬a",
        others="logical_not bitwise_not",
        operator="invert",
        compute=_logical("not", operator.not_),
        notation=notation.prefix("¬", POWER, ATOM),
        constant=True,
        elementwise=True,
    ),
    Operation(
        "and: a ∧ b",
        others="logical_and bitwise_and",
        operator="and",
        compute=_logical("and", lambda a, b: a and b),
        notation=notation.infix("∧", RELATION, PRODUCT, PRODUCT),
        constant=True,
        elementwise=True,
    ),
    Operation(
        "or: a ∨ b",
        others="logical_or bitwise_or",
        operator="or",
        compute=_logical("or", lambda a, b: a or b),
        notation=notation.infix("∨", RELATION, PRODUCT, PRODUCT),
        constant=True,
        elementwise=True,
    ),
    captured(
        "where(condition input other): b where a is true, else c",
        notation=notation.where,
        gradient=_where,
        elementwise=True,
        linear=True,
    ),
    captured(
        "masked_fill(input mask value): a where the mask is false, else the value",
        notation=notation.masked_fill,
        gradient=_masked_fill,
        elementwise=True,
        linear=True,
    ),
)
