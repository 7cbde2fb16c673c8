"""Products, quotients and remainders, and f(x), which is written like a product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from flint import arb

from workings.check.latex.syntax import Group, Node, Number, Postfix, Product, Quotient, Script, Symbol, Words
from workings.check.value.evaluation.context import EvaluationContext, applied, rule, value
from workings.check.value.functions import call
from workings.check.value.notation import form_of_sign
from workings.check.value.remainders import remainder
from workings.check.value.units import UNIT
from workings.check.value.value import (
    Mismatch,
    Reason,
    Table,
    Undecided,
    Value,
    correlation,
    plus,
    product,
    quotient,
    scalar,
)

_PRODUCTS = {"": "", "·": "·", "*": "·", "×": "×", "∘": "⊙", "⊙": "⊙", "@": "", UNIT: ""}
"""For each sign between two factors the product that it means."""
_SIGMOID = Symbol("sigma")
"""σ(x) is the sigmoid, unless the document says otherwise."""


@rule(Product)
def factors_together(node: Product, context: EvaluationContext) -> Value:
    """a b c, from left to right; 2 ½ is a sum if it is read as a mixed number."""
    match node.factors:
        case ((_, Number() as whole), (_, Quotient() as part)) if context.reading.mixed:
            return plus(value(whole, context), value(part, context))
        case ((_, Number() as whole), (_, Postfix(body=Quotient(), sign="%") as part)) if context.reading.mixed:
            return plus(value(Postfix(whole, "%"), context), value(part, context))
        case (*body, ("mod", number)) if body:
            return _modulo(body[0][1] if len(body) == 1 else Product(tuple(body)), number, context)
    runs: list[tuple[str, Value]] = []
    for sign, x in _factor_values(node.factors, context):
        if not runs or (_PRODUCTS.get(sign) == "⊙" and context.reading.entrywise == "last"):
            runs.append((sign, x))
        else:
            runs[-1] = runs[-1][0], _combine(runs[-1][1], sign, x, context)
    if not runs:
        raise Undecided("an empty product")
    result = runs[0][1]
    for sign, x in runs[1:]:
        result = _combine(result, sign, x, context)
    return result


def _factor_values(factors: tuple[tuple[str, Node], ...], context: EvaluationContext) -> Iterator[tuple[str, Value]]:
    """Each factor's value with the sign before it; f(x) is one factor, a unit or a remark is none."""
    index = 0
    while index < len(factors):
        sign, factor = factors[index]
        index += 1
        if isinstance(factor, Words) and index > 1:
            continue
        applied: Value | None = None
        match factors[index : index + 1]:
            case (("", Group(open=opened) as argument),) if opened in "([":
                applied = _application(factor, argument, context)
        if applied is None:
            yield sign, value(factor, context)
        else:
            index += 1
            yield sign, applied


def _combine(a: Value, sign: str, b: Value, context: EvaluationContext) -> Value:
    """a and b with the sign between them: as the author explains it, or as it is usual."""
    own = context.scope.notation(form_of_sign(sign)) if context.scope.notations else None
    if own is not None:
        return applied(own, [a, b], context)
    reading = context.reading
    arrays = reading.lists == "arrays"
    if sign == "÷":
        return quotient(a, b, arrays)
    if sign in ("*", "⋆") and isinstance(a, Table) and isinstance(b, Table):
        return correlation(a, b, reading.turned)
    if sign in _PRODUCTS:
        return product(a, b, _PRODUCTS[sign], arrays)
    raise Undecided(f"{sign} is not computed")


def _modulo(body: Node, number: Node, context: EvaluationContext) -> Value:
    """a mod n: of each entry of a table; of a fraction and an inverse, what they are among the remainders."""
    n = scalar(value(number, context))
    if not n > 0:
        raise Undecided("a remainder by what is not positive")
    whole = n.unique_fmpz()
    if whole is not None and whole > 1:
        with suppress(Undecided, Mismatch):
            return arb(remainder(body, int(whole), context))
    a = value(body, context)
    if isinstance(a, Table):
        return Table(tuple(tuple(_remainder(x, n) for x in row) for row in a.rows), a.free)
    return _remainder(a, n)


def _remainder(x: arb, n: arb) -> arb:
    return x - n * (x / n).floor()


def _application(name: Node, argument: Group, context: EvaluationContext) -> Value | None:
    """f(x) where f is a function; none where f is a factor."""
    known = context.known(Product((("", name), ("", argument))))
    if known is not None:
        return known
    if argument.open == "[" and len(argument.items) == 1 and isinstance(context.known(name), Table):
        raise Undecided("x[n] is an entry, counted from where the author counts", Reason.NOTATION)
    function = context.scope.function(name)
    if function is not None and len(function.names) == len(argument.items):
        values = [value(item, context) for item in argument.items]
        return applied(function, values, context)
    if name == _SIGMOID and context.scope.definition(name) is None:
        return call("sigmoid", [value(item, context) for item in argument.items], context.reading)
    if isinstance(name, Symbol | Script | Postfix) and context.known(name) is None and not _is_factor(name, context):
        raise Undecided("a letter before brackets may be a function", Reason.FUNCTION)
    return None


def _is_factor(name: Node, context: EvaluationContext) -> bool:
    """Whether a letter without a value of its own is no function: π, eˣ, a power of a known letter."""
    if not isinstance(name, Script):
        return name == Symbol("pi")
    if not isinstance(name.base, Symbol | Script | Postfix):
        return True  # a matrix, a bracket
    return name.base == Symbol("e") or (isinstance(name.base, Symbol) and context.known(name.base) is not None)


@rule(Quotient)
def fraction(node: Quotient, context: EvaluationContext) -> Value:
    """a / b."""
    return quotient(value(node.above, context), value(node.below, context), context.reading.lists == "arrays")
