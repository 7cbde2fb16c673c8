"""Complex numbers: i or j as the imaginary unit, where the formula shows that it is.

A letter i may be an index, an interest rate or √−1. It is the imaginary unit where it stands in the exponent of e, between
bars or beside √ of a negative number with nothing but numbers, in two conjugate brackets, as i² = −1, or as the a + b i or
the power of it between two sides that both have it. Once a problem shows it, it is so in all of it. A complex value is the
list of its real and imaginary part.
"""

from __future__ import annotations

from flint import acb, arb

from workings.check.latex.syntax import Function, Group, Node, Number, Product, Quotient, Root, Script, Sum, Symbol
from workings.check.value.evaluation.context import EvaluationContext, value
from workings.check.value.value import Reason, Table, Undecided, free_list, power, scalar

_LETTERS = (Symbol("i"), Symbol("j"))
_LARGEST_POWER = 1000
_CONJUGATES = ("overline", "conj")


def imaginary_unit(nodes: tuple[Node, ...], agreed: Symbol | None = None) -> Symbol | None:
    """The letter that these sides show to be √−1, or that is `agreed` to be, if nothing but it and numbers stand in them."""
    for letter in _LETTERS:
        if any(part == letter for node in nodes for part in node.walk()) and _is_shown(letter, nodes):
            return letter
    if agreed is None or not any(_has(node, agreed) for node in nodes):
        return None
    return agreed if all(_is_numeric(node, agreed) for node in nodes) else None


def _is_shown(letter: Symbol, nodes: tuple[Node, ...]) -> bool:
    brackets: list[tuple[str, Node]] = []
    for node in nodes:
        for part in node.walk():
            match part:
                case Script(base=Symbol(name="e"), below=None, above=Node() as above) if _has(above, letter):
                    return True
                case Function(name="exp", arguments=(argument,)) if _has(argument, letter):
                    return True
                case Group(open="|", items=(inside,)) if _is_binomial(inside, letter):
                    return True
                case Group(open="(", items=(Sum(terms=((_, first), (sign, second))) as inside,)) if _is_binomial(
                    inside, letter
                ):
                    if any(old != sign and factor == Product((("", first), ("", second))) for old, factor in brackets):
                        return True
                    brackets.append((sign, Product((("", first), ("", second)))))
                case Root(body=Sum(terms=(("-", _),))):
                    return True
    if len(nodes) != 2:
        return False
    minus_one = Sum((("-", Number("1")),))
    if nodes[1] == minus_one and nodes[0] == Script(letter, None, Number("2")):
        return True
    if not all(_has(node, letter) and _is_numeric(node, letter) for node in nodes):
        return False
    return any(_is_binomial(part, letter) or _is_power(part, letter) for node in nodes for part in node.walk())


def _is_power(node: Node, letter: Symbol) -> bool:
    """i³, i²³: a whole power of the letter."""
    match node:
        case Script(base=base, below=None, above=Number(text=text)):
            return base == letter and text.isdigit()
    return False


def _has(node: Node, letter: Symbol) -> bool:
    return any(part == letter for part in node.walk())


def _is_numeric(node: Node, letter: Symbol) -> bool:
    """Whether nothing but numbers and this letter stands in it."""
    return all(part == letter or part == Symbol("pi") for part in node.walk() if isinstance(part, Symbol))


def _is_binomial(node: Node, letter: Symbol) -> bool:
    """a + b i with numbers a and b."""
    match node:
        case Sum(terms=((_, first), (_, second))):
            return not _has(first, letter) and _has(second, letter) and _is_numeric(node, letter)
    return False


def complex_list(node: Node, letter: Symbol, context: EvaluationContext) -> Table:
    """A formula's real and imaginary part, as a list of two."""
    found = _complex_value(node, letter, context)
    return free_list([found.real, found.imag])


def _complex_value(node: Node, letter: Symbol, context: EvaluationContext) -> acb:
    """The value of a formula in which `letter` is √−1."""
    if not _has(node, letter) and not isinstance(node, Root | Sum | Product | Quotient | Group):
        return acb(scalar(value(node, context)))

    def inner(part: Node) -> acb:
        return _complex_value(part, letter, context)

    match node:
        case Symbol():
            return acb(0, 1)
        case Sum(terms=terms) if all(sign in "+-" for sign, _ in terms):
            return sum((inner(term) if sign == "+" else -inner(term) for sign, term in terms), acb(0))
        case Product(factors=factors) if all(sign in ("", "·", "×", "*") for sign, _ in factors):
            result = acb(1)
            for _, factor in factors:
                result *= inner(factor)
            return result
        case Quotient(above=above, below=below):
            divisor = inner(below)
            if divisor.contains(acb(0)):
                raise Undecided("a division by zero, or by what may be zero", Reason.NUMBER)
            return inner(above) / divisor
        case Group(open="|", items=(only,)):
            return acb(abs(inner(only)))
        case Group(open="(" | "[", items=(only,)):
            return inner(only)
        case Root(body=body, degree=None):
            return inner(body).sqrt()
        case Script(base=Symbol(name="e"), below=None, above=Node() as above):
            return inner(above).exp()
        case Script(base=base, below=None, above=Node() as above):
            return _power(inner(base), inner(above))
        case Function(name="exp" | "sin" | "cos" as name, arguments=(argument,), below=None, above=None):
            found: acb = getattr(inner(argument), name)()
            return found
        case Function(name=name, arguments=(argument,)) if name in _CONJUGATES:
            found = inner(argument)
            return acb(found.real, -found.imag)
    raise Undecided("a formula with complex numbers that is not computed")


def _power(x: acb, y: acb) -> acb:
    if y.imag.is_zero() and x.imag.is_zero() and x.real > 0:
        return acb(power(x.real, y.real))
    if not y.imag.is_zero() or not y.real.is_integer() or not abs(y.real) < arb(_LARGEST_POWER):
        raise Undecided("a complex power that is not computed")
    result: acb = x ** int(float(y.real))
    return result


def printed_pair(node: Node, letter: Symbol) -> Node:
    """0.5 + 0.87 i as the list (0.5, 0.87) of what is printed; anything else as it is."""
    match node:
        case Sum(terms=((sign, Number() as first), (other, Product(factors=((_, Number() as second), ("", last)))))) if (
            last == letter
        ):
            return Group("(", (Sum(((sign, first),)), Sum(((other, second),))), ")")
        case Number():
            return Group("(", (node, Number("0")), ")")
    return node
