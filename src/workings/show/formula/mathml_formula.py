"""Formulas in MathML: Q Kᵀ over √d, softmax, Σ with its axis under it.

`RULES` has a row for each operation of `trace/formula.py` that is not spelled by simpler ones (`spelled.py`). A row gets the
operands, already written, and the options, and returns a term. Right: a row that asks `bracketed` for what its place needs.
Wrong: a row that looks into markup. An operation without a row is written as a call of its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workings.exact.typeset.text import ATOM, LOOSE, PRODUCT, SUM, TIGHT
from workings.show.formula.mathml import THIN, TIMES, Term, bracketed, commas, fenced, name, number, operator, row, words
from workings.show.formula.script import MADE, axes_of, new_axes, operands
from workings.show.formula.spelled import INFINITY, spelled, spelled_call
from workings.show.write.markup import element, escaped
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Sequence

OR, AND, NOT, RELATION = range(SUM - 4, SUM)
"""Logic and relations hold together less than sums."""

Rule = Callable[[list[Term], Mapping[str, Any]], Term]


def formula(f: Formula, leaf: Callable[[str], Term] = lambda text: Term(name(text))) -> Term:
    """The formula; `leaf` writes what was read: its name, or the value it had."""
    return WRITERS[type(f)](f, leaf)


def _apply(f: Apply, leaf: Callable[[str], Term]) -> Term:
    simpler = spelled(f)
    if simpler is not f:
        return formula(simpler, leaf)
    parts = operands(f)
    whole = f.args[0] if f.op == "index" and f.args else None
    # x at t, never its values at t
    terms = [Term(name(whole.text))] if isinstance(whole, Leaf) else [formula(part, leaf) for part in parts]
    term = RULES.get(f.op, _function(f.op))(terms, dict(f.options))
    return term._replace(scalar=term.scalar or (f.op in ELEMENTWISE and all(part.scalar for part in terms)))


def _call(f: Call, leaf: Callable[[str], Term]) -> Term:
    simpler = spelled_call(f)
    if simpler is not f:
        return formula(simpler, leaf)
    options = [row(words(str(key)), operator("="), _option(given)) for key, given in f.options if key != "device"]
    arguments = [*[formula(part, leaf).markup for part in f.args], *options]
    return Term(row(name(f.name), fenced(commas(arguments))))


def _option(given: Any) -> str:
    return number(repr(given)).markup if type(given) in (int, float) else words(str(given))


def _number(f: Number, leaf: Callable[[str], Term]) -> Term:
    return number(repr(f.value)) if type(f.value) in (int, float) else Term(words(str(f.value)), ATOM, True)


def _sequence(parts: list[str], is_list: bool) -> Term:
    return Term(fenced(commas(parts), "[", "]") if is_list else fenced(commas(parts)))


WRITERS: dict[type[Any], Callable[[Any, Callable[[str], Term]], Term]] = {
    Leaf: lambda f, leaf: number("inf") if f.text in INFINITY else leaf(f.text),
    Number: _number,
    Apply: _apply,
    Call: _call,
    Sequence: lambda f, leaf: _sequence([formula(part, leaf).markup for part in f.items], f.is_list),
    Code: lambda f, leaf: Term(element("mtext", escaped(f.text), class_="code")),
}


# --------------------------------------------------------------------------------------------- operations


def _between(sign: str, level: int, right: int | None = None) -> Rule:
    """a ∘ b; the right operand may need to hold together more tightly, as in a − (b + c) and a + (−b)."""
    place = level if right is None else right

    def rule(x: list[Term], o: Mapping[str, Any]) -> Term:
        if len(x) != 2:
            return _function(sign)(x, o)
        return Term(row(bracketed(x[0], level), operator(sign), bracketed(x[1], place)), level)

    return rule


def _function(word: str) -> Rule:
    """word(a, b), with the axis below it when it is not the last one."""
    return lambda x, o: Term(row(_below(element("mi", escaped(word)), o), fenced(commas([part.markup for part in x]))))


def _below(markup: str, options: Mapping[str, Any], last: bool = False) -> str:
    """The options that are worth reading under a sign: «axis 0» for dim=0; the last axis only under sums."""
    shown = {key: given for key, given in options.items() if given is not None and key not in HIDDEN}
    if shown.get("dim") == -1 and not last:
        del shown["dim"]
    said = ", ".join(_said(key, given) for key, given in shown.items())
    return f"<munder>{markup}{words(said.replace('-', '−'))}</munder>" if said else markup


def _said(key: str, given: Any) -> str:
    """«axis 0», «axes 1, 2», «correction=0»."""
    if key != "dim":
        return f"{key}={given}"
    axes = axes_of(given)
    return f"{'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}"


def _size(shape: Any) -> str:
    """2×3 for the shape (2, 3)."""
    return "×".join(map(str, shape if isinstance(shape, (tuple, list)) else [shape])) or "1"


def _constant(digit: str) -> Rule:
    """A digit with its shape below: a tensor of ones or zeros."""
    number_ = f"<mn>{digit}</mn>"
    return lambda x, o: Term(f"<msub>{number_}{words(_size(o['shape']))}</msub>" if o.get("shape") else number_)


def _sized(word: str, preposition: str = "") -> Rule:
    """repeat(a), with the shape it makes below."""

    def rule(x: list[Term], o: Mapping[str, Any]) -> Term:
        below = f"<munder>{element('mi', word)}{words(preposition + _size(o.get('shape', ())))}</munder>"
        return Term(row(below, fenced(commas([part.markup for part in x]))))

    return rule


def _scattered(x: list[Term], o: Mapping[str, Any]) -> Term:
    """0[1, :] ← a: zeros of a shape (or so many rows) that hold a at an index."""
    by_rows = "rows" in o and len(x) > 1
    size = f"{o['rows']} rows" if by_rows else _size(o.get("shape", ()))
    index = x[1].markup if by_rows else words(str(o.get("at", "")).replace("-", "−"))
    zeros = f"<msub><mn>0</mn>{words(size)}</msub>"
    return Term(row(zeros, fenced(index, "[", "]"), operator("←"), bracketed(x[0], SUM)), RELATION)


def _einsum(x: list[Term], o: Mapping[str, Any]) -> Term:
    pattern = [words(repr(str(o["text"])))] if "text" in o else []
    return Term(row("<mi>einsum</mi>", fenced(commas([*pattern, *(part.markup for part in x)]))))


def _onehot(x: list[Term], o: Mapping[str, Any]) -> Term:
    classes = words(f"{o.get('classes', '?')} classes")
    return Term(row(f"<munder><mi>onehot</mi>{classes}</munder>", fenced(x[0].markup)))


def _worded(op: str, pattern: str) -> Rule:
    """In words: «#1 summed over the copies»; options that matter stand after them in brackets."""
    count = len(set(re.findall(r"#\d", pattern)))

    def rule(x: list[Term], o: Mapping[str, Any]) -> Term:
        if len(x) != count:
            return _function(op)(x, {})
        shown = [_said(key, given) for key, given in o.items() if given is not None and key not in (*HIDDEN, *MADE)]
        pieces = [
            bracketed(x[int(part[1]) - 1], SUM) if part.startswith("#") else words(part)
            for part in re.split(r"(#\d)", pattern)
            if part
        ]
        return Term(row(*pieces, *([words(f" ({', '.join(shown)})".replace("-", "−"))] if shown else [])), RELATION)

    return rule


def _put(x: list[Term], o: Mapping[str, Any]) -> Term:
    """a with b at [0, :]"""
    index = str(o.get("at", "..."))
    place = "everywhere" if index == "..." else f"at [{index.replace('-', '−')}]"
    return _worded("put", f"#1 with #2 {place}")(x, {})


def _argsort(x: list[Term], o: Mapping[str, Any]) -> Term:
    said = [_said("dim", o["dim"])] if o.get("dim") is not None else []
    said += ["descending"] if o.get("descending") else []
    said += [f"first {o['k']}"] if o.get("k") is not None else []
    below = f"<munder><mi>argsort</mi>{words(', '.join(said).replace('-', '−'))}</munder>" if said else "<mi>argsort</mi>"
    return Term(row(below, fenced(commas([part.markup for part in x]))))


def _onwards(x: list[Term], o: Mapping[str, Any]) -> Term:
    axis = words(f", {_said('dim', o['dim'])}".replace("-", "−")) if o.get("dim") is not None else ""
    below = row("<mi>j</mi><mo>≥</mo><mi>i</mi>", axis)
    return Term(row(f"<munder><mo>∑</mo>{below}</munder>", THIN, bracketed(x[0], TIGHT)), LOOSE)


def _with_sign(op: str, sign: str) -> Rule:
    """a ∘ b with a sign of its own; with options, other than how large it is, a call."""

    def rule(x: list[Term], o: Mapping[str, Any]) -> Term:
        shown = {key: given for key, given in o.items() if key not in MADE}
        if shown or len(x) != 2:
            return _function(op)(x, shown)
        return Term(row(bracketed(x[0], PRODUCT), sign, bracketed(x[1], PRODUCT)), PRODUCT)

    return rule


def _entries(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(f"<msub>{bracketed(x[0], ATOM)}{x[1].markup}</msub>")


def _unsort(x: list[Term], o: Mapping[str, Any]) -> Term:
    inverse = f"<msup>{bracketed(x[1], ATOM)}{number('-1').markup}</msup>"
    return Term(row(bracketed(x[0], SUM), words(" at "), inverse), RELATION)


def _over(sign: str) -> Rule:
    """Σ a, with its axis below the sign; without an axis it is one number."""
    mark = operator(sign) if len(sign) == 1 else element("mi", sign)

    def rule(x: list[Term], o: Mapping[str, Any]) -> Term:
        inside = THIN + bracketed(x[0], TIGHT) if len(sign) == 1 else fenced(x[0].markup)
        return Term(row(_below(mark, o, last=True), inside), LOOSE if len(sign) == 1 else ATOM, o.get("dim") is None)

    return rule


def _minus(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(row("<mo>−</mo>", bracketed(x[0], LOOSE)), SUM)


def _product(x: list[Term], o: Mapping[str, Any]) -> Term:
    """2a and a·b of numbers, a ⊙ b of tensors."""
    sign = TIMES if x[0].scalar or x[1].scalar else "<mo>⊙</mo>"
    return Term(row(bracketed(x[0], LOOSE), sign, bracketed(x[1], PRODUCT)), PRODUCT)


def _matmul(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(row(bracketed(x[0], PRODUCT), THIN, bracketed(x[1], PRODUCT)), PRODUCT)


def _fraction(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(f"<mfrac>{row(x[0].markup)}{row(x[1].markup)}</mfrac>", LOOSE)


def _power(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(f"<msup>{bracketed(x[0], ATOM)}{x[1].markup}</msup>", TIGHT)


def _entry(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(row(bracketed(x[0], ATOM), fenced(x[1].markup, "[", "]")))


def _indicator(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(fenced(_relation(x, o).markup, "[", "]"))


def _raised(exponent: str) -> Rule:
    return lambda x, o: Term(f"<msup>{bracketed(x[0], ATOM)}{exponent}</msup>", TIGHT)


def _root(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(f"<msqrt>{x[0].markup}</msqrt>", TIGHT)


def _exp(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(f"<msup><mi>e</mi>{x[0].markup}</msup>", TIGHT)


def _indexed(x: list[Term], o: Mapping[str, Any]) -> Term:
    """x with its index below; what is more than names and numbers as it is written."""
    index = o.get("at", Index(()))
    below = row(*commas_between([str(part) for part in index.parts])) if index.is_plain else words(str(index))
    return Term(f"<msub>{bracketed(x[0], ATOM)}{below}</msub>", ATOM)


def commas_between(parts: list[str]) -> list[str]:
    written = [name(part) if part.isidentifier() else number(part).markup for part in parts]
    return [piece for part in written for piece in ("<mo>,</mo>", part)][1:]


def _reshape(x: list[Term], o: Mapping[str, Any]) -> Term:
    """a.view(2, 3): a method follows its operand."""
    return Term(row(bracketed(x[0], ATOM), words(f".{o.get('by', 'reshape()')}")))


def _cases(*lines: tuple[str, str, str]) -> Term:
    table = "".join(f"<mtr><mtd>{what}</mtd><mtd>{words(word)}{when}</mtd></mtr>" for what, word, when in lines)
    return Term(row('<mo fence="true">{</mo>', f'<mtable class="cases">{table}</mtable>'), SUM)


def _where(x: list[Term], o: Mapping[str, Any]) -> Term:
    if len(x) < 3:
        return _function("where")(x, o)
    return _cases((x[1].markup, "where ", x[0].markup), (x[2].markup, "elsewhere", ""))


def _masked_fill(x: list[Term], o: Mapping[str, Any]) -> Term:
    if len(x) < 3:
        return _function("masked_fill")(x, o)
    return _cases((x[2].markup, "where ", x[1].markup), (x[0].markup, "elsewhere", ""))


def _relation(x: list[Term], o: Mapping[str, Any]) -> Term:
    return Term(row(bracketed(x[0], SUM), operator(str(o.get("relation", "="))), bracketed(x[1], SUM)), RELATION)


HIDDEN = frozenset({"keepdim", "relation", "text", "at"})
ELEMENTWISE = frozenset("add sub mul div pow neg sqrt exp log abs sin cos tanh sigmoid maximum gelu".split())
_CALLED = {
    **{word: word for word in "log sin cos tanh softmax stack rowsum sign".split()},
    "sigmoid": "σ",
    "gelu": "GELU",
    "maximum": "max",
    "argmax": "arg max",
    "argmin": "arg min",
    "cat": "concat",
    "cross_entropy": "CE",
    "normal_cdf": "Φ",
    "diagonal": "diag",
    "normal_pdf": "φ",
}

RULES: dict[str, Rule] = {op: _function(word) for op, word in _CALLED.items()} | {
    "add": _between("+", SUM, LOOSE),
    "sub": _between("−", SUM, LOOSE),
    "mul": _product,
    "div": _fraction,
    "pow": _power,
    "neg": _minus,
    "matmul": _matmul,
    "mod": _between("mod", PRODUCT),
    "convolve": _between("∗", PRODUCT),
    "transpose": _raised("<mo>⊤</mo>"),
    "sqrt": _root,
    "exp": _exp,
    "abs": lambda x, o: Term(fenced(x[0].markup, "|", "|")),
    "norm": lambda x, o: Term(fenced(x[0].markup, "‖", "‖")),
    "sum": _over("∑"),
    "mean": _over("mean"),
    "var": _over("Var"),
    "max": _over("max"),
    "min": _over("min"),
    "amax": _over("max"),
    "amin": _over("min"),
    "reshape": _reshape,
    "index": _indexed,
    "entry": _entry,
    "masked_fill": _masked_fill,
    "where": _where,
    "compare": _relation,
    "indicator": _indicator,
    "ones": _constant("1"),
    "zeros": _constant("0"),
    "expand": _sized("repeat"),
    "unbroadcast": _sized("sum", "to "),
    "unsqueeze": lambda x, o: Term(row(bracketed(x[0], ATOM), fenced(words(new_axes(o.get("dim", (-1,)))), "[", "]"))),
    "scatter": _scattered,
    "scatter_rows": _scattered,
    "onehot": _onehot,
    "einsum": _einsum,
    "scatter_add": _worded("scatter_add", "#1 added at #2, to zeros"),
    "put": _put,
    "entries": _entries,
    "order": _argsort,
    "unsort": _unsort,
    "reversed_cumsum": _onwards,
    "sum_copies": _worded("sum_copies", "#1 summed over the copies"),
    "transposed_convolution": _with_sign("transposed_convolution", "<msup><mo>∗</mo><mo>⊤</mo></msup>"),
    "correlation": _with_sign("correlation", "<mo>⋆</mo>"),
    "unpool": _worded("unpool", "#1 at the maximum of each window of #2"),
    "spread_windows": _worded("spread_windows", "#1 spread equally over each window"),
    "identity": lambda x, o: Term("<mi>I</mi>"),
    "causal_mask": lambda x, o: Term("<mi>M</mi>"),
    "floor": lambda x, o: Term(fenced(x[0].markup, "⌊", "⌋")),
    "ceil": lambda x, o: Term(fenced(x[0].markup, "⌈", "⌉")),
    "not": lambda x, o: Term(row("<mo>¬</mo>", bracketed(x[0], ATOM)), NOT),
    "and": _between("∧", AND),
    "or": _between("∨", OR),
}
