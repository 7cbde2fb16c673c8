"""What exact values rest on that was not proved: floats kept as fractions, comparisons that a sample value decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.record import Trace
from workings.trace.step import Step

_MOST = 5
"""Assumptions that are named; more are counted."""


def assumption_notes(trace: Trace) -> list[str]:
    """A note for each assumption, with the statement that made it."""
    found: dict[str, str] = {}
    read: dict[str, str] = {}
    for step in _inside_out(trace.root):
        for value in _exact_in(step.result):
            for assumption in value.assumptions:
                (read if assumption.kind == "recovered" else found).setdefault(assumption.text, _name(step))
    notes = [f"assumed in {name}: {text}" for text, name in found.items()]
    more = len(notes) - _MOST
    rest = [f"{more} more assumptions: see x.assumptions of an exact value"] if more > 0 else []
    return [*_reading_note(read), *notes[:_MOST], *rest]


def _reading_note(read: dict[str, str]) -> list[str]:
    """One line for the floats that were read as exact numbers: most programs have some."""
    if not read:
        return []
    parts = [f"in {name}, {text}" for text, name in read.items()]
    more = len(parts) - _MOST
    return ["; ".join([*parts[:_MOST], *([f"{more} more floats are read so"] if more > 0 else [])])]


def _name(step: Step) -> str:
    return step.name or step.source.removeprefix("return ")


def _inside_out(step: Step) -> Iterator[Step]:
    """Steps in the order in which they end."""
    for child in step.children:
        yield from _inside_out(child)
    yield step


def _exact_in(value: Any) -> Iterator[ExactTensor]:
    if isinstance(value, ExactTensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _exact_in(part)
