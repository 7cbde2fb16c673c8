r"""Formulas in two notations: Q Kᵀ / √d and \frac{Q \, K^{\top}}{\sqrt{d}}.

To teach both an operation, add a row to `TEXT_RULES` and one to `LATEX_RULES`: a pattern such as `#1 + #2`, how tightly
the result holds together, and how tightly each operand must (see `script.py`). An operation without a row is a call:
name(a, b). One that is made of simpler ones needs no row but a formula, in `spelled.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workings.show.formula.script import (
    ATOM,
    LOOSE,
    MATMUL,
    POWER,
    PRODUCT,
    RELATION,
    SUM,
    Piece,
    Rule,
    Script,
    argsort,
    big,
    call,
    compare,
    constant,
    einsum,
    function,
    indicator,
    infix,
    is_whole,
    letter,
    made,
    onehot,
    onwards,
    operands,
    put,
    reshape,
    scattered,
    sized,
    unsqueezed,
    valued,
    worded,
)
from workings.show.formula.spelled import INFINITY, spelled, spelled_call
from workings.show.write.decimals import decimal, latex_decimal
from workings.show.write.escape import latex_code, latex_text
from workings.show.write.names import AGAIN, latex_name, text_name, without_self
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Sequence


def text_formula(formula: Formula, values: Mapping[str, str] | None = None, scalars: frozenset[str] = frozenset()) -> str:
    """The formula in plain text; `values` are written in place of the leaves they are named by.

    >>> S = Apply("div", (Apply("matmul", (Leaf("Q"), Apply("transpose", (Leaf("K"),)))), Apply("sqrt", (Leaf("d"),))))
    >>> text_formula(S), text_formula(S, {"d": "2"})
    ('Q Kᵀ / √d', 'Q Kᵀ / √2')

    `scalars` are the leaves that are single numbers: a product with one is written with a dot.
    """
    return _Writer(TEXT, values or {}, scalars).write(formula).string


def latex_formula(formula: Formula, values: Mapping[str, str] | None = None, scalars: frozenset[str] = frozenset()) -> str:
    r"""The formula in LaTeX's math mode.

    >>> print(latex_formula(Apply("div", (Leaf("S"), Apply("sqrt", (Leaf("d_k"),))))))
    \frac{S}{\sqrt{d_{k}}}
    """
    return _Writer(LATEX, values or {}, scalars).write(formula).string


def entry_key(name: str, index: Index) -> str:
    """What an entry of a leaf is called among the values: x[0]."""
    return f"{name}[{index}]"


class _Writer:
    """Writes one formula: the script, the values put in, and which leaves are single numbers."""

    def __init__(self, script: Script, values: Mapping[str, str], scalars: frozenset[str]) -> None:
        self.script, self.values, self.scalars = script, values, scalars

    def write(self, formula: Formula) -> Piece:
        match formula:
            case Leaf(text):
                return self.leaf(text)
            case Number(value):
                return self.number(value)
            case Apply():
                return self.apply(formula)
            case Call() if (simpler := spelled_call(formula)) is not formula:
                return self.write(simpler)
            case Call(name, args, options):
                parts = [self.write(a).string for a in args]
                details = self.script.details(options, with_none=True)
                return Piece(self.script.call(self.script.name(name), parts, details), ATOM)
            case Sequence(parts_, is_list):
                inside = ", ".join(self.write(part).string for part in parts_) + "," * (len(parts_) == 1 and not is_list)
                return Piece(f"[{inside}]" if is_list else f"({inside})", ATOM)
            case Code(text):
                return Piece(self.script.code(without_self(text)), ATOM if is_whole(formula) else RELATION)

    def leaf(self, text: str) -> Piece:
        if text in self.values:
            return valued(self.values[text])
        if text in INFINITY:
            return Piece(self.script.number("∞"), ATOM)
        return self.named(text)

    def named(self, text: str) -> Piece:
        """A name; ∂L/∂h and, where that is raised, h#2 hold together less than a letter: (h⁽²⁾)²."""
        raised = self.script.below and AGAIN.match(text)
        return Piece(self.script.name(text), POWER if raised or text.startswith("∂") else ATOM)

    def number(self, value: Any) -> Piece:
        if isinstance(value, bool) or not isinstance(value, int | float | complex):
            return Piece(self.script.code(str(value)), ATOM)
        return valued(self.script.number(decimal(value, 12)))

    def apply(self, formula: Apply) -> Piece:
        simpler = spelled(formula)
        if simpler is not formula:
            return self.write(simpler)
        if formula.op == "index":
            return self.index(formula)
        dotted = formula.op == "mul" and any(map(self.is_scalar, formula.args))
        rule = self.script.rules.get("scale" if dotted else formula.op, call)
        return rule(self.script, formula, [self.write(a) for a in operands(formula)])

    def index(self, formula: Apply) -> Piece:
        """x[t]: the value of the whole where it is known, never [2, 4][t]."""
        base, at = formula.args[0], dict(formula.options).get("at", Index(()))
        if isinstance(base, Leaf) and entry_key(base.text, at) in self.values:
            return valued(self.values[entry_key(base.text, at)])
        piece = self.named(base.text) if isinstance(base, Leaf) else self.write(base)
        return Piece(f"{self.script.bracketed(piece, ATOM)}[{self.inside(at)}]", ATOM)

    def inside(self, index: Index) -> str:
        """What stands in the brackets: names and numbers as such, anything else as it is written."""
        if index.is_plain:
            written = [
                self.script.name(str(p)) if isinstance(p, Leaf) else self.script.number(str(p).replace("-", "−"))
                for p in index.parts
            ]
            return ", ".join(written)
        return self.script.code(str(index).replace("-", "−"))

    def is_scalar(self, formula: Formula) -> bool:
        match formula:
            case Number():
                return True
            case Leaf(text):
                return text in self.scalars
            case Apply("sum" | "mean" | "max" | "min" | "amax" | "amin" | "var", _, ()) | Apply(
                "cross_entropy" | "mse_loss"
            ):
                return True
            case Apply("index", (Leaf(text),), options):
                return entry_key(text, dict(options)["at"]) in self.scalars
            case Apply(op, args) if op in _ELEMENTWISE:
                return all(map(self.is_scalar, args))
        return False


_ELEMENTWISE = frozenset("add sub mul div pow neg sqrt rsqrt exp log square abs sin cos tanh sigmoid relu".split())
_RAISED = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LAST = (("dim", -1),)
"""The axis that softmax need not mention."""


def _text_power(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    if len(parts) != 2:
        return call(script, formula, parts)
    base, exponent = script.bracketed(parts[0], ATOM), parts[1].string
    if re.fullmatch(r"−?\d+", exponent):
        return Piece(base + exponent.translate(_RAISED), POWER)
    return Piece(f"{base}^{script.bracketed(parts[1], ATOM)}", POWER)


TEXT_RULES: dict[str, Rule] = {
    "add": infix("#1 + #2", SUM, SUM, LOOSE),
    "sub": infix("#1 − #2", SUM, SUM, LOOSE),
    "neg": infix("−#1", SUM, LOOSE),
    "mul": infix("#1 ⊙ #2", PRODUCT, PRODUCT, MATMUL),
    "scale": infix("#1·#2", PRODUCT, PRODUCT, MATMUL),
    "div": infix("#1 / #2", LOOSE, PRODUCT, POWER),
    "matmul": infix("#1 #2", MATMUL, MATMUL, POWER),
    "mod": infix("#1 mod #2", PRODUCT, PRODUCT, MATMUL),
    "convolve": infix("#1 ∗ #2", PRODUCT, PRODUCT, MATMUL),
    "entry": infix("#1[#2]", ATOM, ATOM, RELATION),
    "pow": _text_power,
    "transpose": infix("#1ᵀ", POWER, ATOM),
    "sqrt": infix("√#1", POWER, ATOM),
    "exp": infix("e^#1", POWER, ATOM),
    "abs": infix("|#1|", ATOM, RELATION),
    "norm": infix("‖#1‖", ATOM, RELATION),
    "not": infix("¬#1", POWER, ATOM),
    "and": infix("#1 ∧ #2", RELATION, PRODUCT, PRODUCT),
    "or": infix("#1 ∨ #2", RELATION, PRODUCT, PRODUCT),
    "where": infix("#2 where #1, else #3", RELATION, SUM, SUM, SUM),
    "masked_fill": infix("#3 where #2, else #1", RELATION, SUM, SUM, SUM),
    "sum": big("Σ"),
    "maximum": function("max"),
    "amax": function("max"),
    "amin": function("min"),
    "argmax": function("arg max"),
    "argmin": function("arg min"),
    "softmax": function("softmax", LAST),
    "sigmoid": function("σ"),
    "gelu": function("GELU"),
    "cross_entropy": function("CE"),
    "einsum": einsum,
    "compare": compare,
    "reshape": reshape,
    "indicator": indicator,
    "normal_cdf": function("Φ"),
    "normal_pdf": function("φ"),
    "onehot": onehot,
    "ones": constant("ones(%s)", "1"),
    "zeros": constant("zeros(%s)", "0"),
    "expand": sized("repeat"),
    "unbroadcast": sized("sum", "to"),
    "unsqueeze": unsqueezed,
    "scatter": scattered("zeros(%s)", "←"),
    "scatter_rows": scattered("zeros(%s)", "←"),
    "scatter_add": worded("#1 added at #2, to zeros"),
    "put": put,
    "entries": infix("#1_#2", ATOM, ATOM, ATOM),
    "order": argsort,
    "unsort": infix("#1 at #2⁻¹", RELATION, SUM, ATOM),
    "reversed_cumsum": onwards("Σ_{j≥i%s}"),
    "sum_copies": worded("#1 summed over the copies"),
    "transposed_convolution": made(infix("#1 ∗ᵀ #2", PRODUCT, PRODUCT, MATMUL)),
    "correlation": made(infix("#1 ⋆ #2", PRODUCT, PRODUCT, MATMUL)),
    "unpool": worded("#1 at the maximum of each window of #2"),
    "spread_windows": worded("#1 spread equally over each window"),
    "identity": letter("I"),
    "causal_mask": letter("M"),
    "floor": infix("⌊#1⌋", ATOM, RELATION),
    "ceil": infix("⌈#1⌉", ATOM, RELATION),
    "diagonal": function("diag"),
}


def _text_call(name: str, parts: list[str], options: list[str]) -> str:
    return f"{name}({', '.join([*parts, *options])})"


TEXT = Script(text_name, str, str, str, str, "({})".format, _text_call, TEXT_RULES, {})


# ---------------------------------------------------------------------------------------------- LaTeX


_CASES = r"\begin{cases} %s & \text{where } %s \\ %s & \text{elsewhere} \end{cases}"

LATEX_RULES: dict[str, Rule] = {
    **TEXT_RULES,
    "sub": infix("#1 - #2", SUM, SUM, LOOSE),
    "neg": infix("-#1", SUM, LOOSE),
    "mul": infix(r"#1 \odot #2", PRODUCT, PRODUCT, MATMUL),
    "scale": infix(r"#1 \cdot #2", PRODUCT, PRODUCT, MATMUL),
    "div": infix(r"\frac{#1}{#2}", POWER, RELATION, RELATION),
    "matmul": infix(r"#1 \, #2", MATMUL, MATMUL, POWER),
    "mod": infix(r"#1 \bmod #2", PRODUCT, PRODUCT, MATMUL),
    "convolve": infix("#1 * #2", PRODUCT, PRODUCT, MATMUL),
    "pow": infix("#1^{#2}", POWER, ATOM, RELATION),
    "transpose": infix(r"#1^{\top}", POWER, ATOM),
    "sqrt": infix(r"\sqrt{#1}", ATOM, RELATION),
    "exp": infix("e^{#1}", POWER, RELATION),
    "abs": infix(r"\left|#1\right|", ATOM, RELATION),
    "norm": infix(r"\left\|#1\right\|", ATOM, RELATION),
    "not": infix(r"\lnot #1", POWER, ATOM),
    "and": infix(r"#1 \land #2", RELATION, PRODUCT, PRODUCT),
    "or": infix(r"#1 \lor #2", RELATION, PRODUCT, PRODUCT),
    "where": infix(_CASES % ("#2", "#1", "#3"), RELATION, RELATION, RELATION, RELATION),
    "masked_fill": infix(_CASES % ("#3", "#2", "#1"), RELATION, RELATION, RELATION, RELATION),
    "sum": big(r"\sum"),
    "maximum": function(r"\max"),
    "amax": function(r"\max"),
    "amin": function(r"\min"),
    "argmax": function(r"\arg\max"),
    "argmin": function(r"\arg\min"),
    "softmax": function(r"\operatorname{softmax}", LAST),
    "sigmoid": function(r"\sigma"),
    "gelu": function(r"\operatorname{GELU}"),
    "cross_entropy": function(r"\operatorname{CE}"),
    "normal_cdf": function(r"\Phi"),
    "normal_pdf": function(r"\varphi"),
    "ones": constant(r"\mathbf{1}_{%s}", "1"),
    "zeros": constant(r"\mathbf{0}_{%s}", "0"),
    "expand": sized(r"\operatorname{repeat}"),
    "unbroadcast": sized(r"\operatorname{sum}", "to"),
    "scatter": scattered(r"\mathbf{0}_{%s}", r"\leftarrow"),
    "scatter_rows": scattered(r"\mathbf{0}_{%s}", r"\leftarrow"),
    "entries": infix("{#1}_{#2}", ATOM, ATOM, RELATION),
    "unsort": infix(r"#1 \text{ at } #2^{-1}", RELATION, SUM, ATOM),
    "reversed_cumsum": onwards(r"\sum_{j \ge i%s}"),
    "transposed_convolution": made(infix(r"#1 *^{\top} #2", PRODUCT, PRODUCT, MATMUL)),
    "correlation": made(infix(r"#1 \star #2", PRODUCT, PRODUCT, MATMUL)),
    "floor": infix(r"\left\lfloor #1 \right\rfloor", ATOM, RELATION),
    "ceil": infix(r"\left\lceil #1 \right\rceil", ATOM, RELATION),
    "diagonal": function(r"\operatorname{diag}"),
    **{name: function(rf"\{name}") for name in ("log", "sin", "cos", "tanh", "max", "min")},
}
_SUBSCRIPT = re.compile(r"(?<!\\)_")
_TALL = re.compile(r"\\(frac|begin|sum|sqrt)")


def _latex_brackets(string: str) -> str:
    return rf"\left({string}\right)" if _TALL.search(string) else f"({string})"


def _latex_call(name: str, parts: list[str], options: list[str]) -> str:
    below = f"_{{{', '.join(options)}}}" if options else ""
    name = f"{{{name}}}" if below and _SUBSCRIPT.search(name) else name  # f_1 has a subscript already
    return f"{name}{below}{_latex_brackets(', '.join(parts))}"


LATEX = Script(
    latex_name,
    latex_decimal,
    latex_code,
    lambda words: rf"\text{{{latex_text(words)}}}",
    lambda word: rf"\operatorname{{{latex_text(word)}}}",
    _latex_brackets,
    _latex_call,
    LATEX_RULES,
    {"≤": r"\le", "≥": r"\ge", "≠": r"\ne"},
    below=True,
    times=r" \times ",
)
