r"""Formulas in three scripts: Q Kᵀ / √d, \frac{Q \, K^{\top}}{\sqrt{d}}, and the same in MathML.

How an operation is written stands in its row (`workings.trace.operations`), in no script in particular; what a fraction
or a bracket is in each script stands in `script.py` (text), `latex_script.py` and `mathml_script.py`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from workings.precedence import ATOM, POWER, RELATION
from workings.show.formula.latex_script import LATEX
from workings.show.formula.mathml_script import MATHML
from workings.show.formula.script import TEXT, value_piece
from workings.show.write.names import AGAIN, text_name, without_self
from workings.trace.formula.notation import written_call
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.script import Piece, Script
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Sequence, leaves

_INFINITE: dict[str, Formula] = {"'inf'": Number(float("inf")), "'-inf'": Number(-float("inf"))}
_PI = frozenset(("math.pi", "torch.pi", "np.pi", "numpy.pi"))
_INFINITY = frozenset(("inf", "math.inf", "torch.inf", "np.inf"))


def text_formula(
    formula: Formula,
    values: Mapping[str, str] | None = None,
    scalars: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> str:
    """The formula in plain text; `values` are written in place of the leaves they are named by.

    >>> S = Apply("div", (Apply("matmul", (Leaf("Q"), Apply("transpose", (Leaf("K"),)))), Apply("sqrt", (Leaf("d"),))))
    >>> text_formula(S), text_formula(S, {"d": "2"})
    ('Q Kᵀ / √d', 'Q Kᵀ / √2')

    `scalars` are the leaves that are single numbers: a product with one is written with a dot. `taken` are letters that
    are names in this work: where σ is one, the function is written sigmoid.
    """
    return _Writer(TEXT.avoiding(taken), _pieces(values), scalars).write(formula).string


def latex_formula(
    formula: Formula,
    values: Mapping[str, str] | None = None,
    scalars: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> str:
    r"""The formula in LaTeX's math mode.

    >>> print(latex_formula(Apply("div", (Leaf("S"), Apply("sqrt", (Leaf("d_k"),))))))
    \frac{S}{\sqrt{d_{k}}}
    """
    return _Writer(LATEX.avoiding(taken), _pieces(values), scalars).write(formula).string


def mathml_formula(
    formula: Formula,
    values: Mapping[str, Piece] | None = None,
    scalars: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> str:
    """The formula in MathML Core; the values are markup already.

    >>> mathml_formula(Apply("sqrt", (Leaf("d_k"),)))
    '<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>'
    """
    return _Writer(MATHML.avoiding(taken), values or {}, scalars).write(formula).string


def _pieces(values: Mapping[str, str] | None) -> dict[str, Piece]:
    return {text: value_piece(value) for text, value in values.items()} if values else {}


def entry_key(name: str, index: Index) -> str:
    """What an entry of a leaf is called among the values: x[0]."""
    return f"{name}[{index}]"


class _Writer:
    """Writes one formula: the script, the values put in, and which leaves are single numbers."""

    def __init__(self, script: Script, values: Mapping[str, Piece], scalars: frozenset[str]) -> None:
        self.script, self.values, self.scalars = script, values, scalars

    def write(self, formula: Formula) -> Piece:
        match formula:
            case Leaf(text):
                return self.leaf(text)
            case Number(value):
                return self.number(value)
            case Apply():
                return self.apply(formula)
            case Call() if (simpler := _notation_of_call(formula)) is not None:
                return self.write(simpler)
            case Call(name, args, options):
                return Piece(self.script.named_call(name, [self.write(a).string for a in args], options))
            case Sequence(parts, is_list):
                return Piece(self.script.sequence([self.write(part).string for part in parts], is_list))
            case Code(text):
                return Piece(self.script.source(without_self(text)), ATOM if _is_whole(formula) else RELATION)

    def leaf(self, text: str) -> Piece:
        if text in self.values:
            return self.values[text]
        if text in _PI and "π" in self.script.taken:
            return self.script.literal(math.pi)
        return self.script.number("∞") if text in _INFINITY else self.named(text)

    def named(self, text: str) -> Piece:
        """A name; ∂L/∂h and, where that is raised, h#2 hold together less than a letter: (h⁽²⁾)²."""
        raised = self.script.raises and AGAIN.match(text)
        return Piece(self.script.name(text), POWER if raised or text.startswith("∂") else ATOM)

    def number(self, value: Any) -> Piece:
        if isinstance(value, bool) or not isinstance(value, int | float | complex):
            return Piece(self.script.code(str(value)))
        return self.script.literal(value)

    def apply(self, formula: Apply) -> Piece:
        row = OPERATIONS.get(formula.op)
        simpler = None if row is None or row.spelled is None else row.spelled(formula.args, formula.options)
        if simpler is not None and not self.collides(simpler, formula):
            return self.write(simpler)
        if formula.op == "index":
            return self.index(formula)
        if formula.op == "mul" and any(map(self.is_scalar, formula.args)):
            row = OPERATIONS["scale"]
        args = formula.args
        if row is not None and row.joins and args and isinstance(args[0], Sequence):  # cat(a, b, axis 1)
            args = (*args[0].items, *args[1:])
        notation = written_call if row is None or row.notation is None else row.notation
        return notation(self.script, formula, [self.write(a) for a in args])

    def collides(self, simpler: Formula, formula: Apply) -> bool:
        """Whether a spelling brings in a letter that the author has for something else: the μ of a layer norm."""
        if not self.script.taken:
            return False
        own = set(leaves(simpler)) - set(leaves(formula))
        return any(text_name(text) in self.script.taken for text in own)

    def index(self, formula: Apply) -> Piece:
        """x[t]: the value of the whole where it is known, never [2, 4][t]."""
        base, at = formula.args[0], dict(formula.options).get("at", Index(()))
        if isinstance(base, Leaf) and (key := entry_key(base.text, at)) in self.values:
            return self.values[key]
        piece = self.named(base.text) if isinstance(base, Leaf) else self.write(base)
        return Piece(self.script.index(self.script.bracketed(piece, ATOM), self.inside(at)))

    def inside(self, index: Index) -> list[str]:
        """What stands in the brackets: names and numbers as such, anything else as it is written."""
        script = self.script
        if not index.is_plain:
            return [script.code(str(index).replace("-", "−"))]
        parts = [(part, str(part).replace("-", "−")) for part in index.parts]
        return [script.name(text) if isinstance(p, Leaf) else script.number(text).string for p, text in parts]

    def is_scalar(self, formula: Formula) -> bool:
        """Whether a part is one number."""
        match formula:
            case Number():
                return True
            case Leaf(text):
                return text in self.scalars
            case Apply("index", (Leaf(text),), options):
                return entry_key(text, dict(options)["at"]) in self.scalars
            case Apply(op, args, options) if (row := OPERATIONS.get(op)) is not None:
                if row.reduces and len(args) == 1:
                    return not options
                return row.reduces or (row.elementwise and all(map(self.is_scalar, args)))
        return False


def _notation_of_call(formula: Call) -> Formula | None:
    """A call that has a notation after all: floor(x) and x.floor() are ⌊x⌋, float("-inf") is −∞; None for others.

    >>> _notation_of_call(Call("S.diagonal", ()))
    Apply(op='diagonal', args=(Leaf(text='S'),), options=())
    """
    owner, _, name = formula.name.rpartition(".")
    if formula.options or owner in ("self", "cls"):
        return None
    if formula.name == "float" and len(formula.args) == 1 and isinstance(formula.args[0], Code):
        return _INFINITE.get(formula.args[0].text)
    row = OPERATIONS.names.get(name)
    args = (Leaf(owner), *formula.args) if owner else formula.args
    return Apply(row.name, args) if row is not None and row.written_call == len(args) > 0 else None


def _is_whole(code: Code) -> bool:
    """Whether Python without a formula needs no brackets: a word in quotes, and what has brackets of its own.

    >>> _is_whole(Code("[]", ast.List([]))), _is_whole(Code("f()()", ast.Call(ast.Name("f"))))
    (True, False)
    """
    return isinstance(code.node, _WHOLE_CODE)


_WHOLE_CODE = (ast.Constant, ast.GeneratorExp, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
