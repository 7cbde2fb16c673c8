"""Functions with a name or a sign of their own: log₂ x, softmax(z), √x, n! and 5 %."""

from __future__ import annotations

from flint import arb

from workings.check.latex.syntax import Function, Postfix, Root, Symbol
from workings.check.value.evaluation.sight import Sight, rule, value
from workings.check.value.functions import call, factorial, logarithm
from workings.check.value.scope import is_transpose
from workings.check.value.value import Table, Undecided, Value, each, power, scalar


@rule(Function)
def function(node: Function, sight: Sight) -> Value:
    """f(x); f²(x) is (f(x))², and f(x)ᵀ the transpose of its value."""
    result = called(node, sight)
    if node.above is None:
        return result
    if is_transpose(node.above):
        return result.transposed if isinstance(result, Table) else result
    exponent = scalar(value(node.above, sight))
    if exponent == -1:
        raise Undecided(f"{node.name}⁻¹ may be the inverse function")
    return each(lambda x: power(x, exponent), result)


def called(node: Function, sight: Sight) -> Value:
    """The function at its arguments, without what stands above its name."""
    values = [value(argument, sight) for argument in node.arguments]
    if node.name in ("log", "ln", "lg"):
        if len(values) != 1:
            raise Undecided("a logarithm of several numbers")
        return logarithm(values[0], base(node, sight))
    if node.below is not None:
        raise Undecided(f"{node.name} with an index")
    return call(node.name, values, sight.reading)


def base(node: Function, sight: Sight) -> arb | None:
    """The base of a logarithm; none is e."""
    if node.below is not None:
        return None if node.below == Symbol("e") else scalar(value(node.below, sight))
    if node.name == "ln":
        return None
    if node.name == "lg":
        return arb(10) if sight.reading.log == "10" else arb(2)
    return {"e": None, "2": arb(2), "10": arb(10)}[sight.reading.log]


@rule(Root)
def root(node: Root, sight: Sight) -> Value:
    """√x and ⁿ√x."""
    body = value(node.body, sight)
    if node.degree is None:
        return call("sqrt", [body], sight.reading)
    degree = scalar(value(node.degree, sight))
    return each(lambda x: power(x, 1 / degree), body)


@rule(Postfix)
def postfix(node: Postfix, sight: Sight) -> Value:
    """5 % and n!."""
    if node.sign == "%":
        body = value(node.body, sight)
        return each(lambda x: x / 100, body) if sight.reading.percent else body
    if node.sign == "!":
        return factorial(value(node.body, sight))
    raise Undecided(f"{node.sign} after a formula")
