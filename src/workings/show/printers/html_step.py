"""One row of a page: name = formula = the values put in = result, its source and place above it, its remark below.

The name stands alone on the left; each = or ≈ is a formula of its own that begins with its sign, so a line that is too long
breaks before a sign, and the next one begins on it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import Any

import torch

from workings.exact import ExactTensor
from workings.show.formula import mathml
from workings.show.formula.mathml import relation
from workings.show.formula.notation import mathml_formula
from workings.show.formula.repeated import OFTEN, repeated_term
from workings.show.formula.shown import as_shown
from workings.show.formula.sizes import rewrite
from workings.show.formula.terms import terms, widest
from workings.show.options import Options
from workings.show.outline import turns
from workings.show.outline.assignment import entry_assignment, is_entry_of_many
from workings.show.outline.equation import entries_of, entry_of, says_itself
from workings.show.outline.numbered import numbered
from workings.show.outline.outline import note_of
from workings.show.outline.rows import Row
from workings.show.printers.text import truth
from workings.show.value.html_value import ValueOptions, facts, term, value_markup
from workings.show.value.value import is_scalar
from workings.show.write.brief import short_repr
from workings.show.write.markup import element, escaped
from workings.trace.code.look_up import MISSING
from workings.trace.formula.tree import Call, Code, Formula, Leaf, Number, leaves
from workings.trace.step import Step

_SMALL = {"short": 16, "long": 64}
"""Entries of an operand that are put into the formula."""
_WIDEST_TERM, _WIDEST = 42, 130
"""Characters of one term, which no line can break, and of all of a formula with its values put in."""
_HEADED = frozenset("call module loop turn branch expansion folded error".split())
"""Kinds whose name is a heading in the author's words, not a letter of a formula."""
_BADGES = {"assign": "", "expression": "", "operation": "", "root": "", "input": "", "gradient": "", "folded": ""}
_QUIET = frozenset(("input", "gradient"))
"""Kinds that have no line of source above them; the shape stands behind a value that does not show it."""


def row_markup(row: Row, place: ValueOptions, taken: frozenset[str], error: BaseException | None) -> str:
    """The row itself, without what is inside it; `taken` are the letters that are names in the work."""
    step = row.step
    return _above(row) + _line(step, place, taken) + _below(step, place.options, error)


def place_of(step: Step) -> str:
    return "" if step.where is None else escaped(f"{PurePath(step.where.file).name}:{step.where.line}")


def _above(row: Row) -> str:
    """The number of the statement, which is its address too, its source, shape and place."""
    step = row.step
    source = "" if step.kind in ("loop", "turn") else step.source
    number = f'<a class="n" href="#{escaped(row.id)}">{row.number}</a>' if row.number else ""
    badge = _BADGES.get(step.kind, step.kind)
    parts = [number, element("span", badge, class_="badge") if badge else ""]
    parts += [element("code", escaped(source)) if source else "", "" if step.kind in _QUIET else facts(step.result)]
    parts += [element("span", place_of(step), class_="where") if step.where and step.kind != "gradient" else ""]
    return element("div", " ".join(filter(None, parts)), class_="source") if any(parts) else ""


def _line(step: Step, place: ValueOptions, taken: frozenset[str]) -> str:
    name, pieces = _shortened(numbered(step), place, taken)
    if step.kind in _HEADED:
        heading = _heading(step, place.options)
        name = element("code", escaped(heading)) if heading else ""
    if step.kind in _QUIET and term(step.result, place.options) is None:
        pieces.append(facts(step.result))
    if step.kind == "branch" and step.result is not None:
        pieces.append(element("code", escaped(f": {truth(step.result)}")))
    left = element("div", name, class_="name") if name else ""
    right = element("div", "".join(pieces), class_="pieces") if any(pieces) else ""
    return element("div", left + right, class_="line") if left or right else ""


def _heading(step: Step, options: Options) -> str:
    """A loop by its header, a turn by its number and what it is about, anything else by its name."""
    if step.kind == "turn" and (about := turns.heading(step, options)):
        return f"{step.name}, {about}"
    return step.source.rstrip(":") or step.name if step.kind == "loop" else step.name


def _shortened(step: Step, place: ValueOptions, taken: frozenset[str]) -> tuple[str, list[str]]:
    """The equation; a term that its values repeat has a name, which is explained at the end."""
    exact = [
        x for x in (*step.operands.values(), step.result) if isinstance(x, ExactTensor) and x.numel() <= place.options.most
    ]
    values = [v for x in exact for v in x.elements()] if place.options.exact else []
    named = repeated_term(values, taken, place.options.digits) if values else None
    if named is not None:
        name, pieces = _equation(step, replace(place, named=named), taken)
        if "".join(pieces).count(mathml.named_letter(named)) >= OFTEN:
            return name, [*pieces, element("span", f"with {mathml.definition(named)}", class_="with")]
    return _equation(step, place, taken)


def _equation(step: Step, place: ValueOptions, taken: frozenset[str]) -> tuple[str, list[str]]:
    """The name, and what stands after it: = formula, = the values put in, = result."""
    name = "" if step.kind in _HEADED or not step.name else mathml.math(mathml.name(step.name))
    pieces: list[str] = []
    if step.formula is not None:
        written = _formula(step.formula, step, taken)
        pieces.append(_breakable("=" if name else "", written))
        values = _formula_with_values(step, place, taken)
        pieces += [_breakable("=", values)] if values and values != written else []
    if _has_result(step) and not _says_itself(step):
        changed = entry_assignment(step)
        if changed is not None:
            pieces += [value_markup(changed.entry, place, step.name)] if changed.entry is not MISSING else []
            if changed.entry is not MISSING and is_entry_of_many(step):
                return name, pieces
            pieces.append(mathml.math(relation("⇒"), mathml.name(changed.whole)))
        value = value_markup(step.result, place, step.name if changed is None else changed.whole)
        pieces += [value] if value not in pieces else []  # loss = None
    return name, pieces


def _breakable(sign: str, written: str) -> str:
    """= formula, as an element that breaks before the signs of its terms where it is too long for its column."""
    first, *others = terms(written)
    first = mathml.math(relation(sign) if sign else "", first)
    return element("span", "".join([first, *map(mathml.math, others)]), class_="terms") if others else first


def _says_itself(step: Step) -> bool:
    """Whether the value is what stands before it: the letter w of an input w, the call that made an optimizer."""
    if says_itself(step):
        return True
    written = term(step.result, Options()) if step.kind == "input" else None
    return written is not None and written.string == mathml.name(step.name)


def _has_result(step: Step) -> bool:
    """Whether a value is worth a place: not of a loop, of `print(x)`, of `return Z` where Z stands above."""
    if step.kind in ("error", "loop", "turn", "branch", "folded") or (
        step.kind == "return" and isinstance(step.formula, Leaf)
    ):
        return False
    return step.result is not None or (step.kind in ("assign", "input") and not step.is_stopped)


def _formula(f: Formula, step: Step, taken: frozenset[str]) -> str:
    """The formula in the author's names, where numbers are known to be numbers; nested too deeply, its source."""
    try:
        return mathml_formula(as_shown(f, step.operands, step.source), None, _scalars(step.operands), taken)
    except RecursionError:
        return mathml_formula(Code(step.source))


def _scalars(operands: dict[str, Any]) -> frozenset[str]:
    return frozenset(text for text, value in operands.items() if is_scalar(value))


def _formula_with_values(step: Step, place: ValueOptions, taken: frozenset[str]) -> str:
    """The formula with small operands in place of their names; nothing where that says no more than the result."""
    f, options = step.formula, place.options
    most = _SMALL.get(options.substitution, 0)
    if f is None or isinstance(f, (Leaf, Number, Code, Call)) or not most:
        return ""
    try:
        f = as_shown(f, step.operands, step.source)
        entries = entries_of(step, f)
        f = rewrite(f, lambda part: Leaf(key) if (key := entry_of(part)) in entries else None)
        given = step.operands | entries
        read = [text for text in leaves(f) if text in given]
        values = {text: term(given[text], options, most, place.named) for text in read}
        known = {text: value for text, value in values.items() if value is not None}
        most_wide, whole = widest(f, {text: _columns(given[text]) for text in known})
        if most_wide > _WIDEST_TERM or whole > _WIDEST:
            return ""
        if not known or (options.substitution == "short" and len(known) < len(read)):
            return ""
        return mathml_formula(f, known, _scalars(given), taken)
    except RecursionError:
        return ""


def _columns(value: Any) -> int:
    """About how many characters wide a value is."""
    if not isinstance(value, torch.Tensor) or not value.dim():
        return 6
    return 8 * value.shape[-1] + 2


def _below(step: Step, options: Options, error: BaseException | None) -> str:
    """The remark; for a failed statement, why it failed and its operands."""
    if step.kind == "error":
        return _explanation(step, error)
    note = note_of(step, options)
    return element("p", escaped(note), class_="note") if note else ""


def _explanation(step: Step, error: BaseException | None) -> str:
    """Why the statement failed, with what it was given."""
    said = step.note or (str(error) if error else "")
    rows = [
        f'<tr><th scope="row"><code>{escaped(text)}</code></th><td>{_operand(x)}</td></tr>'
        for text, x in step.operands.items()
    ]
    table = element("table", "".join(rows), class_="operands") if rows else ""
    return element("p", escaped(said), class_="explanation") * bool(said) + table


def _operand(x: Any) -> str:
    return facts(x) or element("code", escaped(short_repr(x)))
