"""Values that are too long to write, by the names they were computed from: γ_1·x̂_1 + β_1 instead of a formula of 691 nodes.

A result is computed again from letters in place of its operands that are long themselves; operands that are short stay what
they are. While it is computed and written, a letter that no name is like stands for each entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.exact.numbers.letter import letter
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value
from workings.exact.tensor.arena import ARENA, payload_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.typeset.latex import latex
from workings.exact.typeset.text import text
from workings.show.write.cells import Form
from workings.show.write.decimals import map_cells
from workings.show.write.names import latex_name, text_name
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Formula, Leaf, leaves

_LONGEST = 60
"""Characters of an entry with letters that is written out."""
_STILL = 160
"""Characters of one in names."""
_SHORT = 8
"""Nodes of an operand that stays as it is."""
_MARK = "zzz"
_IN_TEXT, _IN_LATEX = re.compile(rf"{_MARK}(\d+)"), re.compile(rf"\\mathrm\{{{_MARK}\}}_\{{(\d+)\}}")

_Entry = tuple[str, tuple[int, ...]]
"""An entry of an operand: its name and where it stands."""


def in_names(result: Any, formula: Formula | None, operands: Mapping[str, Any], most: int) -> Form | None:
    """The result in the names of its operands; None where its own values can be written, or nothing shorter is found.

    >>> from workings import exact
    >>> from workings.trace.formula.tree import Apply
    >>> x = exact.symbols("a") * exact("1 2")
    >>> for _ in range(8):
    ...     x = (x + 1) / (x * x + 2).sqrt()
    >>> in_names(2 * x, Apply("mul", (Leaf("s"), Leaf("x_hat"))), {"s": 2, "x_hat": x}, 64).text
    ['2x̂_1', '2x̂_2']
    """
    if formula is None or isinstance(formula, Leaf) or not isinstance(result, ExactTensor) or result.numel() > most:
        return None
    if _longest_entry(result) <= _LONGEST:
        return None
    given, entries = _with_letters(formula, operands)
    if not entries:
        return None
    try:
        with torch.no_grad():
            found = evaluate(formula, given)
    except WorkingsError:
        return None
    if not isinstance(found, ExactTensor) or found.shape != result.shape:
        return None
    if _longest_entry(found) >= min(_STILL, _longest_entry(result)):
        return None
    with ARENA.working():
        as_text, as_latex = found.nested(lambda v: text(simplest(v))), found.nested(lambda v: latex(simplest(v)))
    return Form(
        "=",
        map_cells(as_text, lambda cell: _IN_TEXT.sub(lambda m: _text_entry(*entries[int(m[1])]), cell)),
        map_cells(as_latex, lambda cell: _IN_LATEX.sub(lambda m: _latex_entry(*entries[int(m[1])]), cell)),
    )


def _longest_entry(x: ExactTensor) -> float:
    """Characters of the longest entry with letters; ∞ where one is not written out at all."""
    with ARENA.working():
        written = [text(simplest(v)) for v in set(x.elements()) if v.free]
    return max((float("inf") if cell.startswith("⟨") else len(cell) for cell in written), default=0)


def _with_letters(formula: Formula, operands: Mapping[str, Any]) -> tuple[dict[str, Any], list[_Entry]]:
    """The operands with letters in place of the long ones, and the entries that the letters stand for, by number."""
    given, entries = dict(operands), list[_Entry]()
    for name in leaves(formula):
        value = operands.get(name)
        if not isinstance(value, ExactTensor) or not any(map(_is_long, value.elements())):
            continue
        first = len(entries)
        entries += [(name, tuple(int(i) for i in at)) for at in torch.ones(value.shape).nonzero()]
        marks = [letter(f"{_MARK}{number}") for number in range(first, len(entries))]
        given[name] = ExactTensor(payload_of(marks, tuple(value.shape)))
    return given, entries


def _is_long(v: Value) -> bool:
    return bool(v.free) and v.size > _SHORT


def _text_entry(name: str, at: tuple[int, ...]) -> str:
    """x̂_1, W_{1,2}, ∂L/∂x_1 from y: counted from 1, as letters are."""
    places = ",".join(str(i + 1) for i in at)
    value, origin, place = text_name(name).partition(" from ")
    below = f"_{{{places}}}" if len(at) > 1 else f"_{places}" if at else ""
    return f"({value}{below}{origin}{place})" if origin else f"{value}{below}"


def _latex_entry(name: str, at: tuple[int, ...]) -> str:
    places = ",".join(str(i + 1) for i in at)
    return f"{{{latex_name(name)}}}_{{{places}}}" if at else latex_name(name)
