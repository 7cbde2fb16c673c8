r"""Read single things: numbers, letters, functions, fractions, roots, sums, letters with fonts and accents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workings.check.latex.parse_derivatives import fraction
from workings.check.latex.parse_environments import environment, substack
from workings.check.latex.parse_groups import group, number
from workings.check.latex.parse_scripts import argument, braces, scripts
from workings.check.latex.reader import Reader, product
from workings.check.latex.signs import LIMITS, WIDE
from workings.check.latex.syntax import (
    Big,
    Derivative,
    Dots,
    Function,
    Group,
    Items,
    Labelled,
    Node,
    Nothing,
    Number,
    Postfix,
    Root,
    Script,
    Sum,
    Symbol,
)
from workings.check.latex.tokens import Token

_ARGUMENTS = frozenset("([{")


def _symbol(reader: Reader, token: Token) -> Node:
    _, (name, style), start, end = token
    return Symbol(name, _fonts(style, reader.style), span=(start, end))


def _fonts(inner: tuple[str, ...], outer: tuple[str, ...]) -> tuple[str, ...]:
    return inner + tuple(font for font in outer if font not in inner) if outer else inner


def _brace_group(reader: Reader, _: Token) -> Node:
    reader.at -= 1
    return braces(reader)


def _frac(reader: Reader, token: Token) -> Node:
    above = argument(reader, "\\" + token[1])
    below = argument(reader, "\\" + token[1])
    node = fraction(above, below, token[1], reader.span(token[2]))
    return with_body(reader, node) if isinstance(node, Derivative) else node


def with_body(reader: Reader, node: Derivative) -> Derivative:
    """After `d/dx` comes what is differentiated: a bracket, or else the product that follows."""
    if node.body is not None:
        return node
    body = reader.factor() if reader.kind == "open" else reader.term(reach=True)
    return replace(node, body=body, span=reader.span(node.span[0]))


def _root(reader: Reader, token: Token) -> Node:
    r"""`\sqrt[n]{x}`, `√x`."""
    if token[1] == "√":
        return Root(reader.factor(), span=reader.span(token[2]))
    degree = None
    if reader.tokens[reader.at][:2] == ("open", "["):
        reader.at += 1
        degree = reader.formulas()
        if reader.tokens[reader.at][:2] != ("close", "]"):
            raise reader.refuse("A closing ] for the degree of the root")
        reader.at += 1
    body = argument(reader, "\\sqrt")
    return Root(body, degree, span=reader.span(token[2]))


def _big(reader: Reader, token: Token) -> Node:
    """`Σ` with its bounds; its body is the product that follows."""
    below, above, _ = scripts(reader)
    return Big(token[1], below, above, _body(reader), span=reader.span(token[2]))


def _body(reader: Reader) -> Node:
    start = reader.tokens[reader.at][2]
    if reader.kind == "sign":
        sign = reader.sign(False)
        term = reader.term()
        if term is None:
            raise reader.refuse(f"A term after {sign}")
        return Sum(((sign, term),), span=reader.span(start))
    end = reader.span(start)[1]
    return reader.term() or Nothing(span=(end, end))


def _function(reader: Reader, token: Token) -> Node:
    r"""`\log_2 x`, `\max(a, b)`; `\max_i x_i` runs over i like a sum."""
    _, name, start, _ = token
    below, above, primes = scripts(reader)
    if primes:
        return _named_derivative(reader, name, start, primes)
    if name in LIMITS and below is not None and any(isinstance(part, Symbol) for part in below.walk()):
        return Big(name, below, above, _body(reader), span=reader.span(start))
    arguments, bracketed = _arguments(reader)
    return Function(name, arguments, below, above, bracketed, span=reader.span(start))


def _named_derivative(reader: Reader, name: str, start: int, primes: int) -> Node:
    """`tanh'`: the derivative of a named function; what follows in brackets is written beside it."""
    node: Node = Function(name, (), span=reader.span(start))
    for _ in range(primes):
        node = Postfix(node, "'", span=reader.span(start))
    return node


_VARIABLES = frozenset(("x", "y", "z", "t", "n", "k", "m", "a", "b", "c", "theta", "alpha", "beta", "omega", "varphi"))


def _arguments(reader: Reader) -> tuple[tuple[Node, ...], bool]:
    """The arguments, and whether they stand in brackets. Without, one factor is taken; `p(x)` counts as one."""
    kind, value, start, _ = reader.tokens[reader.at]
    if kind == "open" and value in _ARGUMENTS:
        reader.at += 1
        inside = group(reader, (kind, value, start, start + 1))
        return (inside.items if isinstance(inside, Group) else (inside,)), True
    if kind == "{" and not reader.long_reach:
        inside = braces(reader)
        if isinstance(inside, Group) and inside.open == "(":
            return inside.items, True
        return (inside.parts if isinstance(inside, Items) else (inside,)), False
    if kind == "sign" and value != "+":
        sign = reader.sign(False)
        return (Sum(((sign, _reach(reader)),), span=reader.span(start)),), False
    if kind in ATOMS:
        return (_reach(reader),), False
    return (), True


def _reach(reader: Reader) -> Node:
    if reader.long_reach:
        term = reader.term(reach=True)
        if term is None:
            raise reader.refuse("An argument")
        return term
    return _factor_with_bracket(reader)


def _factor_with_bracket(reader: Reader) -> Node:
    """One factor, and the bracket that stands right behind a letter: `p(x)`."""
    first = reader.factor()
    kind, value, start, _ = reader.tokens[reader.at]
    named = isinstance(first, Symbol | Postfix) or (isinstance(first, Script) and isinstance(first.base, Symbol | Postfix))
    if named and kind == "open" and value in "([" and not reader.text[first.span[1] : start].strip(" ").strip("\\left"):
        before = reader.at
        inside = reader.factor()
        if reader.text[first.span[1] : start].startswith(" ") or (_is_variable(first) and _is_calculation(inside)):
            reader.at = before
            return first
        return product([("", first), ("", inside)])
    return first


def _is_variable(node: Node) -> bool:
    """A letter that hardly anybody uses for a function."""
    return isinstance(node, Symbol) and node.name in _VARIABLES


def _is_calculation(node: Node) -> bool:
    """(1 + 2 sin x), which is no argument of a letter before it, as (t) and (x, y) may be."""
    inner = node.items[0] if isinstance(node, Group) and len(node.items) == 1 else None
    return isinstance(inner, Sum)


def _nabla(reader: Reader, token: Token) -> Node:
    r"""`\nabla_x f`: the gradient of the factor that follows."""
    below, above, _ = scripts(reader)
    sign = "∇"
    if above is not None:
        if not (isinstance(above, Number) and above.text == "2"):
            raise reader.refuse("∇ or ∇²")
        sign = "∇²"
    by = () if below is None else below.parts if isinstance(below, Items) else (below,)
    body = _factor_with_bracket(reader) if reader.kind in ATOMS else None
    return Derivative(body, by, sign, span=reader.span(token[2]))


def _font(reader: Reader, token: Token) -> Node:
    r"""`\mathbf{…}`: the font of every letter inside. `\mathbf{1}` is a name, not the number."""
    inside = [kind for kind, *_ in reader.tokens[reader.at : reader.at + 3]]
    braced = inside == ["{", "number", "}"]
    if (braced or inside[:1] == ["number"]) and token[1] in ("bold", "bb"):
        text = reader.tokens[reader.at + braced][1]
        if text in "01":
            reader.at += 3 if braced else 1
            return Symbol(text, (token[1],), span=reader.span(token[2]))
    saved = reader.style
    reader.style = _fonts((token[1],), saved)
    node = argument(reader, "a font")
    reader.style = saved
    if isinstance(node, Symbol | Script | Number | Group | Function):
        return replace(node, span=reader.span(token[2]))
    return node


def _switch(reader: Reader, token: Token) -> Node:
    r"""`\bf` holds to the end of its braces."""
    reader.style = _fonts((token[1],), reader.style)
    if reader.kind not in ATOMS:
        return Nothing(span=token[2:])
    return reader.factor()


def _accent(reader: Reader, token: Token) -> Node:
    r"""`\hat{x}`: the accent belongs to the letter; over more than one letter it is a function of them."""
    node = argument(reader, "an accent")
    span = reader.span(token[2])
    accented = _accented(node, token[1])
    return replace(accented, span=span) if accented else Function(WIDE.get(token[1]) or str(token[1]), (node,), span=span)


def _accented(node: Node, name: str) -> Node | None:
    if isinstance(node, Symbol):
        return replace(node, style=(*node.style, name))
    if isinstance(node, Script) and isinstance(node.base, Symbol):
        return replace(node, base=replace(node.base, style=(*node.base.style, name)))
    return None


def _brace(reader: Reader, token: Token) -> Node:
    r"""`\underbrace{body}_{label}`."""
    body = argument(reader, "\\" + token[1])
    under = token[1] == "underbrace"
    if reader.kind != ("_" if under else "^"):
        return body
    reader.at += 1
    label = argument(reader, "the brace", script=True)
    return Labelled(body, label, "under" if under else "over", span=reader.span(token[2]))


def _stack(reader: Reader, token: Token) -> Node:
    r"""`\overset{a}{b}`: b, as the tree has no place for a; but `\underset{x}{\max}` is a maximum over x."""
    label = argument(reader, "\\" + token[1], script=True)
    node = argument(reader, "\\" + token[1])
    if token[1] == "underset" and isinstance(node, Function) and not node.arguments and node.name in LIMITS:
        return Big(node.name, label, None, _body(reader), span=reader.span(token[2]))
    if token[1] == "underset" and isinstance(node, Big) and node.below is None and isinstance(node.body, Nothing):
        return Big(node.operator, label, node.above, _body(reader), span=reader.span(token[2]))
    return node


def _operator(reader: Reader, token: Token) -> Node:
    r"""`\mathop{\arg\max}_x f`: scripts belong to the function in the braces."""
    node = argument(reader, "\\mathop")
    if isinstance(node, Function) and not node.arguments and node.below is node.above is None:
        return _function(reader, ("function", node.name, token[2], node.span[1]))
    return node


def _phantom(reader: Reader, token: Token) -> Node:
    argument(reader, "\\" + token[1])
    return reader.factor() if reader.kind in ATOMS else Nothing(span=reader.span(token[2]))


ATOMS: dict[str, Callable[[Reader, Token], Node]] = {
    "number": number, "symbol": _symbol, "{": _brace_group, "open": group, "bar": group, "frac": _frac, "binom": _frac,
    "sqrt": _root, "root": _root, "big": _big, "function": _function, "nabla": _nabla, "font": _font, "switch": _switch,
    "accent": _accent, "brace": _brace, "stack": _stack, "phantom": _phantom, "begin": environment, "substack": substack,
    "mathop": _operator,
    "dots": lambda _, token: Dots(span=token[2:]), "hash": lambda _, token: Symbol("#", span=token[2:]),
}  # fmt: skip
