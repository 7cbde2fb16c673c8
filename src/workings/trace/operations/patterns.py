"""Axes by their names, as einops writes them. The gradient goes back the same way, the pattern read from right to left.

y = rearrange(x, "b (h d) -> b h d")    ∂L/∂x = rearrange(∂L/∂y, "b h d -> b (h d)")
y = repeat(x, "d -> b d")               ∂L/∂x = the sum of ∂L/∂y over b
y = reduce(x, "b d -> b", "mean")       ∂L/∂x = ∂L/∂y repeated along d, divided by its length
"""

from __future__ import annotations

import ast
from typing import Any

from torch import Tensor

from workings.trace.formula.notation import Notation
from workings.trace.formula.operation import Operation
from workings.trace.formula.pattern import PatternError, letters_of, parse, pattern_of
from workings.trace.formula.script import Piece, Script
from workings.trace.formula.simplify import over, times
from workings.trace.formula.tree import Apply, Code, Formula, Number, Options
from workings.trace.operations.node import Gradients, Node, RuleError, indicator

_NAMES = {"rearrange": "rearrange", "repeat": "repeat_along", "reduce": "reduce"}
"""The functions of einops that have a pattern, by the operations that they are."""
_REDUCTIONS = ("sum", "mean", "max", "min")


def read_pattern(name: str, args: tuple[Formula, ...], options: Options) -> Formula | None:
    """The operation of a call with a pattern; None for any other call.

    >>> from workings.trace.formula.tree import Leaf
    >>> read_pattern("rearrange", (Leaf("x"), Code("'b d -> d b'", ast.Constant("b d -> d b"))), ())
    Apply(op='rearrange', args=(Leaf(text='x'),), options=(('pattern', 'b d -> d b'),))
    """
    texts = [_text(arg) for arg in args]
    place = next((i for i, text in enumerate(texts) if "->" in text), None)
    if place is None:
        return None
    try:
        if name == "einsum" and place == len(args) - 1 and place > 0:
            return Apply("einsum", args[:-1], (("text", letters_of(texts[place])),))
        if name in _NAMES and place == 1:
            parse(texts[1])
            return _operation(_NAMES[name], args, texts[2:], (("pattern", texts[1]), *options))
    except PatternError:
        return None
    return None


def _operation(op: str, args: tuple[Formula, ...], more: list[str], options: Options) -> Formula | None:
    if op != "reduce":
        return Apply(op, args[:1], options) if not more else None
    given = dict(options)
    reduction = more[0] if more else _text(given.pop("reduction", ""))
    return Apply(op, args[:1], (*given.items(), ("reduction", reduction))) if reduction in _REDUCTIONS else None


def _text(part: Any) -> str:
    """The words of a string that is written out."""
    match part:
        case Code(_, ast.Constant(value=str(text))):
            return text
        case Number(str(text)):
            return text
    return ""


# ---- values


def _rearrange(x: Tensor, *, pattern: str, **sizes: int) -> Tensor:
    from einops import rearrange

    return rearrange(x, pattern, **sizes)


def _repeat(x: Tensor, *, pattern: str, **sizes: int) -> Tensor:
    from einops import repeat

    return repeat(x, pattern, **sizes)


def _reduce(x: Tensor, *, pattern: str, reduction: str, **sizes: int) -> Tensor:
    from einops import reduce

    return reduce(x, pattern, reduction, **sizes)


# ---- gradients


def _back(node: Node, op: str, G: Formula, **options: Any) -> Formula:
    """G by the pattern from right to left, in the shape of the operand."""
    pattern, sizes = pattern_of(node.options)
    try:
        lengths = pattern.lengths(node.shape(node.args[0]), sizes)
    except PatternError as reason:
        raise RuleError(f"there is no rule for this pattern: {reason}") from reason
    given = {"pattern": str(pattern.reverse), **pattern.reverse.needed(lengths), **options}
    return Apply(op, (G,), tuple(given.items()))


def _through_rearrange(node: Node) -> Gradients:
    return (_back(node, "rearrange", node.G),)


def _through_repeat(node: Node) -> Gradients:
    return (_back(node, "reduce", node.G, reduction="sum"),)


def _through_reduce(node: Node) -> Gradients:
    (x,), reduction = node.args, node.options["reduction"]
    spread = _back(node, "repeat_along", node.G)
    if reduction == "sum":
        return (spread,)
    if reduction == "mean":
        return (over(spread, Number(node.value(x).numel() // max(node.value(node.formula).numel(), 1))),)
    hit = indicator(x, "=", _back(node, "repeat_along", node.Y))
    if (
        int(node.value(indicator(x, "=", _back(node, "repeat_along", node.formula))).sum())
        != node.value(node.formula).numel()
    ):
        raise RuleError(f"there is no rule for the {reduction} of several equal entries")
    return (times(spread, hit),)


# ---- notation


def _call(name: str) -> Notation:
    """rearrange(x, 'b (h d) -> b h d'), as it is written inside a larger formula."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        options = dict(formula.options)
        pattern = [script.code(repr(str(options.pop("pattern"))))] if "pattern" in options else []
        return Piece(
            script.call(
                script.function(name), [*(p.string for p in parts), *pattern], script.details(tuple(options.items()))
            )
        )

    return write


def _reduction(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """mean(x, over d); an axis that is told apart says so: max(x, over k of (g k))."""
    options = dict(formula.options)
    try:
        pattern = parse(str(options.get("pattern", "")))
    except PatternError:
        return _call("reduce")(script, formula, parts)
    gone = pattern.left_out()
    around = [group for group in pattern.before if len(group) > 1 and set(group) & set(gone)]
    place = f" of {' and '.join('(' + ' '.join(group) + ')' for group in around)}" if around else ""
    word = {"sum": "Σ"}.get(str(options.get("reduction")), str(options.get("reduction")))
    said = script.words(f"over {', '.join(gone)}{place}")
    return Piece(script.call(script.function(script.sign(word)), [part.string for part in parts], [said]))


ROWS = (
    Operation(
        "rearrange: the axes of a by their names, split, joined and moved; options pattern, sizes of axes",
        others="rearrange",
        compute=_rearrange,
        notation=_call("rearrange"),
        gradient=_through_rearrange,
        moves=True,
    ),
    Operation(
        "repeat_along: copies of a along new axes; options pattern, sizes of axes",
        compute=_repeat,
        notation=_call("repeat"),
        gradient=_through_repeat,
        moves=True,
    ),
    Operation(
        "reduce: the sum, mean, max or min of a over axes; options pattern, reduction, sizes of axes",
        others="reduce",
        compute=_reduce,
        notation=_reduction,
        gradient=_through_reduce,
    ),
)
