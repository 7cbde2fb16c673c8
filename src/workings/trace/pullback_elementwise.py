"""Rules of differentiation, entry by entry: ∂L/∂a = ∂L/∂y ⊙ y'(a), summed where `a` was repeated to fit."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from workings.trace.forms import ONE, ZERO, minus, negate, over, plus, times
from workings.trace.formula import Apply, Formula, Number
from workings.trace.pullback import Node, Rule, RuleError

TWO = Number(2)
Derivative = Callable[[Formula, Formula], Formula]


def f(op: str, *args: Formula) -> Formula:
    return Apply(op, args)


def indicator(a: Formula, relation: str, b: Formula) -> Formula:
    """[a > b]: 1 where the relation holds, else 0."""
    return Apply("indicator", (a, b), (("relation", relation),))


def _silu(a: Formula, y: Formula) -> Formula:
    s = f("sigmoid", a)
    return times(s, plus(ONE, times(a, minus(ONE, s))))


DERIVATIVES: dict[str, Derivative] = {
    # op: y' from the argument a and the result y
    "rsqrt": lambda a, y: negate(over(f("pow", y, Number(3)), TWO)),
    "exp": lambda a, y: y,
    "square": lambda a, y: times(TWO, a),
    "abs": lambda a, y: f("sign", a),
    "sin": lambda a, y: f("cos", a),
    "cos": lambda a, y: negate(f("sin", a)),
    "tanh": lambda a, y: minus(ONE, f("square", y)),
    "sigmoid": lambda a, y: times(y, minus(ONE, y)),
    "relu": lambda a, y: indicator(a, ">", ZERO),
    "gelu": lambda a, y: plus(f("normal_cdf", a), times(a, f("normal_pdf", a))),
    "silu": _silu,
}


def _pointwise(derivative: Derivative) -> Rule:
    def rule(node: Node) -> tuple[Formula | None, ...]:
        if node.options.get("approximate", "none") != "none":
            raise RuleError(f"there is no rule for {node.formula.op} with approximate={node.options['approximate']!r}")
        return (node.scaled(derivative(node.args[0], node.Y), node.args[0]), *(None for _ in node.args[1:]))

    return rule


def _add(node: Node) -> tuple[Formula | None, ...]:
    return tuple(node.fit(lambda: node.G, arg) for arg in node.args)


def _sub(node: Node) -> tuple[Formula | None, ...]:
    a, b = node.args
    return node.fit(lambda: node.G, a), node.fit(lambda: negate(node.G), b)


def _mul(node: Node) -> tuple[Formula | None, ...]:
    a, b = node.args
    return node.fit(lambda: node.scaled(b, b), a), node.fit(lambda: node.scaled(a, a), b)


def _div(node: Node) -> tuple[Formula | None, ...]:
    a, b = node.args
    return (
        node.fit(lambda: over(node.G, b), a),
        node.fit(lambda: negate(over(node.scaled(a, a), f("square", b))), b),
    )


def _pow(node: Node) -> tuple[Formula | None, ...]:
    a, n = node.args
    return (
        node.fit(lambda: node.scaled(times(n, _power(a, n)), node.formula), a),
        node.fit(lambda: node.scaled(times(node.Y, f("log", a)), node.formula), n),
    )


def _power(a: Formula, n: Formula) -> Formula:
    """aⁿ⁻¹"""
    if isinstance(n, Number):
        return ONE if n.value == 1 else a if n.value == 2 else f("pow", a, Number(n.value - 1))
    return f("pow", a, minus(n, ONE))


def _neg(node: Node) -> tuple[Formula | None, ...]:
    return (negate(node.G),)


def _log(node: Node) -> tuple[Formula | None, ...]:
    return (over(node.G, node.args[0]),)


def _sqrt(node: Node) -> tuple[Formula | None, ...]:
    return (over(node.G, times(TWO, node.Y)),)


def _masked_fill(node: Node) -> tuple[Formula | None, ...]:
    a, mask, value = node.args
    if node.varies(value):
        raise RuleError("there is no rule for the value that masked_fill fills in")
    return node.fit(lambda: Apply("masked_fill", (node.G, mask, ZERO)), a), None, None


def _where(node: Node) -> tuple[Formula | None, ...]:
    condition, a, b = node.args
    return (
        None,
        node.fit(lambda: Apply("where", (condition, node.G, ZERO)), a),
        node.fit(lambda: Apply("where", (condition, ZERO, node.G)), b),
    )


def larger(node: Node, relation: str) -> tuple[Formula | None, ...]:
    """The greater (or smaller) of two values: the gradient goes to it."""
    a, b = node.args
    x, y = node.value(a), node.value(b)
    if isinstance(x, Tensor) and isinstance(y, Tensor) and bool((x == y).any()):
        raise RuleError(f"there is no rule for {node.formula.op} where the two are equal")
    return (
        node.fit(lambda: node.scaled(indicator(a, relation, b), node.formula), a),
        node.fit(lambda: node.scaled(indicator(b, relation, a), node.formula), b),
    )


RULES: dict[str, Rule] = {
    **{op: _pointwise(derivative) for op, derivative in DERIVATIVES.items()},
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "neg": _neg,
    "log": _log,
    "sqrt": _sqrt,
    "masked_fill": _masked_fill,
    "where": _where,
}
