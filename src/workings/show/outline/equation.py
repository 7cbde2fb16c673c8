"""A step as an equation: name = formula = formula with the values put in = value ≈ value."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from workings.control import plain
from workings.show.formula.notation import entry_key, latex_formula, text_formula
from workings.show.formula.shown import as_shown
from workings.show.options import Options
from workings.show.outline.assignment import entry_assignment, is_entry_of_many, unpacks
from workings.show.outline.outline import Line
from workings.show.value.in_names import in_names
from workings.show.value.value import (
    inline_of,
    is_list,
    is_opaque,
    is_scalar,
    latex_forms,
    latex_of_form,
    shape_of,
    text_forms,
    text_of_form,
)
from workings.show.write.block import beside, width
from workings.show.write.cells import Form
from workings.show.write.names import latex_name, text_name, without_self
from workings.trace.code.look_up import MISSING
from workings.trace.formula.targets import unpack
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Sequence, leaves, walk
from workings.trace.step import Step

_SHORT = 72
"""Columns a formula with its values put in may have when substitution is short."""


@dataclass(frozen=True)
class Equation:
    """The parts of an equation, written in one notation. `forms` are pairs of a sign and a value; `below` asks for
    them on lines of their own."""

    left: str
    links: list[str]
    forms: list[tuple[str, str]]
    shape: str
    lead: str = " = "
    below: bool = False

    @property
    def sign(self) -> str:
        """What stands before the value."""
        return self.forms[0][0] if self.forms else "="

    @property
    def head(self) -> str:
        """name = formula = formula with values"""
        first = [piece for part in (self.left, *self.links[:1]) if part for piece in (self.lead, part)][1:]
        return beside(*first, *(part for link in self.links[1:] for part in (" = ", link)))


def text_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in plain text."""
    step = line.step
    links = _links(line, options, latex=False)
    names, parts = _targets(step)
    forms = text_forms(parts, options, names) if _has_value(line) else []
    if forms and (named := _in_names(step, options)) is not None:
        forms = [(named.sign, text_of_form(named, options))]
    place = entry_assignment(step) if forms else None
    if place is not None:
        known = [] if place.entry is MISSING else text_forms(place.entry, options)
        whole = [(f"⇒ {plain(text_name(place.whole))} =", forms[0][1]), *forms[1:]]
        forms = known if known and is_entry_of_many(step) else [*known, *whole]
    found = _equation(
        plain(_with_tuple_brackets(step.name, text_name)),
        links,
        forms,
        "  ".join(filter(None, [shape_of(step.result) if forms else "", code_beside(step)])),
        line,
        latex=False,
    )
    return replace(found, below=is_list(step.result) and "\n" in "".join(block for _, block in forms))


def _in_names(step: Step, options: Options) -> Form | None:
    """A value that is too long to write, in the names of what it was computed from."""
    return in_names(step.result, step.formula, step.operands, options.most)


def _with_tuple_brackets(name: str, write: Callable[[str], str]) -> str:
    """`(df,) = …` takes the one item of a tuple: its name needs the brackets."""
    return f"({write(name[:-1])},)" if name.endswith(",") else write(name)


def _unpacked(names: str) -> str:
    """(a, b) = (1, 2): the names of a tuple in brackets, as its values are."""
    return names if names.endswith(",)") else f"({names})"


def _targets(step: Step) -> tuple[list[str], Any]:
    """The names of the parts of a value that is unpacked, with these parts: a, b[0], b[1] of `a, *b = f(x)`."""
    if not isinstance(step.result, tuple | list):
        return [], step.result
    if step.kind == "return" and isinstance(step.formula, Sequence) and _is_named(step.formula):
        names = [plain(text_name(text)) for text in leaves(step.formula)]
        return (names, step.result) if 1 < len(names) == len(step.result) else ([], step.result)
    if not unpacks(step):
        return [], step.result
    pairs = unpack(step.syntax.target, "", step.result, step.result)
    if any(shape_of(value) for name, value, _ in pairs if name != "_"):  # else they stand in a row, (1, 2)
        pairs = [pair for pair in pairs if pair[0] != "_"]  # which says that nobody wants it
    names = [plain(text_name(name)) for name, _, _ in pairs]
    return (names, tuple(value for _, value, _ in pairs)) if pairs and all(names) else ([], step.result)


def latex_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in LaTeX."""
    step = line.step
    forms = latex_forms(step.result, options) if _has_value(line) else []
    if forms and (named := _in_names(step, options)) is not None:
        forms = [(named.sign, latex_of_form(named))]
    place = entry_assignment(step) if forms else None
    if place is not None:
        known = [] if place.entry is MISSING else latex_forms(place.entry, options)
        whole = [(rf"\Rightarrow {latex_name(place.whole)} =", forms[0][1]), *forms[1:]]
        forms = known if known and is_entry_of_many(step) else [*known, *whole]
    return _equation(
        _unpacked(_with_tuple_brackets(step.name, latex_name))
        if unpacks(step)
        else _with_tuple_brackets(step.name, latex_name),
        _links(line, options, latex=True),
        forms,
        "",
        line,
        latex=True,
    )


def _equation(left: str, links: list[str], forms: list[tuple[str, str]], shape: str, line: Line, latex: bool) -> Equation:
    links = [link for i, link in enumerate(links) if link and link != left and link not in links[:i]]
    if links and forms and forms[0][0] == "=" and links[-1] == forms[0][1]:
        links.pop()
    if not links and forms and forms[0][1] == left:  # a letter that stands for itself
        forms = []
    if line.step.kind == "return":
        return Equation(_returns(latex), links, forms, shape, r"\ " if latex else " ")
    return Equation(left, links, forms, shape)


def _returns(latex: bool) -> str:
    return r"\text{return}" if latex else "return"


def _has_value(line: Line) -> bool:
    """A statement such as `print(x)` has none, and of `optimizer = Adam(…)` the call says all there is."""
    silent = line.step.kind in ("expression", "return", "update") and line.step.result is None
    return line.valued and not (silent or says_itself(line.step) or line.step.is_stopped)


def says_itself(step: Step) -> bool:
    """Whether a value without numbers is what stands before it: the call that made an optimizer, a function's own text."""
    told = isinstance(step.formula, Call) or _is_lambda(step.formula) or step.kind == "return"
    return step.kind in ("assign", "return") and told and is_opaque(step.result)


def _is_lambda(formula: Formula | None) -> bool:
    return isinstance(formula, Code) and isinstance(formula.node, ast.Lambda)


def _links(line: Line, options: Options, latex: bool) -> list[str]:
    """The formula, and the formula with values put in where that is short enough to read."""
    step, write = line.step, _latex_side if latex else text_formula
    if step.formula is None:
        source = step.source.partition(" = ")[2] if step.kind == "assign" else step.source
        source = f"one step of {source}" if step.kind == "update" and source else source
        return [_plain(write(Code(source)), latex)] if source and step.kind != "input" else []
    formula = as_shown(step.formula, step.operands, step.source)
    known = step.operands | entries_of(step, formula)
    scalars = frozenset(text for text, value in known.items() if is_scalar(value))
    shown = _plain(write(formula, None, scalars, line.taken), latex)
    if entry_of(formula) in known and _has_value(line):  # with its value put in, an entry is its value, which follows
        return [shown]
    for whole in (True, False):  # with everything put in, or with numbers only
        drawn = _block_with_values(formula, _values(step, formula, options, False, whole), scalars, line.taken)
        if options.substitution == "long" or width(drawn) <= _SHORT:
            values = _values(step, formula, options, True, whole) if latex else {}
            return [shown, write(formula, values, scalars, line.taken) if latex else drawn]
        if not isinstance(formula, Call):
            break
    return [shown]


def _is_in_words(formula: Formula) -> bool:
    return isinstance(formula, Apply) and formula.op == "rearranged"


def code_beside(step: Step) -> str:
    """The Python of a change of shape, which the formula says in words: `x.view(B, T, 2, 4)`; nothing for other steps."""
    if not isinstance(step.formula, Call) and not (isinstance(step.formula, Apply) and step.formula.op == "reshape"):
        return ""
    code = step.source.removeprefix("return ") if step.kind == "return" else step.source.partition(" = ")[2]
    return plain(without_self(code)) if _is_in_words(as_shown(step.formula, step.operands, step.source)) else ""


def _latex_side(
    formula: Formula,
    values: dict[str, str] | None = None,
    scalars: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> str:
    """A formula as a side of an equation: a comparison in brackets, c = (a < b) = (1 < 2)."""
    written = latex_formula(formula, values, scalars, taken)
    return f"({written})" if isinstance(formula, Apply) and formula.op == "compare" else written


def _plain(string: str, latex: bool) -> str:
    return string if latex else plain(string)


def _block_with_values(
    formula: Formula, values: dict[str, str], scalars: frozenset[str], taken: frozenset[str] = frozenset()
) -> str:
    """The formula with values put in, as a block: a matrix in it is drawn as one.

    While the formula is written, a character that no name may have stands for each matrix.
    """
    if any(_STANDS_FOR.search(text) for text in leaves(formula)):
        return text_formula(formula, None, scalars, taken)
    tall = {text: chr(_FIRST + i) for i, (text, block) in enumerate(values.items()) if "\n" in block}
    blocks = {mark: values[text] for text, mark in tall.items()}
    line = plain(text_formula(formula, values | tall, scalars, taken))
    return beside(*(blocks.get(part, part) for part in _STANDS_FOR.split(line)))


_FIRST = 0xE000
_STANDS_FOR = re.compile("([\ue000-\uf8ff])")
"""Unicode's private characters: they mean nothing to anybody else."""


def _values(step: Step, formula: Formula, options: Options, latex: bool, whole: bool) -> dict[str, str]:
    """The values to put in for the leaves. A call has no mathematics for a matrix to be put into, but its arguments may:
    if `whole`, these are filled in where everything in them is known."""
    if (step.kind == "return" and _is_named(formula)) or (isinstance(formula, Call) and is_opaque(step.result)):
        return {}
    if _is_in_words(formula) or isinstance(formula, Leaf):  # the same numbers stand in the result
        return {}
    seen = {text: step.operands[text] for text in leaves(formula) if text in step.operands} | entries_of(step, formula)
    found = {text: inline_of(value, options, latex) for text, value in seen.items()}
    known = {text: value for text, value in found.items() if value is not None}
    if isinstance(formula, Call):
        inside = {text for part in formula.args if isinstance(part, Apply) for text in leaves(part)}
        taken = any(isinstance(part, Apply) and part.op == "index" for part in walk(formula))
        inside = inside if whole and not taken and inside <= known.keys() else set()
        known = {text: value for text, value in known.items() if is_scalar(seen[text]) or text in inside}
    return known


def _is_named(formula: Formula) -> bool:
    """Z, or (y, z): names alone."""
    return isinstance(formula, Leaf) or (isinstance(formula, Sequence) and all(isinstance(f, Leaf) for f in formula.items))


def entries_of(step: Step, formula: Formula) -> dict[str, Any]:
    """The values of x[0] and x[1, 2] for the indices that are plain numbers, and of x[t] where it was recorded."""
    found: dict[str, Any] = {}
    for part in walk(formula):
        key = entry_of(part)
        if not key or not isinstance(part, Apply) or not isinstance(part.args[0], Leaf):
            continue
        numbers, whole = dict(part.options)["at"].numbers, step.operands.get(part.args[0].text)
        if key in step.operands:
            found[key] = step.operands[key]
        elif numbers is not None and isinstance(whole, torch.Tensor | list | tuple):
            found[key] = _entry(whole, numbers)
    return found


def entry_of(part: Formula) -> str:
    """x[0] for the entry of something that has a name; nothing for any other part of a formula."""
    if not isinstance(part, Apply) or part.op != "index" or not isinstance(part.args[0], Leaf):
        return ""
    return entry_key(part.args[0].text, dict(part.options)["at"])


def _entry(whole: Any, index: tuple[int, ...]) -> Any:
    try:
        return whole[index] if isinstance(whole, torch.Tensor) else whole[index[0]]
    except (IndexError, TypeError):
        return None
