"""The value of a formula under one reading, with the definitions that were carried so far.

`evaluate(node, Sight(scope, reading))` returns a number or a table. `Undecided` says that there is no value to compute (an
unknown letter, a function without a definition, dots), `Mismatch` that the shapes do not fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpq

from workings.check.functions import ZERO, call, exponential, factorial, logarithm, norm
from workings.check.latex import latex
from workings.check.names import is_capital
from workings.check.reading import USUAL, Reading
from workings.check.scope import Decimals, Scope, is_transpose
from workings.check.syntax import (
    Big,
    Cases,
    Chain,
    Derivative,
    Function,
    Group,
    Items,
    Labelled,
    Matrix,
    Node,
    Nothing,
    Number,
    Postfix,
    Product,
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.value import (
    Mismatch,
    Table,
    Undecided,
    Value,
    added,
    correlation,
    determinant,
    each,
    entries,
    entrywise,
    free_list,
    inner,
    inverse,
    joined,
    joined_rows,
    matrix_product,
    power,
    product,
    quotient,
    scalar,
)

MOST_STEPS = 400_000
"""A formula that takes more steps than this (a sum of very many terms) is left undecided."""


@dataclass(slots=True)
class Budget:
    """The steps that are left."""

    left: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class Sight:
    """How a formula is looked at: what is known, how it is read, and what its decimals stand for."""

    scope: Scope
    reading: Reading = USUAL
    decimals: Decimals = Decimals.PRINTED
    places: int | None = None
    """If given, only decimals with at least so many places count as rounded."""
    budget: Budget | None = None


@lru_cache(maxsize=50_000)
def number(text: str) -> arb:
    """A printed decimal, taken at its word."""
    value = Number(text).value
    return arb(fmpq(value.numerator, value.denominator))


@lru_cache(maxsize=50_000)
def rounded_number(text: str) -> arb:
    """Everything that a printed decimal may stand for: half a unit of its last place to either side."""
    printed = Number(text)
    if printed.places is None or not looks_rounded(printed):
        return number(text)
    return arb(number(text), arb(fmpq(1, 2)) * arb(10) ** -printed.places)


def looks_rounded(printed: Number) -> bool:
    """Three digits or more, or two after the point: `0.1`, `0.001` and `1.5` are taken at their word."""
    digits = printed.text.lower().partition("e")[0].replace(".", "").lstrip("0")
    return printed.places is not None and (len(digits) > 2 or (len(digits) == 2 and printed.places > 1))


def evaluate(node: Node, sight: Sight) -> Value:
    """The value of `node`, or `Undecided`, or `Mismatch`."""
    if sight.budget is None:
        sight = replace(sight, budget=Budget())
    return _value(node, sight)


def _value(node: Node, sight: Sight) -> Value:
    assert sight.budget is not None
    sight.budget.left -= 1
    if sight.budget.left < 0:
        raise Undecided("it takes too many steps")
    known = sight.scope.value(node, sight.decimals)
    if known is not None:
        return known
    rule = RULES.get(type(node))
    if rule is None:
        raise Undecided(f"{type(node).__name__.lower()} has no value")
    return rule(node, sight)


def _number(node: Number, sight: Sight) -> Value:
    if sight.reading.base == 2 and set(node.text) <= {"0", "1"}:
        return arb(int(node.text, 2))
    if sight.decimals is Decimals.PRINTED or node.places is None:
        return number(node.text)
    if sight.decimals is Decimals.BEHIND:
        return sight.scope.behind.get(node.text) or number(node.text)
    if sight.places is not None and node.places < sight.places:
        return number(node.text)
    return rounded_number(node.text)


def _symbol(node: Symbol, sight: Sight) -> Value:
    if not node.style:
        if node.name == "pi":
            return arb.pi()
        if node.name == "e":
            return arb.const_e()
        if node.name == "infty":
            return arb.pos_inf()
    raise Undecided(f"{node.name} is not known")


def _script(node: Script, sight: Sight) -> Value:
    base, below, above = node.base, node.below, node.above
    if isinstance(base, Group) and base.open in "|‖" and len(base.items) == 1:
        length = _norm(base, below, sight)
        return length if above is None else power(length, scalar(_value(above, sight)))
    if above is None:
        return _entry(base, below, sight)
    if base == Symbol("e") and below is None and sight.scope.value(base, sight.decimals) is None:
        return each(exponential, _value(above, sight))
    inner = base if below is None else Script(base, below, span=node.span)
    if is_transpose(above):
        value = _value(inner, sight)
        if not isinstance(value, Table) and sight.scope.definition(above) is not None:
            return power(value, scalar(_value(above, sight)))
        if isinstance(value, Table) and value.free and not isinstance(inner, Group):
            return Table(value.rows)  # the vector w is a column, so that its transpose is a row
        return value.transposed if isinstance(value, Table) else value
    if isinstance(above, Group) and above.open in "([":
        raise Undecided("a superscript in brackets is an index")
    return _power(_value(inner, sight), above, sight)


def _power(value: Value, above: Node, sight: Sight) -> Value:
    """xʸ; of a matrix entry by entry or as a matrix; A⁻¹ is the inverse."""
    if isinstance(above, Symbol) and above.name in ("ast", "star", "dagger", "circ", "prime"):
        raise Undecided("a mark above a letter is part of its name")
    exponent = scalar(_value(above, sight))
    if not isinstance(value, Table):
        return power(value, exponent)
    if exponent == -1:
        return inverse(value)
    if sight.reading.powers == "dot" and value.is_vector and exponent == 2:
        return sum((x * x for x in value.entries), ZERO)
    if (
        sight.reading.powers == "matrix"
        and exponent.is_integer()
        and 0 < float(exponent) <= 64
        and value.shape[0] == value.shape[1]
    ):
        result = value
        for _ in range(int(float(exponent)) - 1):
            result = matrix_product(result, value)
        return result
    return each(lambda x: power(x, exponent), value)


def _entry(base: Node, below: Node | None, sight: Sight) -> Value:
    """xᵢ, Aᵢⱼ, A_{i,j}: an entry of a known table."""
    if below is None:
        return _value(base, sight)
    if isinstance(base, Function | Big):
        raise Undecided("an index of a function")
    value = _value(base, sight)
    indices = _indices(below, value, sight)
    if not isinstance(value, Table):
        raise Undecided("an index of a number")
    places = [i - sight.reading.first for i in indices]
    if len(places) == 1 and value.is_vector:
        numbers = value.entries
        if 0 <= places[0] < len(numbers):
            return numbers[places[0]]
    elif len(places) == 2:
        i, j = places
        if 0 <= i < value.shape[0] and 0 <= j < value.shape[1]:
            return value.rows[i][j]
    raise Undecided("an index outside of the table")


def _indices(below: Node, value: Value, sight: Sight) -> list[int]:
    """The whole numbers of an index: `i`, `i,j`, `ij` or `12` (two digits of a matrix)."""
    if isinstance(below, Items | Group):
        parts = below.parts if isinstance(below, Items) else below.items
    elif isinstance(below, Product) and all(sign == "" for sign, _ in below.factors):
        parts = tuple(factor for _, factor in below.factors)
    elif isinstance(below, Number) and isinstance(value, Table) and not value.is_vector and len(below.text) == 2:
        parts = (Number(below.text[0]), Number(below.text[1]))
    else:
        parts = (below,)
    indices = []
    for part in parts:
        index = scalar(_value(part, sight))
        if not index.is_integer() or abs(float(index)) > 1e9:
            raise Undecided("an index that is not a whole number")
        indices.append(int(float(index)))
    return indices


def _sum(node: Sum, sight: Sight) -> Value:
    total: Value | None = None
    for sign, term in node.terms:
        if sign not in "+-":
            raise Undecided(f"{sign} stands for two values")
        value = _value(term, sight)
        if sign == "-":
            value = each(lambda x: -x, value)
        total = value if total is None else added(total, value)
    if total is None:
        raise Undecided("an empty sum")
    return total


def _product(node: Product, sight: Sight) -> Value:
    factors = node.factors
    result: Value | None = None
    index = 0
    if (
        sight.reading.mixed
        and len(factors) == 2
        and isinstance(factors[0][1], Number)
        and isinstance(factors[1][1], Quotient)
    ):
        return added(_value(factors[0][1], sight), _value(factors[1][1], sight))
    while index < len(factors):
        sign, factor = factors[index]
        following = factors[index + 1] if index + 1 < len(factors) else None
        if isinstance(factor, Words) and index > 0:
            index += 1  # a unit, or a remark
            continue
        if following is not None and following[0] == "" and isinstance(following[1], Group) and following[1].open in "([":
            value = _applied(factor, following[1], sight)
            if value is not None:
                index += 1
            else:
                value = _value(factor, sight)
        else:
            value = _value(factor, sight)
        index += 1
        if result is None:
            result = value
        elif sign == "÷":
            result = quotient(result, value)
        elif sign in ("*", "⋆") and isinstance(result, Table) and isinstance(value, Table):
            result = correlation(result, value, sight.reading.turned)
        elif sign == "mod":
            result = remainder(result, value)
        elif sign in PRODUCTS:
            result = product(result, value, PRODUCTS[sign])
        else:
            raise Undecided(f"{sign} is not computed")
    if result is None:
        raise Undecided("an empty product")
    return result


PRODUCTS = {"": "", "·": "·", "*": "·", "×": "×", "∘": "⊙", "⊙": "⊙", "@": ""}
SIGMOIDS = {Symbol("sigma")}


def remainder(a: Value, b: Value) -> Value:
    """a mod b."""
    x, y = scalar(a), scalar(b)
    if not y > 0:
        raise Undecided("a remainder by what is not positive")
    return x - y * (x / y).floor()


def _applied(name: Node, group: Group, sight: Sight) -> Value | None:
    """f(x) where f is a function; none where f is a factor."""
    application = Product((("", name), ("", group)))
    known = sight.scope.value(application, sight.decimals)
    if known is not None:
        return known
    function = sight.scope.function(name)
    if function is not None and len(function.names) == len(group.items):
        arguments = [_value(item, sight) for item in group.items]
        inner = replace(sight, scope=sight.scope.bound(dict(zip(function.names, arguments, strict=True))))
        return _value(function.body, inner)
    if name in SIGMOIDS and sight.scope.definition(name) is None:
        return call("sigmoid", [_value(item, sight) for item in group.items], sight.reading)
    if isinstance(name, Symbol | Script | Postfix) and sight.scope.value(name, sight.decimals) is None:
        if name == Symbol("pi") or (isinstance(name, Script) and name.base == Symbol("e")):
            return None
        if (
            isinstance(name, Script)
            and isinstance(name.base, Symbol)
            and sight.scope.value(name.base, sight.decimals) is not None
        ):
            return None
        raise Undecided("a letter before brackets may be a function")
    return None


def _quotient(node: Quotient, sight: Sight) -> Value:
    return quotient(_value(node.above, sight), _value(node.below, sight))


def _root(node: Root, sight: Sight) -> Value:
    body = _value(node.body, sight)
    if node.degree is None:
        return call("sqrt", [body], sight.reading)
    degree = scalar(_value(node.degree, sight))
    return each(lambda x: power(x, 1 / degree), body)


def _group(node: Group, sight: Sight) -> Value:
    if node.open in "|‖":
        if len(node.items) != 1:
            raise Undecided("several things between bars")
        return _norm(node, None, sight)
    if node.open == "⌊" or node.open == "⌈":
        return call("floor" if node.open == "⌊" else "ceil", [_value(node.items[0], sight)], sight.reading)
    if node.open == "⟨" and len(node.items) == 2:
        a, b = (_value(item, sight) for item in node.items)
        if isinstance(a, Table) and isinstance(b, Table) and len(a.entries) == len(b.entries):
            return inner(a.entries, b.entries)
        raise Undecided("⟨ ⟩ of what are not two vectors of one length")
    if len(node.items) == 1:
        return _value(node.items[0], sight)
    if not node.items:
        raise Undecided("empty brackets")
    values = [_value(item, sight) for item in node.items]
    if not any(isinstance(value, Table) for value in values):
        if node.open == "{":
            raise Undecided("a set")
        return free_list([scalar(value) for value in values])
    if all(isinstance(value, Table) and value.free for value in values):
        return joined_rows([value for value in values if isinstance(value, Table)])
    if node.open == "[" and all(isinstance(value, Table) for value in values):
        return joined(values, below=not sight.reading.beside)
    raise Undecided("a list of tables")


def _norm(group: Group, below: Node | None, sight: Sight) -> arb:
    """|x| of a number, ‖x‖ of a vector, |A| of a square matrix (its determinant)."""
    value = _value(group.items[0], sight)
    if below is None and group.open == "|":
        if not isinstance(value, Table):
            return abs(value)
        if is_capital(group.items[0]):
            raise Undecided("|A| may be the size of a set")
        return norm(value, "2") if value.is_vector else determinant(value)
    match below:
        case None:
            return norm(value, "2" if not isinstance(value, Table) or value.is_vector else "")
        case Number(text="1" | "2" as p):
            return norm(value, p)
        case Symbol(name="infty"):
            return norm(value, "∞")
        case Symbol(name="F"):
            return norm(value, "F")
    raise Undecided("a norm that is not known")


def _function(node: Function, sight: Sight) -> Value:
    arguments = node.arguments
    values = [_value(argument, sight) for argument in arguments]
    if node.name in ("log", "ln", "lg"):
        if len(values) != 1:
            raise Undecided("a logarithm of several numbers")
        result = logarithm(values[0], _base(node, sight))
    elif node.below is not None:
        raise Undecided(f"{node.name} with an index")
    else:
        result = call(node.name, values, sight.reading)
    if node.above is None:
        return result
    if is_transpose(node.above):
        return result.transposed if isinstance(result, Table) else result
    exponent = scalar(_value(node.above, sight))
    if exponent == -1:
        raise Undecided(f"{node.name}⁻¹ may be the inverse function")
    return each(lambda x: power(x, exponent), result)


def _base(node: Function, sight: Sight) -> arb | None:
    """The base of a logarithm; none is e."""
    if node.below is not None:
        return None if node.below == Symbol("e") else scalar(_value(node.below, sight))
    if node.name == "ln":
        return None
    if node.name == "lg":
        return arb(10) if sight.reading.log == "10" else arb(2)
    return {"e": None, "2": arb(2), "10": arb(10)}[sight.reading.log]


def _matrix(node: Matrix, sight: Sight) -> Value:
    widths = {len(row) for row in node.rows}
    if len(widths) != 1:
        raise Mismatch(f"rows of {' and '.join(map(str, sorted(widths)))} entries")
    values = [[_value(entry, sight) for entry in row] for row in node.rows]
    if node.kind in ("vmatrix", "Vmatrix"):
        return determinant(Table(tuple(tuple(scalar(v) for v in row) for row in values)))
    if any(isinstance(value, Table) for row in values for value in row):
        return joined_rows([joined(row, below=False) for row in values])
    return Table(tuple(tuple(scalar(v) for v in row) for row in values))


def _big(node: Big, sight: Sight) -> Value:
    """Σ and Π over whole numbers; max and min likewise."""
    if node.operator == "lim":
        return _limit(node, sight)
    if node.operator not in ("∑", "∏"):
        raise Undecided(f"{node.operator} is not computed")
    match node.below:
        case Chain(items=(Symbol() as letter, start), relations=("=",)) if node.above is not None:
            first, last = scalar(_value(start, sight)), scalar(_value(node.above, sight))
        case Symbol() as letter if node.above is None:
            first, last = arb(1), arb(_length(letter, node.body, sight))
        case _:
            raise Undecided("a sum without bounds")
    if not first.is_integer() or not last.is_integer() or not float(last) - float(first) < 20_000:
        raise Undecided("a sum whose bounds are not moderate whole numbers")
    total: Value | None = None
    for i in range(int(float(first)), int(float(last)) + 1):
        inner = replace(sight, scope=sight.scope.bound({letter: arb(i)}))
        term = _value(node.body, inner)
        if total is None:
            total = term
        else:
            total = added(total, term) if node.operator == "∑" else product(total, term, "")
    if total is None:
        return ZERO if node.operator == "∑" else arb(1)
    return total


def _length(letter: Node, body: Node, sight: Sight) -> int:
    """How many terms Σ_i has: as many as the vectors with the index i have entries."""
    lengths = set()
    for part in body.walk():
        if isinstance(part, Script) and part.below == letter:
            vector = sight.scope.value(part.base, sight.decimals)
            if isinstance(vector, Table) and vector.is_vector:
                lengths.add(len(vector.entries))
    if len(lengths) != 1:
        raise Undecided("a sum without bounds")
    return lengths.pop()


NEAR = arb(2) ** -60


def _limit(node: Big, sight: Sight) -> Value:
    """lim: the value close to the place, if it no longer changes there."""
    match node.below:
        case Chain(items=(Symbol() as letter, place), relations=("→",)):
            pass
        case _:
            raise Undecided("a limit without its place")
    side = 1
    if isinstance(place, Script) and place.below is None and isinstance(place.above, Symbol | Sum | Words):
        side = -1 if "-" in latex(place.above) else 1
        place = place.base
    if sight.decimals is Decimals.ROUNDED:
        raise Undecided("a limit of rounded numbers")
    target = scalar(_value(place, sight))
    steps = [NEAR, NEAR / 16]
    points = (
        [target + side * step for step in steps]
        if target.is_finite()
        else [(-1 if target < 0 else 1) / step for step in steps]
    )
    far, near = (_value(node.body, replace(sight, scope=sight.scope.bound({letter: point}))) for point in points)
    change = entrywise(lambda a, b: abs(a - b), far, near, "−")
    if any(not x < arb("1e-12") for x in entries(change)):
        raise Undecided("a limit that does not settle")
    return each(lambda x: snapped(x.mid()), near)


def snapped(x: arb) -> arb:
    """The short number that a limit is close to, if there is one."""
    ratio = Fraction(float(x)).limit_denominator(1000)
    short = arb(fmpq(ratio.numerator, ratio.denominator))
    return short if abs(short - x) < arb("1e-12") else x


def _postfix(node: Postfix, sight: Sight) -> Value:
    if node.sign == "%":
        value = _value(node.body, sight)
        return each(lambda x: x / 100, value) if sight.reading.percent else value
    if node.sign == "!":
        return factorial(_value(node.body, sight))
    raise Undecided(f"{node.sign} after a formula")


STEP = arb(2) ** -40


def _derivative(node: Derivative, sight: Sight) -> Value:
    """∂f/∂x at the known value of x, by a central difference whose error is far below any printed digit."""
    if node.body is None or len(node.by) != 1 or sight.decimals is Decimals.ROUNDED:
        raise Undecided("a derivative that is not computed")
    letter = node.by[0]
    here = sight.scope.value(letter, sight.decimals)
    if here is None or isinstance(here, Table):
        raise Undecided("a derivative at an unknown place")
    ahead, behind = (
        _value(node.body, replace(sight, scope=sight.scope.bound({letter: here + side * STEP}))) for side in (1, -1)
    )
    return each(lambda x: x.mid(), entrywise(lambda a, b: (a - b) / (2 * STEP), ahead, behind, "−"))


def _labelled(node: Labelled, sight: Sight) -> Value:
    try:
        return _value(node.body, sight)
    except Undecided:
        return _value(node.label, sight)  # H(p) with its value written below it


def _items(node: Items, sight: Sight) -> Value:
    written = [part for part in node.parts if not isinstance(part, Words | Nothing)]
    if len(written) == 1:
        return _value(written[0], sight)
    raise Undecided("several formulas")


def _cases(node: Cases, sight: Sight) -> Value:
    raise Undecided("cases")


RULES: dict[type[Node], Callable[..., Value]] = {
    Number: _number,
    Symbol: _symbol,
    Script: _script,
    Sum: _sum,
    Product: _product,
    Quotient: _quotient,
    Root: _root,
    Group: _group,
    Function: _function,
    Matrix: _matrix,
    Big: _big,
    Postfix: _postfix,
    Derivative: _derivative,
    Labelled: _labelled,
    Items: _items,
    Cases: _cases,
}
