"""The worked solution in Markdown: formulas between $$, what is inside a step in a quotation, large values in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

import torch

from workings.show.options import Options
from workings.show.outline.assignment import entry_assignment
from workings.show.outline.equation import code_beside
from workings.show.outline.outline import Line, flat_turns, outline
from workings.show.printers.latex import aligned_display, gathered_display
from workings.show.printers.text import branch, closing, operand_descriptions
from workings.show.value.value import shape_of, summary_facts
from workings.show.write.escape import markdown_code, markdown_text
from workings.show.write.names import without_self
from workings.show.write.saved import saved_of, summary_of
from workings.trace.record import Trace


def markdown(trace: Trace, options: Options | None = None) -> str:
    """The steps of a trace, a paragraph for each."""
    options = options or Options()
    blocks: list[tuple[int, str]] = []
    for kind, group in groupby(flat_turns(outline(trace, options)), lambda line: (line.level, line.kind)):
        lines = list(group)
        shown = [_inputs(lines, options)] if kind[1] == "input" else [_PRINTERS[line.kind](line, options) for line in lines]
        blocks += [(kind[0], block) for block in shown]
    blocks += [(0, markdown_text(line)) for line in closing(trace, options)]
    return _quoted(blocks)


def _quoted(blocks: list[tuple[int, str]]) -> str:
    """The blocks with an empty line between them, each level one > deeper."""
    out, before = "", 0
    for level, block in blocks:
        between = (">" * min(before, level)) + "\n" if out else ""
        out += between + "".join(f"{'>' * level}{' ' * bool(level and line)}{line}\n" for line in block.split("\n"))
        before = level
    return out


def _display(formula: str) -> str:
    return f"$$\n{formula}\n$$"


def _inputs(lines: list[Line], options: Options) -> str:
    """Small inputs in one display, large ones in tables."""
    small = [line for line in lines if not _is_large(line, options)]
    shown = [_display(gathered_display(small, options))] if small else []
    return "\n\n".join([*shown, *(_table(line, options) for line in lines if _is_large(line, options))])


def _equation(line: Line, options: Options) -> str:
    beside = [markdown_code(code)] if (code := code_beside(line.step)) else []
    if not line.valued or not _is_large(line, options):
        return "\n\n".join([*beside, _display(aligned_display(line, options))])
    formula = [_display(aligned_display(replace(line, valued=False), options))] if line.step.formula is not None else []
    return "\n\n".join([*beside, *formula, _table(line, options)])


def _is_large(line: Line, options: Options) -> bool:
    value = line.step.result
    known = isinstance(value, torch.Tensor) and (value.device.type != "meta" or saved_of(value) is not None)
    return known and value.numel() > options.most


def _table(line: Line, options: Options) -> str:
    """| x | (64×64) | range −3 … 3 ▁▃█▃▁ | mean 0 | std 1 |"""
    step = line.step
    found = summary_of(step.result)
    facts = summary_facts(found, options.digits) if found else [("", "exact values with letters")]
    place = entry_assignment(step)
    name = markdown_code(without_self(place.whole if place else step.name or step.source or step.kind))
    cells = [("value", name), ("shape", shape_of(step.result).strip("()")), *((n or "type", fact) for n, fact in facts)]
    rows = [[n for n, _ in cells], ["---"] * len(cells), [fact.replace("|", r"\|") for _, fact in cells]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _title(line: Line, options: Options) -> str:
    title = f"**{markdown_text(without_self(line.text))}**"
    if not line.valued or line.step.result is None:
        return title
    body = _table(line, options) if _is_large(line, options) else _display(aligned_display(_module_value(line), options))
    return f"{title}\n\n{body}"


def _module_value(line: Line) -> Line:
    """The value of a closed module, under the module's path."""
    return replace(line, step=replace(line.step, source="", formula=None, name=line.step.name or line.step.source))


def _note(line: Line, options: Options) -> str:
    return f"*{markdown_text(line.text)}*"


def _error(line: Line, options: Options) -> str:
    step = line.step
    shapes = [
        f"- {markdown_code(without_self(name))} is {markdown_text(words)}" for name, words in operand_descriptions(step)
    ]
    listed = ["\n".join(shapes)] if shapes else []
    note = [markdown_text(step.note)] if step.note else []
    return "\n\n".join([f"**fails:** {markdown_code(without_self(step.source))}", *listed, *note])


_PRINTERS: dict[str, Callable[[Line, Options], str]] = {
    "equation": _equation,
    "branch": lambda line, options: markdown_code(branch(line)),
    "title": _title,
    "fold": _note,
    "note": _note,
    "error": _error,
}
"""How each kind of line is written; inputs are gathered."""
