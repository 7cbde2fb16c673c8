"""The derivative of a formula as a formula, for what is told of a wrong one.

SymPy differentiates; it is given a tree that we build node by node, never text, and it is loaded only when a wrong
derivative has been found.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from workings.check.latex.calls import called_letters
from workings.check.latex.one_line import one_line
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Function, Group, Node, Number, Product, Quotient, Root, Script, Sum, Symbol
from workings.check.latex.weights import plain

if TYPE_CHECKING:
    from sympy import Expr

_FUNCTIONS = "exp log sin cos tan sinh cosh tanh".split()
_LONGEST = 60
"""Characters from which on a derivative is no help."""


class _UnknownFormError(Exception):
    """A formula that is not elementary."""


def derivative_text(body: Node, letter: Node) -> str:
    """The derivative of `body` by a letter, or nothing where it is not elementary or too long.

    >>> derivative_text(parse(r"\\frac{(4w + 1 - 3)^2}{2}"), parse("w"))
    '16w − 8'
    """
    import sympy

    symbols: dict[Node, Expr] = {}
    try:
        expression = _expression(body, symbols)
    except _UnknownFormError:
        return ""
    if plain(letter) not in symbols:
        return ""
    names = {symbol: f"v_{{{index}}}" for index, symbol in enumerate(symbols.values())}
    found = sympy.simplify(sympy.diff(expression, symbols[plain(letter)]))
    found = min(found, sympy.expand(found), key=sympy.count_ops)
    text = sympy.latex(found, symbol_names=names, ln_notation=False)
    try:
        tree = parse(text)
    except ParseError:
        return ""
    written = {parse(name): node for node, symbol in symbols.items() for name in [names[symbol]]}
    told = one_line(_with_names(tree, written))
    return told if len(told) <= _LONGEST else ""


def _with_names(node: Node, written: dict[Node, Node]) -> Node:
    """The letters of the document instead of numbered ones."""
    match node:
        case Script(base=base, below=below, above=above) if Script(base, below) in written:
            name = written[Script(base, below)]
            raised = None if above is None else _with_names(above, written)
            if isinstance(name, Script):
                return Script(name.base, name.below, raised)
            return name if raised is None else Script(name, None, raised)
    return node.rebuilt(lambda part: _with_names(part, written))


def _expression(node: Node, symbols: dict[Node, Expr]) -> Expr:
    import sympy

    def of(part: Node) -> Expr:
        return _expression(part, symbols)

    match node:
        case Number(text=text):
            return sympy.Rational(*Fraction(text.replace(",", "")).as_integer_ratio())
        case Symbol(name="pi"):
            return sympy.pi
        case Script(base=Symbol(name="e"), below=None, above=above) if above is not None:
            return sympy.exp(of(above))
        case Symbol() | Script(base=Symbol(), above=None):
            return symbols.setdefault(plain(node), sympy.Symbol(f"v{len(symbols)}", real=True))
        case Group(open="(" | "[" | "{", items=(item,)):
            return of(item)
        case Sum(terms=terms) if all(sign in "+-" for sign, _ in terms):
            return sympy.Add(*(of(term) if sign == "+" else -of(term) for sign, term in terms))
        case Product(factors=factors) if all(sign in ("", "·", "×", "*") for sign, _ in factors) and not called_letters(
            node
        ):
            return sympy.Mul(*(of(factor) for _, factor in factors))
        case Quotient(above=above, below=below):
            return of(above) / of(below)
        case Root(body=body, degree=degree):
            return of(body) ** (sympy.Rational(1, 2) if degree is None else 1 / of(degree))
        case Script(base=base, below=None, above=above) if above is not None:
            return of(base) ** of(above)
        case Function(name=name, arguments=(argument,), below=None, above=None):
            if name == "ln" or name in _FUNCTIONS:
                return getattr(sympy, "log" if name == "ln" else name)(of(argument))
    raise _UnknownFormError
