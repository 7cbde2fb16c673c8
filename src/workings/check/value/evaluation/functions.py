"""Functions with a name or a sign of their own: log₂ x, softmax(z), √x, n! and 5 %."""

from __future__ import annotations

from flint import arb

from workings.check.latex.syntax import Axes, Function, Postfix, Root, Symbol
from workings.check.value.evaluation.context import EvaluationContext, rule, value
from workings.check.value.functions import call, call_along, degree, factorial, logarithm
from workings.check.value.reading import ANGLES, TURNS
from workings.check.value.scope import is_transpose
from workings.check.value.value import Table, Undecided, Value, each, power, scalar


@rule(Function)
def function(node: Function, context: EvaluationContext) -> Value:
    """f(x); f²(x) is (f(x))², and f(x)ᵀ the transpose of its value."""
    result = _function_value(node, context)
    if node.above is None:
        return result
    if is_transpose(node.above):
        return result.transposed if isinstance(result, Table) else result
    exponent = scalar(value(node.above, context))
    if exponent == -1:
        raise Undecided(f"{node.name}⁻¹ may be the inverse function")
    return each(lambda x: power(x, exponent), result)


def _function_value(node: Function, context: EvaluationContext) -> Value:
    """The function at its arguments, without what stands above its name."""
    values = [value(argument, context) for argument in node.arguments]
    if isinstance(node.below, Axes):
        return call_along(node.name, values, node.below.numbers, context.reading)
    if node.name in ("log", "ln", "lg"):
        if len(values) != 1:
            raise Undecided("a logarithm of several numbers")
        return logarithm(values[0], _base(node, context))
    if node.below is not None:
        raise Undecided(f"{node.name} with an index")
    if context.reading.angle == "deg" and node.name in TURNS:
        values = [each(lambda x: x * degree(), angle) for angle in values]
    result = call(node.name, values, context.reading)
    if context.reading.angle == "deg" and node.name in ANGLES:
        return each(lambda x: x / degree(), result)
    return result


def _base(node: Function, context: EvaluationContext) -> arb | None:
    """The base of a logarithm; none is e."""
    if node.below is not None:
        return None if node.below == Symbol("e") else scalar(value(node.below, context))
    if node.name == "ln":
        return None
    if node.name == "lg":
        return arb(10) if context.reading.log == "10" else arb(2)
    return {"e": None, "2": arb(2), "10": arb(10)}[context.reading.log]


@rule(Root)
def root(node: Root, context: EvaluationContext) -> Value:
    """√x and ⁿ√x."""
    body = value(node.body, context)
    if node.degree is None:
        return call("sqrt", [body], context.reading)
    degree = scalar(value(node.degree, context))
    return each(lambda x: power(x, 1 / degree), body)


@rule(Postfix)
def postfix(node: Postfix, context: EvaluationContext) -> Value:
    """5 % and n!."""
    if node.sign == "%":
        body = value(node.body, context)
        return each(lambda x: x / 100, body) if context.reading.percent else body
    if node.sign == "!":
        return factorial(value(node.body, context))
    if node.sign == "°":
        return each(lambda x: x * degree(), value(node.body, context))
    raise Undecided(f"{node.sign} after a formula")
