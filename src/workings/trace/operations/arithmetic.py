"""Sums, products, quotients and powers entry by entry, with or without broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workings.precedence import LOOSE, MATMUL, PRODUCT, SUM
from workings.trace.formula import notation
from workings.trace.formula.operation import OPERATIONS, Args, Operation, Rewrite, called, captured
from workings.trace.formula.simplify import ONE, minus, negate, over, plus, times
from workings.trace.formula.tree import Apply, Code, Formula, Number, Options
from workings.trace.operations.node import Gradients, Node, f
from workings.trace.shapes.explain_tensors import elementwise


def _add(node: Node) -> Gradients:
    return tuple(node.fit(lambda: node.G, arg) for arg in node.args)


def _sub(node: Node) -> Gradients:
    a, b = node.args
    return node.fit(lambda: node.G, a), node.fit(lambda: negate(node.G), b)


def _mul(node: Node) -> Gradients:
    a, b = node.args
    return node.fit(lambda: node.scale(b, b), a), node.fit(lambda: node.scale(a, a), b)


def _div(node: Node) -> Gradients:
    a, b = node.args
    return (node.fit(lambda: over(node.G, b), a), node.fit(lambda: negate(over(node.scale(a, a), f("square", b))), b))


def _pow(node: Node) -> Gradients:
    a, n = node.args
    return (
        node.fit(lambda: node.scale(times(n, _power(a, n)), node.formula), a),
        node.fit(lambda: node.scale(times(node.Y, f("log", a)), node.formula), n),
    )


def _power(a: Formula, n: Formula) -> Formula:
    """aⁿ⁻¹"""
    if isinstance(n, Number):
        return ONE if n.value == 1 else a if n.value == 2 else f("pow", a, Number(n.value - 1))
    return f("pow", a, minus(n, ONE))


# ---- what is no more than these


def argument(op: str, name: str, args: Args, options: Options) -> Formula:
    """An argument by its name, 1 where it is not given."""
    place = OPERATIONS.signature(op).index(name)
    return _formula(args[place] if place < len(args) else dict(options).get(name, ONE))


def _formula(value: Any) -> Formula:
    return value if isinstance(value, Formula) else Number(value)


def _sum_of(op: str) -> Rewrite:
    """a ± α b"""

    def made(args: Args, options: Options) -> Formula:
        alpha = _formula(args[2] if len(args) > 2 else dict(options).get("alpha", ONE))
        if len(args) < 2 or isinstance(alpha, Code):
            return Apply(op, args, options)
        return f(op, args[0], args[1] if alpha == ONE else times(alpha, args[1]))

    return made


def _added_entries(op: str, combine: Callable[[Formula, Formula], Formula]) -> Rewrite:
    """a + c b₁ ⊙ b₂, or a + c b₁/b₂"""
    return lambda args, options: plus(args[0], times(argument(op, "value", args, options), combine(*args[1:3])))


_FACTORS = ("mul", "div", "matmul")


def minus_first(op: str) -> Rewrite:
    """(−a) b is written −a b: the sign of a first factor stands before the whole."""

    def rule(args: Args, options: Options) -> Formula | None:
        first, *rest = args
        if isinstance(first, Apply) and first.op in _FACTORS:
            first = minus_first(first.op)(first.args, first.options) or first
        match first:
            case Apply("neg", (a,)) if not options:
                return f("neg", f(op, a, *rest))
        return None

    return rule


ROWS = (
    captured(
        "add(input other): a + b",
        operator="add",
        means=_sum_of("add"),
        notation=notation.infix("+", SUM, SUM, LOOSE),
        gradient=_add,
        elementwise=True,
        linear=True,
        misfit=elementwise,
    ),
    captured(
        "sub(input other): a − b",
        also="subtract",
        operator="sub",
        means=_sum_of("sub"),
        notation=notation.infix("−", SUM, SUM, LOOSE),
        gradient=_sub,
        elementwise=True,
        misfit=elementwise,
    ),
    called("rsub: b − a", means=lambda a, o: f("sub", a[1], a[0])),
    captured(
        "neg: −a",
        also="negative",
        operator="neg",
        notation=notation.prefix("−", SUM, LOOSE),
        gradient=lambda node: (negate(node.G),),
        elementwise=True,
    ),
    captured(
        "mul(input other): a ⊙ b, elementwise (a·b when one side is a number)",
        also="multiply",
        operator="mul",
        notation=notation.infix("⊙", PRODUCT, PRODUCT, MATMUL),
        spelled=minus_first("mul"),
        gradient=_mul,
        elementwise=True,
        linear=True,
        misfit=elementwise,
    ),
    Operation("scale: a·b: how a product with a number is written", notation=notation.infix("·", PRODUCT, PRODUCT, MATMUL)),
    captured(
        "div(input other): a / b",
        also="divide true_divide",
        others="floor_divide __floordiv__ __rdiv__",
        operator="truediv",
        notation=notation.fraction,
        spelled=minus_first("div"),
        gradient=_div,
        elementwise=True,
        linear=True,
        misfit=elementwise,
    ),
    Operation("mod: the remainder of a / b", operator="mod", notation=notation.infix("mod", PRODUCT, PRODUCT, MATMUL)),
    captured(
        "pow(input other): a^b", operator="pow", notation=notation.power, gradient=_pow, elementwise=True, misfit=elementwise
    ),
    called("addcmul(input tensor1 tensor2 value): a + c b₁ ⊙ b₂", means=_added_entries("addcmul", times)),
    called("addcdiv(input tensor1 tensor2 value): a + c b₁/b₂", means=_added_entries("addcdiv", over)),
    called("lerp(input end weight): a + t (b − a)", means=lambda a, o: plus(a[0], times(a[2], minus(a[1], a[0])))),
)
