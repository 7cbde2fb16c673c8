r"""A syntax tree as one line of Unicode, for a terminal: x², √(a + b), [1 0; 0 1], ∑ᵢ xᵢ.

A fraction bar becomes a slash, with brackets where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from workings.check.latex import syntax
from workings.check.latex.glyphs import ACCENTS, FENCES, SQUARE, WIDE_ACCENTS, letter, lowered, raised

_LOOSE = (syntax.Sum, syntax.Product, syntax.Quotient, syntax.Chain, syntax.Items, syntax.Big, syntax.Given)
"""What needs brackets beside a slash or under a script."""
_DETERMINANTS = {kind: signs for kind, signs in FENCES.items() if signs[0] == signs[1]}
"""The kinds of matrix whose bars mean something; the others are written in square brackets."""


def one_line(node: syntax.Node) -> str:
    r"""The formula on one line.

    >>> from workings.check.latex.parse import parse
    >>> one_line(parse(r"\frac{1}{\sqrt{2}} \begin{bmatrix} 1 & 0 \\ 0 & x_i^2 \end{bmatrix} \approx \sum_i \alpha_i"))
    '1/√2 [1 0; 0 xᵢ²] ≈ ∑ᵢ αᵢ'
    """
    return WRITERS[type(node)](node)


def _tight(node: syntax.Node) -> str:
    """In brackets where it would fall apart."""
    written = one_line(node)
    loose = isinstance(node, _LOOSE) or (isinstance(node, syntax.Function) and not node.bracketed)
    return f"({written})" if loose else written


def _minus(sign: str) -> str:
    return sign.replace("-", "−")


def _commas(nodes: Sequence[syntax.Node]) -> str:
    return ", ".join(map(one_line, nodes))


def _scripts(base: str, below: syntax.Node | None, above: syntax.Node | None) -> str:
    """Small characters where there are some, else _( ) and ^( )."""
    for part, moved, sign in ((below, lowered, "_"), (above, raised, "^")):
        if part is not None:
            written = one_line(part)
            simple = len(written) == 1 or written.isalpha() or written.replace(".", "").isdigit()
            base += moved(written) or sign + (written if simple else f"({written})")
    return base


def _symbol(node: syntax.Symbol) -> str:
    return letter(node.name, node.style) + "".join(ACCENTS[style][1] for style in node.style if style in ACCENTS)


def _sum(node: syntax.Sum) -> str:
    (first, term), *rest = node.terms
    head = _minus(first) if first != "+" or not rest else ""
    return head + one_line(term) + "".join(f" {_minus(sign)} {one_line(term)}" for sign, term in rest)


def _product(node: syntax.Product) -> str:
    out = ""
    for at, (sign, factor) in enumerate(node.factors):
        written = f"({one_line(factor)})" if isinstance(factor, syntax.Sum) else one_line(factor)
        before = node.factors[at - 1][1] if at else None
        if sign:
            out += f" {sign} " if sign.isalpha() else f" {sign} " if sign not in "·" else "·"
        elif at:
            numbers = isinstance(before, syntax.Number) and isinstance(factor, syntax.Number)
            out += "·" if numbers else "" if _is_joined(before, factor) else " "
        out += written
    return out


def _is_joined(one: syntax.Node | None, other: syntax.Node) -> bool:
    """Whether two factors stand close: 2x, f(x), and letters that are written so."""
    if isinstance(other, syntax.Words):
        return False
    if isinstance(one, syntax.Number) or isinstance(other, syntax.Group):
        return True
    letters = isinstance(one, syntax.Symbol) and isinstance(other, syntax.Symbol | syntax.Script)
    return letters and one is not None and one.span[1] == other.span[0]


def _quotient(node: syntax.Quotient) -> str:
    above = f"({one_line(node.above)})" if isinstance(node.above, syntax.Sum | syntax.Chain) else one_line(node.above)
    if isinstance(node.above, syntax.Product) and node.bar and len(above) > 8:
        above = f"({above})"
    return f"{above}/{_tight(node.below)}"


def _function(node: syntax.Function) -> str:
    if node.name == "binom" and len(node.arguments) == 2:
        return f"({one_line(node.arguments[0])} choose {one_line(node.arguments[1])})"
    if node.name in WIDE_ACCENTS:
        return f"{WIDE_ACCENTS[node.name]}({_commas(node.arguments)})"
    name = _scripts(node.name, node.below, node.above)
    if not node.arguments:
        return name
    inside = _commas(node.arguments)
    spread = any(isinstance(part, syntax.Quotient | syntax.Sum) for part in node.arguments)
    return f"{name}({inside})" if node.bracketed or spread else f"{name} {inside}"


def _big(node: syntax.Big) -> str:
    return f"{_scripts(node.operator, node.below, node.above)} {one_line(node.body)}".rstrip()


def _derivative(node: syntax.Derivative) -> str:
    """∂f/∂x, d/dx (x² + 1), ∇f."""
    if node.sign.startswith("∇"):
        name = _scripts("∇", syntax.Items(node.by) if node.by else None, None)
        return f"{name}{node.sign[1:]}{' ' if len(name) > 1 else ''}{_tight(node.body) if node.body else ''}"
    order = raised(str(len(node.by))) if len(node.by) > 1 else ""
    below = " ".join(node.sign + _tight(variable) for variable in node.by)
    below = f"({below})" if order else below
    if node.body is None or is_short(node.body):
        return f"{node.sign}{order}{one_line(node.body) if node.body else ''}/{below}"
    body = one_line(node.body)
    return f"{node.sign}{order}/{below} {body if isinstance(node.body, syntax.Group) else f'({body})'}"


def is_short(node: syntax.Node) -> bool:
    """Whether it can stand beside the d of a derivative: a name, with an index, or a call."""
    if isinstance(node, syntax.Script):
        return isinstance(node.base, syntax.Symbol) and node.above is None
    called = isinstance(node, syntax.Product) and len(node.factors) == 2 and isinstance(node.factors[1][1], syntax.Group)
    return isinstance(node, syntax.Symbol | syntax.Function) or called


def _rows(rows: tuple[tuple[syntax.Node, ...], ...]) -> str:
    simple = all(" " not in one_line(cell) for cells in rows for cell in cells)
    return "; ".join((" " if simple else ", ").join(map(one_line, cells)) for cells in rows)


def _matrix(node: syntax.Matrix) -> str:
    left, right = _DETERMINANTS.get(node.kind, SQUARE)
    return f"{left}{_rows(node.rows)}{right}"


def _postfix(node: syntax.Postfix) -> str:
    if set(node.sign) <= set("'′"):
        return _tight(node.body) + "′" * len(node.sign)
    return _tight(node.body) + node.sign


def _root(node: syntax.Root) -> str:
    degree = "" if node.degree is None else raised(one_line(node.degree)) or f"{one_line(node.degree)}-th "
    return f"{degree}√{_tight(node.body)}"


def _chain(node: syntax.Chain) -> str:
    out = one_line(node.items[0])
    for sign, item in zip(node.relations, node.items[1:], strict=True):
        out += f" {sign} {one_line(item)}"
    return out.strip()


def _items(node: syntax.Items) -> str:
    """With commas between formulas, but not beside words."""
    out = one_line(node.parts[0]) if node.parts else ""
    for before, part in pairwise(node.parts):
        words = isinstance(before, syntax.Words) or isinstance(part, syntax.Words)
        out += (" " if words else ", ") + one_line(part)
    return out


WRITERS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.Number: lambda node: node.text,
    syntax.Symbol: _symbol,
    syntax.Script: lambda node: _scripts(_tight(node.base), node.below, node.above),
    syntax.Sum: _sum,
    syntax.Product: _product,
    syntax.Quotient: _quotient,
    syntax.Group: lambda node: f"{node.open}{_commas(node.items)}{node.close}",
    syntax.Function: _function,
    syntax.Root: _root,
    syntax.Matrix: _matrix,
    syntax.Cases: lambda node: f"{{{_rows(node.rows)}",
    syntax.Big: _big,
    syntax.Derivative: _derivative,
    syntax.Postfix: _postfix,
    syntax.Given: lambda node: f"{one_line(node.body)} {node.sign} {one_line(node.condition)}",
    syntax.Labelled: lambda node: _tight(node.body),
    syntax.Nothing: lambda node: "",
    syntax.Axes: lambda node: node.text,
    syntax.Dots: lambda node: "…",
    syntax.Words: lambda node: node.text.strip(),
    syntax.Chain: _chain,
    syntax.Items: _items,
}
"""How each kind of node is written."""
