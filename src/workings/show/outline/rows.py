"""The rows of a page: all that can be unfolded on it, nested, each with an id to link to.

A row is a statement with what happened inside it and the gradients that it hands back. Other than the lines of the outline,
rows are kept to every depth: the reader unfolds them. Calls of a small helper that computes nothing (`exists(x)`) are
counted instead, once they are many.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from workings.show.options import Options
from workings.show.outline import turns
from workings.show.outline.assignment import separate
from workings.show.outline.outline import aliases, repeats
from workings.show.outline.plumbing import has_error, inside_of, is_aside, is_plumbing
from workings.show.outline.window import first_window
from workings.show.value.value import is_same
from workings.trace.record import Trace
from workings.trace.step import Step

_NESTED = 60
"""Levels of steps inside steps; browsers draw no more than about 500 nested elements."""
_OFTEN = 6
"""Calls of a helper that each have their rows; if there are more, all of them are counted in one line."""


@dataclass
class Row:
    """A step on the page. `called` is the call whose statements stand inside it; `deeper` counts steps that no row shows."""

    step: Step
    id: str = ""
    number: int = 0
    called: str = ""
    inside: list[Row] = field(default_factory=list)
    gradients: list[Row] = field(default_factory=list)
    deeper: int = 0

    def walk(self) -> Iterator[Row]:
        yield self
        for row in (*self.gradients, *self.inside):
            yield from row.walk()


@dataclass(frozen=True)
class Rows:
    """All rows of a page, how often each small helper was called, and the row of each step."""

    top: list[Row]
    helpers: dict[str, int]
    by_step: dict[int, Row]

    @property
    def total(self) -> int:
        """How many statements have a number."""
        return sum(1 for row in self.walk() if row.number)

    def walk(self) -> Iterator[Row]:
        for row in self.top:
            yield from row.walk()


def rows_of(trace: Trace, options: Options) -> Rows:
    """What the page of a trace shows."""
    root = top_of(trace.root)
    helpers = {} if options.complete else _helpers(root)
    rows = _Builder(options, frozenset(helpers), trace.first_bad).rows(inside_of(root, options.complete), 0)
    found = Rows(rows, helpers, {id(row.step): row for top in rows for row in top.walk()})
    _number(found)
    return found


def top_of(root: Step) -> Step:
    """What the page is about: of a capture of one module, that module."""
    while len(root.children) == 1 and root.children[0].kind in ("call", "module") and root.children[0].children:
        root = root.children[0]
    return root


@dataclass(frozen=True)
class _Builder:
    options: Options
    helpers: frozenset[str]
    first_bad: Step | None

    def rows(self, steps: list[Step], level: int) -> list[Row]:
        wanted = [step for step in steps if _is_wanted(step, self.options) and (self.complete or not is_plumbing(step))]
        return [row for step in wanted if not self.is_counted(step) for row in self.row(step, level)]

    @property
    def complete(self) -> bool:
        return self.options.complete

    def is_counted(self, step: Step) -> bool:
        return step.kind == "call" and step.name in self.helpers

    def row(self, step: Step, level: int) -> list[Row]:
        """A step; `a, b = x + 1, y` are two, and under a convolution stands its first window with its numbers."""
        gradients = [child for child in step.children if child.kind == "gradient"]
        inside = [c for c in inside_of(step, self.complete) if c.kind != "gradient" and not self.is_counted(c)]
        inside = [c for c in inside if not repeats(step, c) and (self.complete or not is_aside(c))]
        *parts, whole = separate(step) or [step] if not has_error(step) else [step]
        if step.kind == "gradient":  # the lines that lead to it are folded inside it
            inside, gradients = [*inside, *gradients], []
        row = Row(whole, gradients=self.rows(gradients, level + 1) if level < _NESTED else [])
        if level >= _NESTED:
            row.deeper = sum(1 for _ in step.walk()) - 1
        elif step.kind == "turn":
            row.inside = self.rows([*turns.tall(step, self.options), *inside], level + 1)
        else:
            row.called, inside = self.opened(inside)
            row.inside = self.rows(inside, level + 1)
        windowed = self.options.substitution != "none" and step.kind in ("assign", "return") and level < _NESTED
        window = first_window(step) if windowed and not has_error(step) else None
        return [*map(Row, parts), row, *([Row(window)] if window else [])]

    def opened(self, steps: list[Step]) -> tuple[str, list[Step]]:
        """Of a statement that is one call, the inside of the call and what it is called."""
        called = ""
        while (
            len(steps) == 1
            and steps[0].kind in ("call", "module")
            and steps[0].children
            and not self.is_remarkable(steps[0])
        ):
            own = f"{steps[0].name}, {steps[0].source}" if steps[0].kind == "call" and steps[0].source else steps[0].name
            called, steps = own, [step for step in inside_of(steps[0], self.complete) if not self.is_counted(step)]
        return called, steps

    def is_remarkable(self, step: Step) -> bool:
        """Whether a call needs a row of its own."""
        return bool(step.note) or step is self.first_bad or any(child.kind == "gradient" for child in step.children)


def _is_wanted(step: Step, options: Options) -> bool:
    """By name: `hide` leaves a step out with all inside it, `only` keeps the named ones and what leads to them."""
    names = aliases(step)
    if names & options.hide:
        return False
    if not options.only or names & options.only or step.kind == "error":
        return True
    return any(_is_wanted(child, options) for child in step.children)


def _helpers(root: Step) -> dict[str, int]:
    """The functions that are called often and compute nothing in any call, with the number of calls."""
    calls = [step for step in root.walk() if step.kind == "call"]
    computing = {step.name for step in calls if not _computes_nothing(step)}
    counts = Counter(step.name for step in calls if step.name not in computing)
    return {name: count for name, count in counts.items() if count > _OFTEN}


def _computes_nothing(call: Step) -> bool:
    """Whether a call only asks about what it was given, or hands it on: `exists(x)`, `default(x, 3)`."""
    inside = call.children
    given = [step.result for step in inside if step.kind == "input"]
    simple = bool(inside) and all(step.kind in ("input", "branch", "return") for step in inside) and not has_error(call)
    return simple and (
        call.result is None or isinstance(call.result, bool) or any(is_same(call.result, value) for value in given)
    )


_UNNUMBERED = frozenset("input turn folded gradient error".split())
_SPACE = re.compile(r"\s+")


def _number(rows: Rows) -> None:
    """Numbers in the order of the page, and ids: the address of the step, or its place in the row around it."""
    taken: Counter[str] = Counter()
    number = 0

    def visit(row: Row, around: str) -> None:
        nonlocal number
        step = row.step
        if step.kind not in _UNNUMBERED:
            number += 1
            row.number = number
        wanted = step.address or ".".join(filter(None, [around, step.name or step.kind]))
        wanted = _SPACE.sub("-", wanted)
        taken[wanted] += 1
        row.id = wanted if taken[wanted] == 1 else f"{wanted}~{taken[wanted]}"
        for inner in (*row.gradients, *row.inside):
            visit(inner, row.id)

    for row in rows.top:
        visit(row, "")
