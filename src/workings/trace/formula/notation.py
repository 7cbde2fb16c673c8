"""How an operation is written, in no script in particular: a sum, a fraction, a sign with its axis below it.

A notation gets the script, the operation and its operands, already written, and returns a piece: the string, and how tightly
it holds together. Brackets come from comparing that with what the place needs; a notation never looks into a string to see
whether it needs them. What a fraction or a root looks like is for the script to say (`script.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from workings.precedence import ATOM, RELATION, SUM
from workings.trace.formula.script import Piece, Script, axes_of
from workings.trace.formula.tree import Apply, Options

Notation = Callable[[Script, Apply, list[Piece]], Piece]
_MADE = ("shape", "rank")
"""Options that only say how large what is made is: its shape stands beside it."""


def written_call(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """What an operation without a notation is: a call of its own name."""
    return function(formula.op)(script, formula, parts)


def function(word: str, hidden: Options = ()) -> Notation:
    """word(a, b); options that need no mention are `hidden`."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shown = tuple(option for option in formula.options if option not in hidden)
        return Piece(
            script.call(script.function(script.sign(word)), [piece.string for piece in parts], script.details(shown))
        )

    return write


def _with(count: int, make: Callable[..., Piece]) -> Notation:
    """A notation for so many operands; with others it is a call."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        return make(script, *parts) if len(parts) == count else written_call(script, formula, parts)

    return write


def infix(sign: str, level: int, left: int, right: int) -> Notation:
    """a ∘ b; `left` and `right` are how tightly the operands must hold together."""
    return _with(2, lambda s, a, b: Piece(s.infix(s.bracketed(a, left), sign, s.bracketed(b, right)), level))


def first_to_last(sign: str, level: int) -> Notation:
    """a + … + z, of many operands"""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        first, last = (script.bracketed(part, level) for part in (parts[0], parts[-1]))
        between = script.infix(first, sign, script.number("…").string)
        return Piece(script.infix(between, sign, last), level)

    return write


def prefix(sign: str, level: int, right: int) -> Notation:
    """∘a"""
    return _with(1, lambda s, a: Piece(s.prefix(sign, s.bracketed(a, right)), level))


def fence(left: str, right: str) -> Notation:
    """|a|"""
    return _with(1, lambda s, a: Piece(s.fence(a.string, left, right)))


fraction = _with(2, lambda s, a, b: s.fraction(a, b))
power = _with(2, lambda s, a, b: s.power(a, b))
exponential = _with(
    1, lambda s, a: s.exponential(a) if "e" not in s.taken else Piece(s.call(s.function("exp"), [a.string], []))
)
root = _with(1, lambda s, a: s.root(a))
transpose = _with(1, lambda s, a: s.superscript(a, "⊤"))
inverse = _with(1, lambda s, a: s.superscript(a, "−1"))
conjugate = _with(1, lambda s, a: s.superscript(a, "∗"))
subscript = _with(2, lambda s, a, b: s.subscript(a, b))
entry = _with(2, lambda s, a, b: Piece(s.entry(s.bracketed(a, ATOM), b.string)))
"""a[b]"""
where = _with(3, lambda s, condition, a, b: s.cases(a, condition, b))
masked_fill = _with(3, lambda s, a, mask, value: s.cases(value, mask, a))


def letter(name: str) -> Notation:
    """A constant that has a letter of its own: I."""
    return _with(0, lambda s: Piece(s.name(s.sign(name))))


def big(sign: str, bound: str = "") -> Notation:
    """Σ a, over an axis or all entries."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        if len(parts) != 1:
            return function(sign)(script, formula, parts)
        return script.big(sign, parts[0], script.details(formula.options), bound)

    return write


def compare(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a ≤ b, by the relation in the options."""
    return infix(str(dict(formula.options).get("relation", "=")), RELATION, SUM, SUM)(script, formula, parts)


def indicator(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """[a < b]: 1 where it holds, 0 elsewhere."""
    return Piece(script.fence(compare(script, formula, parts).string, "[", "]"))


def constant(digit: str) -> Notation:
    """A tensor of one number; without axes, the number."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shape = dict(formula.options).get("shape", ())
        if parts:
            return written_call(script, formula, parts)
        return Piece(script.constant_tensor(digit, script.size(shape))) if shape else script.number(digit)

    return write


def with_size(word: str, preposition: str = "") -> Notation:
    """repeat(a, 2×3): a function that makes a tensor of the shape in its options."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        size = script.size(dict(formula.options).get("shape", ()))
        detail = f"{script.plain.words(preposition + ' ')}{size}" if preposition else size
        return Piece(script.call(script.function(word), [piece.string for piece in parts], [detail]))

    return write


def onehot(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """onehot(y, 3 classes)"""
    classes = f"{script.size(dict(formula.options).get('classes', '?'))}{script.plain.words(' classes')}"
    return Piece(script.call(script.function("onehot"), [piece.string for piece in parts], [classes]))


def argsort(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """argsort(x, axis 0, descending, first 3): where the entries of sorted x stood."""
    options, plain = dict(formula.options), script.plain
    details = script.details((("dim", options.get("dim")),))
    details += [plain.words("descending")] if options.get("descending") else []
    details += [f"{plain.words('first ')}{script.size(options['k'])}"] if options.get("k") is not None else []
    return Piece(script.call(script.function("argsort"), [piece.string for piece in parts], details))


def einsum(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """einsum('ij,jk->ik', a, b)"""
    options = dict(formula.options)
    pattern = [script.code(repr(str(options.pop("text"))))] if "text" in options else []
    details = script.details(tuple(options.items()))
    return Piece(script.call(script.function("einsum"), [*pattern, *(piece.string for piece in parts)], details))


def without_size(notation: Notation) -> Notation:
    """The notation of what makes a tensor of a shape that needs no mention; with other options it is a call."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        formula = replace(formula, options=tuple(option for option in formula.options if option[0] not in _MADE))
        return (written_call if formula.options else notation)(script, formula, parts)

    return write


def in_words(pattern: str) -> Notation:
    """In words, such as `#1 summed over the copies`; options that matter stand after them in brackets."""
    count = len(set(re.findall(r"#\d", pattern)))

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        details = script.details(tuple(option for option in formula.options if option[0] not in (*_MADE, "at")))
        if len(parts) != count:
            return Piece(script.call(script.function(formula.op), [piece.string for piece in parts], details))
        pieces = [script.bracketed(piece, SUM) for piece in parts]
        said = [pieces[int(part[1]) - 1] if part[0] == "#" else script.words(part) for part in _split(pattern)]
        return Piece(script.row(*said, *([script.aside(details)] if details else [])), RELATION)

    return write


def _split(pattern: str) -> list[str]:
    return [part for part in re.split(r"(#\d)", pattern) if part]


def put(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a with b at [0, :]"""
    index = str(dict(formula.options).get("at", "..."))
    found = in_words("#1 with #2 everywhere" if index == "..." else "#1 with #2 at ")(script, formula, parts)
    return found if index == "..." else Piece(script.entry(found.string, _as_written(script, index)), RELATION)


def _as_written(script: Script, index: str) -> str:
    return script.code(index.replace("-", "−"))


def unsort(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a at π⁻¹: entries put back where they stood."""
    back = [script.superscript(part, "−1") if i == 1 else part for i, part in enumerate(parts)]
    return infix("at", RELATION, SUM, SUM)(script, formula, back)


def scatter(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """0[1, :] ← a: zeros of a shape (or so many rows) that hold a at an index."""
    options = dict(formula.options)
    if not parts:
        return written_call(script, formula, parts)
    if "rows" in options and len(parts) > 1:
        size, index = f"{script.size(options['rows'])}{script.plain.words(' rows')}", parts[1].string
    else:
        size, index = script.size(options.get("shape", ())), _as_written(script, str(options.get("at", "")))
    zeros = script.constant_tensor("0", size) + script.fence(index, "[", "]")
    return Piece(script.infix(zeros, "←", script.bracketed(parts[0], SUM)), RELATION)


def unsqueeze(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a[…, None]: the new axes of length 1, by their place from the right or the left."""
    if len(parts) != 1:
        return written_call(script, formula, parts)
    return Piece(
        script.entry(script.bracketed(parts[0], ATOM), script.code(_new_axes(dict(formula.options).get("dim", (-1,)))))
    )


def _new_axes(dim: object) -> str:
    """What stands in the brackets of an index that adds axes of length 1.

    >>> _new_axes((-1,)), _new_axes((-2,)), _new_axes((0,)), _new_axes((1, 2))
    ('…, None', '…, None, :', 'None', ':, None, None')
    """
    dims = [d for d in axes_of(dim) if isinstance(d, int) and -9 < d < 9]
    if dims != axes_of(dim):
        return f"new axis {dim}"
    if min(dims, default=0) < 0:
        return ", ".join(["…", *("None" if d in dims else ":" for d in range(min(dims), 0))])
    return ", ".join("None" if d in dims else ":" for d in range(max(dims, default=0) + 1))


def norm(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """‖a‖, ‖a‖₁, ‖A‖_F; along an axis, ‖a‖_(axis −1)."""
    given = dict(zip(("p", "dim"), (piece.string for piece in parts[1:]), strict=False))
    options = dict(formula.options)
    order = given.get("p") or _order(script, options.get("p", options.get("ord")))
    axis = (
        [f"{script.plain.words('axis ')}{given['dim']}"]
        if "dim" in given
        else script.details((("dim", options.get("dim")),))
    )
    below = [*([order] if order and order != "2" else []), *axis]
    whole = Piece(script.fence(parts[0].string, "‖", "‖"))
    return script.subscript(whole, Piece(", ".join(below), SUM if axis else ATOM)) if below else whole


def _order(script: Script, order: object) -> str:
    """1, ∞, F: which norm it is; nothing for the usual one."""
    if order is None or order == 2:
        return ""
    text = str(order).strip("'\"")
    if text == "fro":
        return script.name("F")
    return script.number("∞" if "inf" in text else text.replace("-", "−")).string


def rearranged(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """x, axes 1 and 2 swapped; p as a column"""
    words = str(dict(formula.options).get("words", ""))
    joint = " " if words.startswith(("as ", "with ", "repeated ")) else ", "
    return Piece(script.row(script.bracketed(parts[0], SUM), script.words(f"{joint}{words}")), RELATION)


def reshape(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """x.view(2, −1): a change of shape has no letters, it stays as it is written."""
    source = dict(formula.options).get("by", formula.op)
    return Piece(script.row(script.bracketed(parts[0], ATOM), script.code(f".{source}")))
