"""The worked solution for a terminal.

S = Q Kᵀ / √d = ⎡1/√2  1/√2⎤ ≈ ⎡0.7071  0.7071⎤  (2×2)
                ⎣1/√2     0⎦   ⎣0.7071  0     ⎦
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

import torch

from workings.show.block import beside, indented, plain, width, wrapped
from workings.show.equation import Equation, text_equation
from workings.show.names import text_name, without_self
from workings.show.options import Options
from workings.show.outline import Line, outline
from workings.show.value import shape_of, text_of
from workings.trace.record import Trace
from workings.trace.step import Step

INDENT = 2
BOLD, DIM, RED, END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"


def text(trace: Trace, options: Options | None = None) -> str:
    """The steps of a trace, a block for each."""
    options = options or Options()
    blocks: list[str] = []
    for is_input, group in groupby(outline(trace, options), lambda line: line.kind == "input"):
        lines = list(group)
        blocks += [_inputs(lines, options)] if is_input else [_placed(line, options) for line in lines]
    return _spaced([block for block in blocks if block] + _closing(trace, options))


def _spaced(blocks: list[str]) -> str:
    """Blocks of several lines have an empty line on either side."""
    out = ""
    for before, block in zip(["", *blocks], blocks, strict=False):
        tall = "\n" in before or "\n" in block
        out += ("\n\n" if tall else "\n") * bool(out) + block
    return out


def _placed(line: Line, options: Options) -> str:
    inner = replace(options, width=max(20, options.width - INDENT * line.level))
    block = indented(PRINTERS[line.kind](line, inner), INDENT * line.level)
    return _with_place(block, line, options) if options.colour else block


def _with_place(block: str, line: Line, options: Options) -> str:
    """The file and line, dim at the right end of the first line."""
    if line.step.where is None or line.kind in ("note", "fold"):
        return block
    first, *rest = block.split("\n")
    place = plain(str(line.step.where).rpartition("/")[2])
    room = options.width - width(_uncoloured(first)) - len(place)
    return "\n".join([first + " " * room + DIM + place + END if room >= 2 else first, *rest])


def _uncoloured(string: str) -> str:
    for code in (BOLD, DIM, RED, END):
        string = string.replace(code, "")
    return string


def _coloured(string: str, colour: str, options: Options) -> str:
    return f"{colour}{string}{END}" if options.colour and string else string


# ---------------------------------------------------------------------------------------------- equations


def _inputs(lines: list[Line], options: Options) -> str:
    """Inputs side by side, as many as the width holds."""
    rows: list[str] = []
    for line in lines:
        block = _placed(replace(line, level=0), replace(options, width=options.width - INDENT * line.level, colour=False))
        joined = beside(rows[-1], "    ", block) if rows else ""
        if rows and width(joined) <= options.width - INDENT * line.level:
            rows[-1] = joined
        else:
            rows.append(block)
    return indented("\n".join(rows), INDENT * lines[0].level)


def _equation(line: Line, options: Options) -> str:
    found = text_equation(line, replace(options, width=options.width - 4))
    if line.step.kind == "return":
        found = replace(found, left=f"return {found.links[0]}" if found.links else "return", links=found.links[1:])
    return _laid_out(found, options)


def _laid_out(found: Equation, options: Options) -> str:
    """On one line where it fits; else the value below; else its forms below each other."""
    head = " = ".join(part for part in (found.left, *found.links) if part)
    shape = f"  {found.shape}" if found.shape else ""
    if not found.forms:
        return _finished(head, found, options)
    value = beside(*(p for s, block in found.forms for p in (f" {s} ", block)), shape)
    beside_head = beside(head, value)
    if width(beside_head) <= options.width:
        return _finished(beside_head, found, options)
    head = _broken(found, options)
    below = beside(*(p for i, (s, block) in enumerate(found.forms) for p in (f" {s} " if i else "", block)), shape)
    if width(below) > options.width - 4:
        below = _stacked(found, shape)
    return _finished(f"{head} =\n{indented(below, 4)}", found, options)


def _stacked(found: Equation, shape: str) -> str:
    first, *rest = found.forms
    last = len(rest) - 1
    below = [beside(f"{sign} ", block, shape if i == last else "") for i, (sign, block) in enumerate(rest)]
    return "\n".join([beside(first[1], "" if rest else shape), *below])


def _broken(found: Equation, options: Options) -> str:
    """The formula on one line; each link on its own where it is too long."""
    head = " = ".join(part for part in (found.left, *found.links) if part)
    if width(head) + 2 <= options.width or len(found.links) < 2:
        return head
    gap = " " * width(found.left)
    return "\n".join([f"{found.left} = {found.links[0]}", *(f"{gap} = {link}" for link in found.links[1:])])


def _finished(block: str, found: Equation, options: Options) -> str:
    """Colours: the name bold, the shape dim, NaN red."""
    if not options.colour:
        return block
    first, line, rest = block.partition("\n")
    first = _coloured(found.left, BOLD, options) + first[len(found.left) :] if first.startswith(found.left) else first
    block = first + line + rest
    if found.shape:
        front, _, end = block.rpartition(found.shape)
        block = front + _coloured(found.shape, DIM, options) + end
    return block.replace("NaN", f"{RED}NaN{END}")


# ---------------------------------------------------------------------------------------------- the other lines


def _title(line: Line, options: Options) -> str:
    title = plain(without_self(line.text))
    if not line.valued or line.step.result is None:
        return _coloured(title, BOLD, options)
    forms = [("=", text_of(line.step.result, replace(options, width=options.width - 4)))]
    return _laid_out(Equation(title, [], forms, shape_of(line.step.result)), options)


def _branch(line: Line, options: Options) -> str:
    header = plain(without_self(line.step.source or line.step.name)).rstrip(":")
    result = f": {plain(str(_truth(line.step.result)))}" if line.valued and line.step.result is not None else ""
    return f"{header}{result}"


def _truth(value: object) -> object:
    """A test's answer; a tensor of one element is its truth."""
    if isinstance(value, torch.Tensor):
        return bool(value.item()) if value.numel() == 1 else shape_of(value)
    return value if isinstance(value, bool | int | float) else bool(value)


def _note(line: Line, options: Options) -> str:
    return _coloured(wrapped(plain(line.text), options.width), DIM, options)


def _error(line: Line, options: Options) -> str:
    """The failing statement, the shape of each operand, and why."""
    step = line.step
    source = plain(without_self(step.source)) or " = ".join(filter(None, [step.name, "…"]))
    place = f"  ({plain(str(step.where).rpartition('/')[2])})" if step.where else ""
    operands = [f"  {plain(text_name(name))} is {_described(value)}" for name, value in step.operands.items()]
    reason = indented(wrapped(plain(step.note), options.width - 2), 2)
    return "\n".join([_coloured(f"fails: {source}{place}", RED, options), *operands, *([reason] if step.note else [])])


def _described(value: object) -> str:
    """(1×144), or the number it is."""
    if not isinstance(value, torch.Tensor):
        return text_of(value, Options(width=60)).partition("\n")[0]
    dtype = str(value.dtype).removeprefix("torch.")
    return (shape_of(value) or "a single number") + ("" if dtype in ("float32", "float64") else f", {dtype}")


PRINTERS: dict[str, Callable[[Line, Options], str]] = {
    "input": _equation,
    "equation": _equation,
    "branch": _branch,
    "title": _title,
    "fold": _note,
    "note": _note,
    "error": _error,
}
"""How each kind of line is written."""


def closing(trace: Trace) -> list[str]:
    """What is said at the end: how it agrees with a plain run, the first NaN, remarks."""
    return [*filter(None, [trace.agreement, first_bad(trace.first_bad)]), *trace.notes]


def first_bad(step: Step | None) -> str:
    """Where a NaN or an infinity first came about."""
    if step is None:
        return ""
    place = f" ({str(step.where).rpartition('/')[2]})" if step.where else ""
    return f"first NaN or infinity: {without_self(step.source or step.name)}{place}"


def _closing(trace: Trace, options: Options) -> list[str]:
    lines = [plain(line) for line in closing(trace)]
    bad = plain(first_bad(trace.first_bad))
    painted = [_coloured(wrapped(line, options.width), RED if line == bad else DIM, options) for line in lines]
    return ["\n" + "\n".join(painted)] if painted else []
