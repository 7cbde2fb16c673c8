r"""A syntax tree in MathML Core, which browsers draw without help.

Every side of a chain is a `<math>` of its own that begins with its relation, so that a long line breaks before a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from workings.check.latex import syntax
from workings.check.latex.glyphs import ACCENTS, FENCES, WIDE_ACCENTS, letter
from workings.check.latex.one_line import is_short
from workings.check.report.markup import escaped

_THIN = '<mspace width="0.17em"></mspace>'
_MIDDLE = '<mo form="infix" stretchy="false" lspace="0.28em" rspace="0.28em">{sign}</mo>'
_FENCE = 'fence="true" lspace="0" rspace="0"'
_UPRIGHT = frozenset({"text", "rm", "sf", "tt"})
_OVER = frozenset("∑ ∏ ∐ lim ⨁ ⨂ ⨀ ⋃ ⋂ ⋀ ⋁ ⨆ ⨄ max min argmax argmin sup inf limsup liminf".split())
"""Signs whose limits stand under and over them."""
_TALL = ("<mfrac", "<mtable", "<munder", "<mover", "<msqrt", "<mroot")


def formula(node: syntax.Node) -> str:
    """A formula in pieces that may wrap.

    >>> from workings.check.latex.parse import parse
    >>> formula(parse("x^2 = 4"))
    '<math displaystyle="true"><msup><mi>x</mi><mn>2</mn></msup></math> <math displaystyle="true"><mo form="infix" lspace="0">=</mo><mn>4</mn></math>'
    """  # noqa: E501 (a line of output)
    return " ".join(f'<math displaystyle="true">{piece}</math>' for piece in _pieces(node))


def _pieces(node: syntax.Node) -> Iterable[str]:
    if isinstance(node, syntax.Items):
        for part, after in zip_longest(node.parts, node.parts[1:]):
            *most, last = _pieces(part)
            yield from most
            yield last if after is None or syntax.Words in (type(part), type(after)) else f"{last}<mo>,</mo>"
    elif isinstance(node, syntax.Chain):
        yield _markup(node.items[0])
        for sign, item in zip(node.relations, node.items[1:], strict=True):
            yield f'<mo form="infix" lspace="0">{escaped(sign)}</mo>{_markup(item)}'
    else:
        yield _markup(node)


def _markup(node: syntax.Node) -> str:
    """One element, or several beside each other."""
    return WRITERS[type(node)](node)


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _one(node: syntax.Node | None) -> str:
    """One element, for a place that takes just one."""
    if node is None:
        return "<mrow></mrow>"
    written = _markup(node)
    simple = isinstance(node, syntax.Number | syntax.Symbol | syntax.Script) and written.startswith("<m")
    return written if simple else _row(written)


def _operator(sign: str) -> str:
    return f"<mo>{escaped(sign.replace('-', '−').replace('*', '∗'))}</mo>"


def _fenced(inside: str, left: str, right: str) -> str:
    """`inside` between brackets that grow with it; around what is low, growing ones would stand too far off."""
    grows = "" if any(tag in inside for tag in _TALL) else ' stretchy="false"'
    ends = [
        f'<mo {_FENCE} form="{form}"{grows}>{escaped(sign)}</mo>' if sign else ""
        for form, sign in (("prefix", left), ("postfix", right))
    ]
    return _row(ends[0], inside, ends[1])


def _commas(nodes: Sequence[syntax.Node]) -> str:
    return "<mo>,</mo>".join(map(_markup, nodes))


def _words(text: str) -> str:
    return f"<mtext>{escaped(text)}</mtext>"


def _scripts(base: str, below: str, above: str, *, over: bool = False) -> str:
    """A base with what stands below and above it; `over`: straight below and above."""
    if below and above:
        tag = "munderover" if over else "msubsup"
    elif below or above:
        tag = ("munder" if below else "mover") if over else ("msub" if below else "msup")
    else:
        return base
    return f"<{tag}>{base}{below}{above}</{tag}>"


def _number(node: syntax.Number) -> str:
    mantissa, e, exponent = node.text.lower().partition("e")
    digits = f"<mn>{escaped(mantissa)}</mn>"
    if not e:
        return digits
    power = _row(_operator("-") if "-" in exponent else "", f"<mn>{escaped(exponent.lstrip('+-'))}</mn>")
    return _row(digits, _operator("·"), f"<msup><mn>10</mn>{power}</msup>")


def _symbol(node: syntax.Symbol) -> str:
    name = letter(node.name, node.style)
    upright = _UPRIGHT.intersection(node.style) or ("bold" in node.style and name.isascii())
    bold = ' class="bold"' if "bold" in node.style else ""
    variant = ' mathvariant="normal"' if upright and len(name) == 1 else ""
    written = f"<mi{bold}{variant}>{escaped(name)}</mi>"
    for style in node.style:
        if style in ACCENTS:
            written = _accented(written, style, ACCENTS[style][0])
    return written


def _accented(base: str, accent: str, sign: str) -> str:
    tag, name = ("munder", "accentunder") if accent == "underline" else ("mover", "accent")
    return f'<{tag} {name}="true">{base}<mo stretchy="{str(len(base) > 60).lower()}">{escaped(sign)}</mo></{tag}>'


def _sum(node: syntax.Sum) -> str:
    out = []
    for at, (sign, term) in enumerate(node.terms):
        if at or sign != "+" or len(node.terms) == 1:
            out.append(_operator(sign) if at else f'<mo form="prefix">{escaped(sign.replace("-", "−"))}</mo>')
        out.append(_markup(term))
    return "".join(out)


def _product(node: syntax.Product) -> str:
    out = []
    for at, (sign, factor) in enumerate(node.factors):
        before = node.factors[at - 1][1] if at else None
        if sign:
            out.append(_words(f" {sign} ") if sign.isalpha() else _operator(sign))
        elif isinstance(factor, syntax.Number) and isinstance(before, syntax.Number):
            out.append(_operator("·"))
        elif at and (_is_word(factor) or (before is not None and _is_word(before))):
            out.append(_THIN)
        out.append(_markup(factor))
    return "".join(out)


def _is_word(node: syntax.Node) -> bool:
    """Whether it would run into its neighbour: a function, a matrix, a name of several letters, a sign with limits."""
    if isinstance(node, syntax.Script):
        return _is_word(node.base)
    wide = syntax.Function | syntax.Big | syntax.Matrix | syntax.Derivative
    return isinstance(node, wide) or (isinstance(node, syntax.Symbol) and "text" in node.style)


def _quotient(node: syntax.Quotient) -> str:
    if node.bar:
        return f"<mfrac>{_one(node.above)}{_one(node.below)}</mfrac>"
    return f'{_markup(node.above)}<mo lspace="0" rspace="0">/</mo>{_markup(node.below)}'


def _function(node: syntax.Function) -> str:
    if node.name == "binom" and len(node.arguments) == 2:
        return _fenced(f'<mfrac linethickness="0">{_one(node.arguments[0])}{_one(node.arguments[1])}</mfrac>', "(", ")")
    if node.name in WIDE_ACCENTS and node.arguments:
        return _accented(_row(_commas(node.arguments)), node.name, WIDE_ACCENTS[node.name])
    below, above = (_one(part) if part is not None else "" for part in (node.below, node.above))
    name = _scripts(f"<mi>{escaped(node.name)}</mi>", below, above, over=node.name in _OVER)
    if not node.arguments:
        return name
    return name + (_fenced(_commas(node.arguments), "(", ")") if node.bracketed else _THIN + _commas(node.arguments))


def _big(node: syntax.Big) -> str:
    name = _operator(node.operator) if len(node.operator) == 1 else f"<mi>{escaped(node.operator)}</mi>"
    below, above = (_one(part) if part is not None else "" for part in (node.below, node.above))
    return _scripts(name, below, above, over=node.operator in _OVER) + _THIN + _markup(node.body)


def _derivative(node: syntax.Derivative) -> str:
    if node.sign.startswith("∇"):
        power = "<mn>2</mn>" if node.sign == "∇²" else ""
        return _scripts("<mo>∇</mo>", _row(_commas(node.by)) if node.by else "", power) + (
            _markup(node.body) if node.body else ""
        )
    sign = _operator("∂") if node.sign == "∂" else '<mi mathvariant="normal">d</mi>'
    order = f"<msup>{sign}<mn>{len(node.by)}</mn></msup>" if len(node.by) > 1 else sign
    below = "".join(sign + _markup(variable) for variable in node.by)
    if node.body is None or is_short(node.body):
        return f"<mfrac>{_row(order, _markup(node.body) if node.body else '')}{_row(below)}</mfrac>"
    body = _fenced(_markup(node.body), "(", ")") if isinstance(node.body, syntax.Sum) else _markup(node.body)
    return f"<mfrac>{_row(order)}{_row(below)}</mfrac>{_THIN}{body}"


def _rows(rows: tuple[tuple[syntax.Node, ...], ...]) -> str:
    return "".join(f"<mtr>{''.join(f'<mtd>{_markup(cell)}</mtd>' for cell in cells)}</mtr>" for cells in rows)


def _matrix(node: syntax.Matrix) -> str:
    left, right = FENCES.get(node.kind, ("", ""))
    return _fenced(f"<mtable>{_rows(node.rows)}</mtable>", left, right)


def _postfix(node: syntax.Postfix) -> str:
    if node.sign in "|‖":
        return _fenced(_markup(node.body), "", node.sign)
    if set(node.sign) <= set("'′"):
        return f'{_markup(node.body)}<mo form="postfix" lspace="0" rspace="0">{"′" * len(node.sign)}</mo>'
    return _markup(node.body) + _operator(node.sign)


def _labelled(node: syntax.Labelled) -> str:
    tag, sign = ("munder", "⏟") if node.sign == "under" else ("mover", "⏞")
    return f"<{tag}><{tag}>{_one(node.body)}<mo>{sign}</mo></{tag}>{_one(node.label)}</{tag}>"


def _script(node: syntax.Script) -> str:
    below, above = (_one(part) if part is not None else "" for part in (node.below, node.above))
    return _scripts(_one(node.base), below, above)


def _root(node: syntax.Root) -> str:
    if node.degree is None:
        return f"<msqrt>{_markup(node.body)}</msqrt>"
    return f"<mroot>{_one(node.body)}{_one(node.degree)}</mroot>"


def _chain(node: syntax.Chain) -> str:
    out = _markup(node.items[0])
    for sign, item in zip(node.relations, node.items[1:], strict=True):
        out += f'<mo form="infix">{escaped(sign)}</mo>{_markup(item)}'
    return out


WRITERS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.Number: _number,
    syntax.Symbol: _symbol,
    syntax.Script: _script,
    syntax.Sum: _sum,
    syntax.Product: _product,
    syntax.Quotient: _quotient,
    syntax.Group: lambda node: _fenced(_commas(node.items), node.open, node.close),
    syntax.Function: _function,
    syntax.Root: _root,
    syntax.Matrix: _matrix,
    syntax.Cases: lambda node: _fenced(f'<mtable class="cases">{_rows(node.rows)}</mtable>', "{", ""),
    syntax.Big: _big,
    syntax.Derivative: _derivative,
    syntax.Postfix: _postfix,
    syntax.Given: lambda node: _markup(node.body) + _MIDDLE.format(sign=escaped(node.sign)) + _markup(node.condition),
    syntax.Labelled: _labelled,
    syntax.Nothing: lambda node: "",
    syntax.Axes: lambda node: _words(node.text),
    syntax.Dots: lambda node: "<mo>…</mo>",
    syntax.Words: lambda node: _words(f" {node.text} "),
    syntax.Chain: _chain,
    syntax.Items: lambda node: _commas(node.parts),
}
"""How each kind of node is written."""
