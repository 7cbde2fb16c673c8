"""The worked solution for a terminal.

S = Q Kᵀ / √d = ⎡1/√2  1/√2⎤ ≈ ⎡0.7071  0.7071⎤  (2×2)
                ⎣1/√2     0⎦   ⎣0.7071  0     ⎦
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

import torch

from workings.control import plain
from workings.show.options import Options
from workings.show.outline.equation import Equation, text_equation
from workings.show.outline.outline import Line, agreement, outline
from workings.show.value.value import is_list, shape_of, text_of
from workings.show.write.block import beside, indented, width, wrapped
from workings.show.write.names import text_name, without_self
from workings.trace.first_bad import bad_gradient
from workings.trace.record import Trace
from workings.trace.step import Step

_INDENT = 2
_HANG = 8
"""Columns, at most, before the sign that a following line of an equation begins with."""
_BOLD, _DIM, _RED, _END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"


def text(trace: Trace, options: Options | None = None) -> str:
    """The steps of a trace, a block for each."""
    options = options or Options()
    blocks: list[str] = []
    for is_input, group in groupby(outline(trace, options), lambda line: line.kind == "input"):
        lines = list(group)
        if is_input:
            blocks.append(_inputs(lines, options))
        for line in [] if is_input else lines:
            _append(blocks, line, _block(line, options))
    return "\n\n".join(filter(None, [_spaced(blocks), _closing(trace, options)]))


def _append(blocks: list[str], line: Line, block: str) -> None:
    """A note stands right under what it is about, also where that has several lines."""
    if line.kind in ("note", "fold") and line.level and blocks and "\n" in blocks[-1]:
        blocks[-1] += f"\n{block}"
    elif block:
        blocks.append(block)


def _spaced(blocks: list[str]) -> str:
    """Blocks of several lines have an empty line on either side."""
    out = ""
    for before, block in zip(["", *blocks], blocks, strict=False):
        tall = "\n" in before or "\n" in block
        out += ("\n\n" if tall else "\n") * bool(out) + block
    return out


def _block(line: Line, options: Options) -> str:
    inner = replace(options, width=max(20, options.width - _INDENT * line.level))
    block = indented(_PRINTERS[line.kind](line, inner), _INDENT * line.level)
    return _with_place(block, line, options) if options.colour else block


def _with_place(block: str, line: Line, options: Options) -> str:
    """The file and line, dim at the right end of the first line."""
    if line.step.where is None or line.kind in ("note", "fold"):
        return block
    first, *rest = block.split("\n")
    place = plain(str(line.step.where).rpartition("/")[2])
    room = options.width - width(_uncoloured(first)) - len(place)
    return "\n".join([first + " " * room + _DIM + place + _END if room >= 2 else first, *rest])


def _uncoloured(string: str) -> str:
    for code in (_BOLD, _DIM, _RED, _END):
        string = string.replace(code, "")
    return string


def _coloured(string: str, colour: str, options: Options) -> str:
    return f"{colour}{string}{_END}" if options.colour and string else string


# ---------------------------------------------------------------------------------------------- equations


def _inputs(lines: list[Line], options: Options) -> str:
    """Inputs side by side, as many as the width holds; one of several blocks stands alone."""
    room = options.width - _INDENT * lines[0].level
    rows: list[str] = []
    for before, line in zip([lines[0], *lines], lines, strict=False):
        block = _block(replace(line, level=0), replace(options, width=room, colour=False))
        alone = not rows or is_list(before.step.result) or is_list(line.step.result)
        joined = block if alone else beside(rows[-1], "    ", block)
        if alone or width(joined) > room:
            rows.append(block)
        else:
            rows[-1] = joined
    return indented("\n".join(rows), _INDENT * lines[0].level)


def _equation(line: Line, options: Options) -> str:
    return _laid_out(text_equation(line, replace(options, width=max(20, options.width - _HANG - 2))), options)


def _laid_out(found: Equation, options: Options) -> str:
    """On one line where it fits; else the value below, its sign under the first one."""
    if not found.forms:
        return _with_colours(_head_in_lines(found, options), found, options)
    if not found.below:
        block = beside(*([found.head, f" {found.sign} "] if found.head else []), _side_by_side(found))
        if width(block) <= options.width:
            return _with_colours(block, found, options)
    return _with_colours(_below(found, options), found, options)


def _shape(found: Equation) -> str:
    return f"  {found.shape}" if found.shape else ""


def _side_by_side(found: Equation) -> str:
    first, *rest = found.forms
    return beside(first[1], *(part for sign, block in rest for part in (f" {sign} ", block)), _shape(found))


def _below(found: Equation, options: Options) -> str:
    """The forms of the value side by side where they fit, else below each other; several labelled blocks stand apart."""
    head, gap = _head_in_lines(found, options), " " * _hang(found)
    if found.below:
        first, *rest = found.forms
        stacked = "\n".join([first[1], *(beside(f"{sign} ", block) for sign, block in rest)])
        sign = f" {found.sign}{_shape(found)}"
        return f"{head + sign if '⎡' not in head else beside(head, sign)}\n{indented(stacked, 4)}"
    value = beside(f"{gap}{found.sign} ", _side_by_side(found))
    if width(value) > options.width and len(found.forms) > 1:
        *early, last = [beside(f"{gap}{sign} ", block) for sign, block in found.forms]
        value = "\n".join([*early, beside(last, _shape(found))])
    return f"{head}\n{value}"


def _hang(found: Equation) -> int:
    """The column of the first sign, where the following lines begin too."""
    column = width(found.left) + 1
    return column if found.left and found.lead == " = " and column <= _HANG else 2


def _head_in_lines(found: Equation, options: Options) -> str:
    """The formula on one line; each link on its own where it is too long, in several lines where even that is."""
    if width(found.head) <= options.width:
        return found.head
    gap = " " * _hang(found)
    first, *rest = replace(found, links=found.links[:1]).head, *(beside(f"{gap}= ", link) for link in found.links[1:])
    return "\n".join(_folded(block, options.width, gap + "    ") for block in [first, *rest])


def _folded(block: str, columns: int, gap: str) -> str:
    """One long line in several, the later ones behind a gap; a drawn matrix stays as it is."""
    if "\n" in block or width(block) <= columns:
        return block
    return "\n".join(textwrap.wrap(block, max(20, columns), subsequent_indent=gap, break_on_hyphens=False))


def _with_colours(block: str, found: Equation, options: Options) -> str:
    """Colours: the name bold, the shape dim, NaN red."""
    if not options.colour:
        return block
    first, line, rest = block.partition("\n")
    first = _coloured(found.left, _BOLD, options) + first[len(found.left) :] if first.startswith(found.left) else first
    block = first + line + rest
    if found.shape:
        front, _, end = block.rpartition(found.shape)
        block = front + _coloured(found.shape, _DIM, options) + end
    return block.replace("NaN", f"{_RED}NaN{_END}")


# ---------------------------------------------------------------------------------------------- the other lines


def _title(line: Line, options: Options) -> str:
    title = plain(without_self(line.text))
    if not line.valued or line.step.result is None:
        return _coloured(_folded(title, options.width, "    "), _BOLD, options)
    forms = [("=", text_of(line.step.result, replace(options, width=options.width - 4)))]
    return _laid_out(Equation(title, [], forms, shape_of(line.step.result)), options)


def branch(line: Line) -> str:
    """if x.shape[0] > 5: True"""
    header = plain(without_self(line.step.source or line.step.name)).rstrip(":")
    result = f": {plain(str(truth(line.step.result)))}" if line.valued and line.step.result is not None else ""
    return f"{header}{result}"


def truth(value: object) -> object:
    """A test's answer; a tensor of one element is its truth."""
    if isinstance(value, torch.Tensor):
        return bool(value.item()) if value.numel() == 1 else shape_of(value)
    return bool(value)


def _note(line: Line, options: Options) -> str:
    return _coloured(wrapped(plain(line.text), options.width), _DIM, options)


def _error(line: Line, options: Options) -> str:
    """The failing statement, the shape of each operand, and why."""
    step = line.step
    source = plain(without_self(step.source or step.name))
    place = f"  ({plain(str(step.where).rpartition('/')[2])})" if step.where else ""
    operands = [f"  {plain(text_name(name))} is {words}" for name, words in operand_descriptions(step)]
    reason = [indented(wrapped(plain(step.note), options.width - 2), 2)] if step.note else []
    failed = _folded(f"fails: {source}{place}", options.width, "    ")
    return "\n".join([_coloured(failed, _RED, options), *operands, *reason])


def operand_descriptions(step: Step) -> list[tuple[str, str]]:
    """The operands of a statement that failed, each with its shape; constants are left out.

    A dtype is mentioned where it is unusual, and where those of the operands differ.
    """
    dtypes = {value.dtype for value in step.operands.values() if isinstance(value, torch.Tensor)}
    given = [(name, value) for name, value in step.operands.items() if not isinstance(value, float)]
    return [(name, _description(value, len(dtypes) > 1)) for name, value in given]


def _description(value: object, with_dtype: bool) -> str:
    """(1×144), or the number it is; ((1×3), (1×3)) of several."""
    if isinstance(value, tuple | list) and is_list(value):
        inside = ", ".join(_description(item, with_dtype) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if not isinstance(value, torch.Tensor):
        return text_of(value, Options(width=60)).partition("\n")[0]
    dtype = str(value.dtype).removeprefix("torch.")
    usual = dtype in ("float32", "float64") and not with_dtype
    return (shape_of(value) or "a single number") + ("" if usual else f", {dtype}")


_PRINTERS: dict[str, Callable[[Line, Options], str]] = {
    "input": _equation,
    "equation": _equation,
    "branch": lambda line, options: _folded(branch(line), options.width, "    "),
    "title": _title,
    "fold": _note,
    "note": _note,
    "error": _error,
}
"""How each kind of line is written."""


def closing(trace: Trace, options: Options) -> list[str]:
    """What is said at the end: how it agrees with a plain run, the first NaN, remarks."""
    return [*filter(None, [agreement(trace, options), *_bad(trace)]), *trace.notes]


def _bad(trace: Trace) -> list[str]:
    """Where a NaN or an infinity first came about; of both, where the infinity did and where the NaN."""
    found = bad_gradient(trace)
    gradient = "" if found is None else f"first NaN or infinity of a gradient: {found[0].name}, under {_named(found[1])}"
    if trace.first_nan is None:
        return [_first_bad(trace.first_bad), gradient]
    return [_first_bad(trace.first_bad, "infinity"), _first_bad(trace.first_nan, "NaN"), gradient]


def _first_bad(step: Step | None, what: str = "NaN or infinity") -> str:
    """The line about this step."""
    return f"first {what}: {_named(step)}" if step is not None else ""


def _named(step: Step) -> str:
    """Where a statement stands: its module, the statement, its line."""
    around = step.address.partition("#")[0].removesuffix(step.name).rstrip(".") if step.kind == "assign" else ""
    place = f" ({str(step.where).rpartition('/')[2]})" if step.where else ""
    return f"{f'{around}: ' if around else ''}{without_self(step.source or step.name)}{place}"


def _closing(trace: Trace, options: Options) -> str:
    lines = [plain(line) for line in closing(trace, options)]
    alarming = [plain(line) for line in _bad(trace)]
    painted = [_coloured(wrapped(line, options.width), _RED if line in alarming else _DIM, options) for line in lines]
    return "\n".join(painted)
