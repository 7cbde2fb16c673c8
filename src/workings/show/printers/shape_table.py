"""A `ShapeReport` as a table of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from workings.trace.shapes.report import Layer, ShapeReport

COLUMNS = ("layer", "", "output", "size", "parameters", "multiply-adds", "memory")
RIGHT = frozenset({"multiply-adds", "memory"})
_GAP = "  "


def text(report: ShapeReport, width: int = 100) -> str:
    """The table, the totals, what to be warned of, and the failure if there is one.

    The longest columns wrap where the table is wider than `width`.
    """
    return "\n".join([heading(report), "", *_table(rows(report), width), *_wrapped_remarks(report, width)])


def heading(report: ShapeReport) -> str:
    """Which model, on what."""
    return f"{report.name} on {' and '.join(map(_sizes, report.inputs))}"


def rows(report: ShapeReport) -> list[tuple[str, ...]]:
    """The names of the columns, a row for each layer, the totals."""
    totals = (f"{report.parameters}", f"{report.multiply_adds}", memory(report.memory))
    last = ("so far" if report.failure else "total", "", "", "", *totals)
    return [COLUMNS, *(_cells(layer) for layer in report.layers), last]


def remarks(report: ShapeReport) -> list[str]:
    """What stands under the table: warnings, notes, why a layer failed."""
    notes = [f"{layer.path or layer.kind}: {warning}." for layer in report.layers for warning in layer.warnings]
    return [*notes, *report.notes, *([_failure(report)] if report.failure is not None else [])]


def _cells(layer: Layer) -> tuple[str, ...]:
    """One row."""
    output = _sizes(layer.output) if layer.output is not None else ""
    counts = (f"{layer.multiply_adds}" if layer.multiply_adds else "", memory(layer.memory) if layer.memory else "")
    return (layer.path, layer.kind, output, layer.arithmetic, layer.parameter_arithmetic, *counts)


def _sizes(shape: Sequence[int]) -> str:
    """
    >>> _sizes((1, 8, 28, 28))
    '1×8×28×28'
    """
    return "×".join(map(str, shape)) or "a number"


def memory(count: int) -> str:
    """
    >>> memory(40), memory(25088), memory(1023 * 2**20), memory(2400 * 2**30), memory(2**62)
    ('40 B', '24.5 KiB', '1,023 MiB', '2.34 TiB', '4,096 PiB')
    """
    for unit, size in (("PiB", 2**50), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:,.0f} {unit}" if count >= 999.5 * size else f"{count / size:.3g} {unit}"
    return f"{count} B"


def _table(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Aligned rows, with a rule under the head and over the total."""
    columns = list(zip(*rows, strict=True))
    least = [max(len(word) for cell in column for word in cell.split() or [""]) for column in columns]
    widths = _fit_widths([max(map(len, column)) for column in columns], least, width)
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for number, row in enumerate(rows):
        if number in (1, len(rows) - 1):
            yield rule
        yield from _lines(row, widths)


def _fit_widths(widths: list[int], least: list[int], width: int) -> list[int]:
    """The widest columns made narrower until the table fits, but none narrower than its longest word."""
    while sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        loose = [w if w > low else 0 for w, low in zip(widths, least, strict=True)]
        if not any(loose):
            break
        widths[loose.index(max(loose))] -= 1
    return widths


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """One row, its cells wrapped."""
    parts = [wrap(cell, max(w, 1)) or [""] for cell, w in zip(row, widths, strict=True)]
    for number in range(max(map(len, parts))):
        pieces = [part[number] if number < len(part) else "" for part in parts]
        aligned = [
            piece.rjust(w) if name in RIGHT else piece.ljust(w)
            for piece, w, name in zip(pieces, widths, COLUMNS, strict=True)
        ]
        yield _GAP.join(aligned).rstrip()


def _wrapped_remarks(report: ShapeReport, width: int) -> Iterator[str]:
    """The remarks in lines; why a layer failed stands apart."""
    found = remarks(report)
    notes, failure = (found[:-1], found[-1:]) if report.failure is not None else (found, [])
    if notes:
        yield ""
        yield from (line for note in notes for line in wrap(note, width, subsequent_indent="  "))
    for reason in failure:
        yield ""
        yield from wrap(reason, width)


def _failure(report: ShapeReport) -> str:
    """The layer that failed, and why."""
    failed = report.failure
    assert failed is not None
    place = f"layer {failed.path}" if failed.path else failed.kind or report.name
    reason = str(failed.explanation) if failed.explanation else f"{type(failed.error).__name__}: {failed.error}"
    return f"{place} failed: {reason}"
