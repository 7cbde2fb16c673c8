r"""Write a tree as LaTeX such that it reads back the same: `parse(latex(tree)) == tree`.

Braces that nobody sees hold together what would otherwise fall apart: a sum in a product is `{a + b} c`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workings.check.latex import syntax
from workings.check.latex.signs import ACCENTS, BIG, FONTS, KINDS, WIDE

_SIGNS = {
    "≈": r"\approx", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "→": r"\to", "←": r"\gets", "⇒": r"\implies", "⇔": r"\iff",
    "∈": r"\in", "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq", "∼": r"\sim", "∝": r"\propto", "≡": r"\equiv",
    "≪": r"\ll", "≫": r"\gg", "↦": r"\mapsto", "±": r"\pm", "∓": r"\mp", "·": r"\cdot", "×": r"\times", "∘": r"\circ",
    "⊙": r"\odot", "⊗": r"\otimes", "mod": r"\bmod",
}  # fmt: skip
_BRACKETS = {
    "{": r"\{", "}": r"\}", "⌊": r"\lfloor ", "⌋": r"\rfloor", "⌈": r"\lceil ", "⌉": r"\rceil", "⟨": r"\langle ",
    "⟩": r"\rangle",
}  # fmt: skip
_BARS = {"|": (r"\lvert ", r" \rvert"), "‖": (r"\lVert ", r" \rVert")}
_OPERATORS = {sign: "\\" + name for name, sign in BIG.items()}
_STYLES = {style: "\\" + words.split()[0] for style, words in (FONTS | ACCENTS).items()} | {"text": r"\text"}
_WIDE_ACCENTS = frozenset(WIDE.get(name, name) for name in ACCENTS)
_KNOWN = frozenset(
    "exp log ln lg sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan max min sup inf limsup liminf det "
    "gcd dim deg ker hom".split()
)


def latex(node: syntax.Node) -> str:
    r"""The LaTeX of a tree.

    >>> from workings.check.latex.parse import parse
    >>> latex(parse("½ x² ≈ 0.50"))
    '\\frac{1}{2} x^{2} \\approx 0.50'
    """
    if isinstance(node, syntax.Items):
        return ", ".join(map(_formula, node.parts))
    if isinstance(node, syntax.Given):
        middle = r" \mid " if node.sign == "|" else r" \middle\| "
        return latex(node.body) + middle + latex(node.condition)
    return _formula(node)


def _braced(node: syntax.Node) -> str:
    return "{" + latex(node) + "}"


def _formula(node: syntax.Node) -> str:
    """What may stand between commas."""
    if isinstance(node, syntax.Words):
        return rf"\text{{{node.text}}}"
    if not isinstance(node, syntax.Chain):
        return _sum(node)
    sides = [_sum(item) for item in node.items]
    text = sides[0]
    for relation, side in zip(node.relations, sides[1:], strict=True):
        text += f" {_SIGNS.get(relation, relation)} {side}"
    return text.strip()


def _sum(node: syntax.Node) -> str:
    """What may stand beside a relation."""
    if not isinstance(node, syntax.Sum):
        return _term(node)
    first = "" if len(node.terms) > 1 and node.terms[0][0] == "+" else _SIGNS.get(node.terms[0][0], node.terms[0][0]) + " "
    rest = (f" {_SIGNS.get(sign, sign)} {_term(term)}" for sign, term in node.terms[1:])
    return first + _term(node.terms[0][1]) + "".join(rest)


def _term(node: syntax.Node) -> str:
    """What may stand beside a plus."""
    if isinstance(node, syntax.Product):
        return _product(node.factors)
    if isinstance(node, syntax.Quotient) and not node.bar:
        if isinstance(node.above, syntax.Product):
            above = _product(node.above.factors, ends=False)
        else:
            above = _term(node.above) if _has_slash(node.above) else _factor(node.above)
        return f"{above} / {_factor(node.below)}"
    return _big(node) if isinstance(node, syntax.Big) else _factor(node)


def _has_slash(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Quotient) and not node.bar


def _product(factors: Sequence[tuple[str, syntax.Node]], ends: bool = True) -> str:
    """Braces for a slash except in front, for Σ except at the end, for a number or a bare script after a number."""
    text = ""
    for at, (sign, factor) in enumerate(factors):
        if at == 0 and _has_slash(factor):
            piece = _term(factor)
        elif ends and at == len(factors) - 1 and isinstance(factor, syntax.Big):
            piece = _big(factor)
        else:
            piece = _factor(factor)
        bare = isinstance(factor, syntax.Number) or (
            isinstance(factor, syntax.Script) and isinstance(factor.base, syntax.Nothing)
        )
        if at and not sign and bare and isinstance(factors[at - 1][1], syntax.Number):
            piece = "{" + piece + "}"
        text += f" {_SIGNS.get(sign, sign)} {piece}" if sign else f" {piece}" if at else piece
    return text


def _factor(node: syntax.Node) -> str:
    """What may stand beside anything: a thing that holds together, or braces."""
    write = _FACTORS.get(type(node))
    return _braced(node) if write is None else write(node)


def _base(node: syntax.Node) -> str:
    """What may carry scripts."""
    simple = isinstance(node, syntax.Number | syntax.Symbol | syntax.Group | syntax.Matrix) or (
        isinstance(node, syntax.Postfix) and node.sign == "'"
    )
    return _factor(node) if simple else _braced(node)


def _symbol(node: syntax.Symbol) -> str:
    if node.style == ("text", "tt"):
        return rf"\texttt{{{node.name}}}"
    if "text" in node.style:
        text = node.name
    else:
        text = "\\" + node.name if "\\" + node.name in KINDS and len(node.name) > 1 else node.name
    text = {"#": r"\#", "∥": r"\parallel"}.get(text.removeprefix("\\"), text)
    for style in node.style:
        text = f"{_STYLES[style]}{{{text}}}"
    return text


def _scripts(below: syntax.Node | None, above: syntax.Node | None) -> str:
    under = "" if below is None else "_" + _braced(below)
    return under if above is None else under + "^" + _braced(above)


def _postfix(node: syntax.Postfix) -> str:
    if node.sign in _BARS:
        return rf"\left. {latex(node.body)} \right{node.sign}"
    return _base(node.body) + {"%": r"\%"}.get(node.sign, node.sign)


def _group(node: syntax.Group) -> str:
    inside = ", ".join(latex(item) if isinstance(item, syntax.Given) else _formula(item) for item in node.items)
    if node.open in _BARS:
        return _BARS[node.open][0] + inside + _BARS[node.open][1]
    if node.close == "":
        return rf"\left{_BRACKETS.get(node.open, node.open)} {inside} \right."
    return _BRACKETS.get(node.open, node.open) + inside + _BRACKETS.get(node.close, node.close)


def _function(node: syntax.Function) -> str:
    if node.name == "binom":
        return r"\binom" + "".join(map(_braced, node.arguments))
    if node.name in _WIDE_ACCENTS:
        return f"\\{node.name}{_braced(node.arguments[0])}"
    name = _operator(node.name) + _scripts(node.below, node.above)
    if not node.arguments:
        return "{" + name + "}"
    inside = ", ".join(latex(item) if isinstance(item, syntax.Given) else _formula(item) for item in node.arguments)
    return f"{name}({inside})" if node.bracketed else f"{name} {{{inside}}}"


def _operator(name: str) -> str:
    return "\\" + name if name in _KNOWN else rf"\operatorname{{{name}}}"


def _big(node: syntax.Big) -> str:
    name = _OPERATORS.get(node.operator) or _operator(node.operator)
    name += _scripts(node.below, node.above)
    return "{" + name + "}" if isinstance(node.body, syntax.Nothing) else f"{name} {_term(node.body)}"


def _derivative(node: syntax.Derivative) -> str:
    if node.sign.startswith("∇"):
        below = "_{" + ", ".join(map(_formula, node.by)) + "}" if node.by else ""
        power = "^{2}" if node.sign == "∇²" else ""
        return rf"\nabla{below}{power} {_factor(node.body)}" if node.body else rf"{{\nabla{below}{power}}}"
    sign = r"\partial" if node.sign == "∂" else "d"
    order = f"^{{{len(node.by)}}}" if len(node.by) > 1 else ""
    below = " ".join(f"{sign} {_factor(variable)}" for variable in node.by)
    if node.body is None:
        return rf"{{\frac{{{sign}{order}}}{{{below}}}}}"
    plain = isinstance(node.body, syntax.Product) and not _has_slash(node.body.factors[0][1])
    body = _term(node.body) if plain else _factor(node.body)
    return rf"\frac{{{sign}{order} {body}}}{{{below}}}"


def _rows(rows: tuple[tuple[syntax.Node, ...], ...]) -> str:
    return r" \\ ".join(" & ".join(map(latex, row)) for row in rows)


def _matrix(node: syntax.Matrix) -> str:
    if node.kind == "[;]":
        return "[" + "; ".join(", ".join(map(_formula, row)) for row in node.rows) + "]"
    columns = "{" + "c" * max(map(len, node.rows), default=1) + "}" if node.kind == "array" else ""
    text = rf"\begin{{{node.kind}}}{columns} {_rows(node.rows)} \end{{{node.kind}}}"
    aligned = node.kind == "array" and any(isinstance(part, syntax.Chain) for part in node.walk())
    return "{" + text + "}" if aligned else text  # alone it would read like align


def _root(node: syntax.Root) -> str:
    degree = "" if node.degree is None else f"[{latex(node.degree)}]"
    return rf"\sqrt{degree}{_braced(node.body)}"


def _labelled(node: syntax.Labelled) -> str:
    return rf"\{node.sign}brace{_braced(node.body)}{'_' if node.sign == 'under' else '^'}{_braced(node.label)}"


_FACTORS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.Number: lambda node: node.text,
    syntax.Symbol: _symbol,
    syntax.Script: lambda node: _base(node.base) + _scripts(node.below, node.above),
    syntax.Postfix: _postfix,
    syntax.Group: _group,
    syntax.Function: _function,
    syntax.Derivative: _derivative,
    syntax.Matrix: _matrix,
    syntax.Cases: lambda node: rf"\begin{{cases}} {_rows(node.rows)} \end{{cases}}",
    syntax.Root: _root,
    syntax.Labelled: _labelled,
    syntax.Quotient: lambda node: (
        "{" + _term(node) + "}" if not node.bar else rf"\frac{_braced(node.above)}{_braced(node.below)}"
    ),
    syntax.Axes: lambda node: r"\text{" + node.text.replace(" ", " }", 1),
    syntax.Dots: lambda node: r"\ldots",
    syntax.Nothing: lambda node: "",
}
