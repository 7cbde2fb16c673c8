"""Rules of differentiation, entry by entry: ∂L/∂a = ∂L/∂y ⊙ y'(a), summed where `a` was repeated to fit."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from workings.trace.formula.simplify import ONE, ZERO, minus, negate, over, plus, times
from workings.trace.formula.tree import Apply, Formula, Number
from workings.trace.gradient.rules.node import Node, Rule, RuleError

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


def _erf(a: Formula, y: Formula) -> Formula:
    """2 e^(−a²)/√π"""
    return over(times(TWO, f("exp", negate(f("square", a)))), f("sqrt", Number(math.pi)))


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
    "logsigmoid": lambda a, y: f("sigmoid", negate(a)),
    "tan": lambda a, y: plus(ONE, f("square", y)),
    "sinh": lambda a, y: f("cosh", a),
    "cosh": lambda a, y: f("sinh", a),
    "expm1": lambda a, y: f("exp", a),
    "exp2": lambda a, y: times(y, f("log", TWO)),
    "erf": _erf,
}


def _pointwise(derivative: Derivative) -> Rule:
    def rule(node: Node) -> tuple[Formula | None, ...]:
        return (node.scaled(derivative(node.args[0], node.Y), node.args[0]), *(None for _ in node.args[1:]))

    return rule


def _gelu(node: Node) -> tuple[Formula | None, ...]:
    if node.plain("approximate", "none") == "none":
        return _pointwise(DERIVATIVES["gelu"])(node)
    a, c = node.args[0], f("sqrt", over(TWO, Number(math.pi)))
    cubed = times(Number(0.044715), f("pow", a, Number(3)))
    t = node.let("t", f("tanh", times(c, plus(a, cubed))))
    inner = times(c, plus(ONE, times(Number(3 * 0.044715), f("square", a))))
    slope = over(plus(plus(ONE, t), times(times(a, minus(ONE, f("square", t))), inner)), TWO)
    return (node.scaled(slope, a), *(None for _ in node.args[1:]))


def _divided(below: Callable[[Formula], Formula]) -> Rule:
    """∂L/∂a = ∂L/∂y / below(a)"""
    return lambda node: (over(node.G, below(node.args[0])), *(None for _ in node.args[1:]))


def _softplus(node: Node) -> tuple[Formula | None, ...]:
    a, beta = node.args[0], node.plain("beta", 1)
    if bool((node.value(a) * beta > node.plain("threshold", 20)).any()):
        raise RuleError("there is no rule for softplus beyond its threshold, where PyTorch takes it for a straight line")
    inner = a if beta == 1 else times(Number(beta), a)
    return (node.scaled(f("sigmoid", inner), a), *(None for _ in node.args[1:]))


def _leaky_relu(node: Node) -> tuple[Formula | None, ...]:
    a, slope = node.args[0], Number(node.plain("negative_slope", 0.01))
    slopes = plus(indicator(a, ">", ZERO), times(slope, indicator(a, "≤", ZERO)))
    return (node.scaled(slopes, a), *(None for _ in node.args[1:]))


def _elu(node: Node) -> tuple[Formula | None, ...]:
    a, alpha = node.args[0], Number(node.plain("alpha", 1.0))
    left = f("exp", a) if alpha.value == 1 else times(alpha, f("exp", a))
    positive = Apply("compare", (a, ZERO), (("relation", ">"),))
    return (node.scaled(f("where", positive, ONE, left), a), *(None for _ in node.args[1:]))


def _clamp(node: Node) -> tuple[Formula | None, ...]:
    """The gradient passes where a lies between the bounds."""
    a, low, high = node.args[0], node.given("min"), node.given("max")
    if any(bound is not None and node.varies(bound) for bound in (low, high)):
        raise RuleError("there is no rule for the bounds of clamp")
    inside: Formula = ONE
    for bound, relation in ((low, "≥"), (high, "≤")):
        inside = inside if bound is None else times(inside, indicator(a, relation, bound))
    return (node.scaled(inside, a), *(None for _ in node.args[1:]))


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
    "gelu": _gelu,
    "softplus": _softplus,
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "clamp": _clamp,
    "log1p": _divided(lambda a: plus(ONE, a)),
    "log2": _divided(lambda a: times(f("log", TWO), a)),
    "log10": _divided(lambda a: times(f("log", Number(10)), a)),
    "atan": _divided(lambda a: plus(ONE, f("square", a))),
}
