r"""Formulas in two notations: Q Kᵀ / √d and \frac{Q K^{\top}}{\sqrt{d}}.

A notation (`Script`) is data: how names, numbers and brackets are written, and a row for each operation. A row is a pattern such as
`#1 + #2`, how tightly the result holds together, and how tightly each operand must. Brackets come from comparing the two. An
operation without a row is a call: name(a, b).

To teach both notations an operation, add a row to `TEXT_RULES` and one to `LATEX_RULES`. Right: `infix("#1 ⊗ #2", PRODUCT, …)`.
Wrong: a row that looks into its operands' strings to decide about brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workings.show.decimals import decimal, latex_decimal
from workings.show.escape import latex_code, latex_text
from workings.show.names import latex_name, text_name, without_self
from workings.show.spelled import spelled
from workings.trace.formula import Apply, Call, Code, Formula, Leaf, Number, Options, Sequence

RELATION, SUM, LOOSE, PRODUCT, MATMUL, POWER, ATOM = range(7)
"""How tightly a piece holds together: a < b, a + b, a / b and Σ a, a ⊙ b, A B, a² and √a, a and f(a)."""


class Piece(NamedTuple):
    """Something written, and how tightly it holds together."""

    string: str
    level: int


Rule = Callable[["Script", Apply, list[Piece]], Piece]


@dataclass(frozen=True)
class Script:
    """One way of writing formulas."""

    name: Callable[[str], str]
    number: Callable[[str], str]
    code: Callable[[str], str]
    brackets: str
    call: Callable[[str, list[str], list[str]], str]
    rules: Mapping[str, Rule]

    def bracketed(self, piece: Piece, least: int) -> str:
        """The piece, in brackets where it holds together less than the place needs."""
        return piece.string if piece.level >= least else self.brackets.replace("#1", piece.string)


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
            case Call(name, args, options):
                parts = [self.write(a).string for a in args]
                return Piece(self.script.call(self.script.name(name), parts, self.details(options)), ATOM)
            case Sequence(items):
                return Piece(f"({', '.join(self.write(item).string for item in items)})", ATOM)
            case Code(text):
                return Piece(self.script.code(without_self(text)), RELATION)

    def leaf(self, text: str) -> Piece:
        if text in self.values:
            return valued(self.values[text])
        return Piece(self.script.name(text), POWER if text.startswith("∂") else ATOM)

    def number(self, value: Any) -> Piece:
        if not isinstance(value, int | float | complex):
            return Piece(self.script.code(str(value)), ATOM)
        return valued(self.script.number(decimal(value, 12)))

    def apply(self, formula: Apply) -> Piece:
        simpler = spelled(formula)
        if simpler is not formula:
            return self.write(simpler)
        key = "scale" if formula.op == "mul" and any(map(self.is_scalar, formula.args)) else formula.op
        parts = [self.write(a) for a in formula.args]
        rule = self.script.rules.get(key, _call)
        return rule(self.script, formula, parts)

    def is_scalar(self, formula: Formula) -> bool:
        match formula:
            case Number():
                return True
            case Leaf(text):
                return text in self.scalars
            case Apply("sum" | "mean" | "max" | "min" | "var", _, ()) | Apply("cross_entropy" | "mse_loss"):
                return True
            case Apply(op, args) if op in _ELEMENTWISE:
                return all(map(self.is_scalar, args))
        return False

    def details(self, options: Options) -> list[str]:
        return details(self.script, options)


_ELEMENTWISE = frozenset("add sub mul div pow neg sqrt rsqrt exp log square abs sin cos tanh sigmoid relu".split())
_PLAIN_NUMBER = re.compile(r"^[\d.]+$|^\\?∞$|^\\infty$")


def valued(string: str) -> Piece:
    """A value put in for a name: numbers and matrices hold together, anything else gets brackets where it matters."""
    whole = _PLAIN_NUMBER.match(string) or (string[0] in "[⟨" and string[-1] in "]⟩") or string.startswith(r"\begin{bmatrix}")
    return Piece(string, ATOM if whole else SUM)


def details(script: Script, options: Options) -> list[str]:
    """Options worth reading: dim=0 as «axis 0»; `keepdim` and what is None are left to the shape."""
    out = []
    for name, value in options:
        if name == "keepdim" or value is None or name == "relation":
            continue
        shown = script.number(decimal(value)) if isinstance(value, int | float) else script.code(str(value))
        out.append(f"{_words(script, 'axis ')}{shown}" if name == "dim" else f"{_words(script, name)}={shown}")
    return out


def _words(script: Script, words: str) -> str:
    return words if script.code is str else rf"\text{{{latex_text(words)}}}"


# ---------------------------------------------------------------------------------------------- kinds of rows


def infix(pattern: str, level: int, *needs: int) -> Rule:
    """A row that puts its operands into the pattern, in brackets where they hold together less than `needs`."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        if len(parts) != len(needs):
            return _call(script, formula, parts)
        strings = [script.bracketed(piece, least) for piece, least in zip(parts, needs, strict=True)]
        return Piece(re.sub(r"#(\d)", lambda m: strings[int(m[1]) - 1], pattern), level)

    return rule


def function(text: str, hidden: Options = ()) -> Rule:
    """A row for name(a, b); options that need no mention are `hidden`."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shown = tuple(option for option in formula.options if option not in hidden)
        return Piece(script.call(text, [piece.string for piece in parts], details(script, shown)), ATOM)

    return rule


def _call(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    word = formula.op if script.code is str else _latex_word(formula.op)
    return Piece(script.call(word, [piece.string for piece in parts], details(script, formula.options)), ATOM)


def _sigma(prefix: str) -> Rule:
    """Σ x, or Σ(x, axis 1)."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        if len(parts) != 1 or (script.code is str and details(script, formula.options)):
            return function(prefix)(script, formula, parts)
        below = ", ".join(details(script, formula.options))
        sign = f"{prefix}_{{{below}}}" if below else prefix
        return Piece(f"{sign} {script.bracketed(parts[0], POWER)}", LOOSE)

    return rule


def _compare(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    relation = str(dict(formula.options).get("relation", "="))
    sign = relation if script.code is str else _RELATIONS.get(relation, relation)
    return infix(f"#1 {sign} #2", RELATION, SUM, SUM)(script, formula, parts)


_RELATIONS = {"≤": r"\le", "≥": r"\ge", "≠": r"\ne"}


def _index(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    inside = script.code(str(dict(formula.options).get("text", "")).replace("-", "−"))
    return Piece(f"{script.bracketed(parts[0], ATOM)}[{inside}]", ATOM)


def _reshape(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    source = str(dict(formula.options).get("text", formula.op))
    if "." in source.partition("(")[0]:
        return Piece(script.code(source), ATOM)
    return Piece(f"{script.bracketed(parts[0], ATOM)}{script.code('.' + source)}", ATOM)


def _joined(word: str) -> Rule:
    """cat(a, b, axis 1): the items of the sequence as arguments."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        items = [piece.string[1:-1] if piece.string.startswith("(") else piece.string for piece in parts]
        return Piece(script.call(word, items, details(script, formula.options)), ATOM)

    return rule


# ---------------------------------------------------------------------------------------------- text

_RAISED = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LAST = (("dim", -1),)


def _text_power(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    base, exponent = script.bracketed(parts[0], ATOM), parts[1].string
    if re.fullmatch(r"−?\d+", exponent):
        return Piece(base + exponent.translate(_RAISED), POWER)
    return Piece(f"{base}^{script.bracketed(parts[1], ATOM)}", POWER)


def _text_call(name: str, parts: list[str], options: list[str]) -> str:
    return f"{name}({', '.join([*parts, *options])})"


TEXT_RULES: dict[str, Rule] = {
    "add": infix("#1 + #2", SUM, SUM, LOOSE),
    "sub": infix("#1 − #2", SUM, SUM, LOOSE),
    "neg": infix("−#1", SUM, PRODUCT),
    "mul": infix("#1 ⊙ #2", PRODUCT, PRODUCT, MATMUL),
    "scale": infix("#1·#2", PRODUCT, PRODUCT, MATMUL),
    "div": infix("#1 / #2", LOOSE, PRODUCT, POWER),
    "matmul": infix("#1 #2", MATMUL, MATMUL, POWER),
    "convolve": infix("#1 ∗ #2", PRODUCT, PRODUCT, MATMUL),
    "entry": infix("#1[#2]", ATOM, ATOM, RELATION),
    "pow": _text_power,
    "transpose": infix("#1ᵀ", POWER, ATOM),
    "sqrt": infix("√#1", POWER, ATOM),
    "exp": infix("e^#1", POWER, ATOM),
    "abs": infix("|#1|", ATOM, RELATION),
    "norm": infix("‖#1‖", ATOM, RELATION),
    "not": infix("¬#1", POWER, ATOM),
    "and": infix("#1 ∧ #2", RELATION, SUM, SUM),
    "or": infix("#1 ∨ #2", RELATION, SUM, SUM),
    "where": infix("#2 where #1, else #3", RELATION, SUM, SUM, SUM),
    "masked_fill": infix("#3 where #2, else #1", RELATION, SUM, SUM, SUM),
    "sum": _sigma("Σ"),
    "mean": function("mean"),
    "maximum": function("max"),
    "softmax": function("softmax", LAST),
    "sigmoid": function("σ"),
    "gelu": function("GELU"),
    "cross_entropy": function("CE"),
    "cat": _joined("cat"),
    "stack": _joined("stack"),
    "compare": _compare,
    "index": _index,
    "reshape": _reshape,
}
TEXT = Script(text_name, str, str, "(#1)", _text_call, TEXT_RULES)


# ---------------------------------------------------------------------------------------------- LaTeX


def _latex_word(word: str) -> str:
    return rf"\operatorname{{{word}}}" if word.isalpha() and word.isascii() else rf"\operatorname{{{latex_text(word)}}}"


def _latex_call(name: str, parts: list[str], options: list[str]) -> str:
    below = f"_{{{', '.join(options)}}}" if options else ""
    return rf"{name}{below}\left({', '.join(parts)}\right)"


_CASES = r"\begin{cases} %s & \text{where } %s \\ %s & \text{elsewhere} \end{cases}"

LATEX_RULES: dict[str, Rule] = {
    **TEXT_RULES,
    "sub": infix("#1 - #2", SUM, SUM, LOOSE),
    "neg": infix("-#1", SUM, PRODUCT),
    "mul": infix(r"#1 \odot #2", PRODUCT, PRODUCT, MATMUL),
    "scale": infix(r"#1 \cdot #2", PRODUCT, PRODUCT, MATMUL),
    "div": infix(r"\frac{#1}{#2}", POWER, RELATION, RELATION),
    "matmul": infix(r"#1 \, #2", MATMUL, MATMUL, POWER),
    "convolve": infix(r"#1 * #2", PRODUCT, PRODUCT, MATMUL),
    "pow": infix("#1^{#2}", POWER, ATOM, RELATION),
    "transpose": infix(r"#1^{\top}", POWER, ATOM),
    "sqrt": infix(r"\sqrt{#1}", ATOM, RELATION),
    "exp": infix("e^{#1}", POWER, RELATION),
    "abs": infix(r"\left|#1\right|", ATOM, RELATION),
    "norm": infix(r"\left\|#1\right\|", ATOM, RELATION),
    "not": infix(r"\lnot #1", POWER, ATOM),
    "and": infix(r"#1 \land #2", RELATION, SUM, SUM),
    "or": infix(r"#1 \lor #2", RELATION, SUM, SUM),
    "where": infix(_CASES % ("#2", "#1", "#3"), RELATION, RELATION, RELATION, RELATION),
    "masked_fill": infix(_CASES % ("#3", "#2", "#1"), RELATION, RELATION, RELATION, RELATION),
    "sum": _sigma(r"\sum"),
    "mean": function(r"\operatorname{mean}"),
    "max": function(r"\max"),
    "min": function(r"\min"),
    "maximum": function(r"\max"),
    "softmax": function(r"\operatorname{softmax}", LAST),
    "sigmoid": function(r"\sigma"),
    "gelu": function(r"\operatorname{GELU}"),
    "cross_entropy": function(r"\operatorname{CE}"),
    "cat": _joined(r"\operatorname{cat}"),
    "stack": _joined(r"\operatorname{stack}"),
    **{name: function(rf"\{name}") for name in ("log", "sin", "cos", "tanh")},
}
LATEX = Script(latex_name, latex_decimal, latex_code, r"\left(#1\right)", _latex_call, LATEX_RULES)
