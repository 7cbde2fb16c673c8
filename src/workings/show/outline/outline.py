"""What of a trace is shown, in which order and how deep: the same for every printer.

A trace becomes a list of lines. Each has a level of indentation and a kind:

    input, equation     a step with its formula and value
    branch              if a > b: True
    title               a module, a call, a turn of a loop: what follows one level deeper is inside it
    note                a remark on the step above
    fold                how many steps are not shown here, and what shows them
    error               the statement that failed
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from workings.errors import WorkingsError, did_you_mean
from workings.show.options import Options
from workings.show.outline.assignment import entry_assignment, is_renaming, separate, unpacks
from workings.show.outline.numbered import numbered
from workings.show.outline.plumbing import (
    has_error,
    inside_of,
    is_about_arguments,
    is_aside,
    is_ours,
    is_passed_over,
    is_plumbing,
)
from workings.show.outline.turns import heading, tall
from workings.show.outline.window import first_window
from workings.show.value.value import is_same
from workings.show.write.names import text_name, without_library
from workings.trace.formula.targets import unpack
from workings.trace.formula.tree import Call, Code, Formula, Leaf, Sequence
from workings.trace.record import Trace
from workings.trace.step import CHECKED, Step

_FIRST_TURNS = 3
_MANY_TURNS = 5
"""A loop of more turns shows the first three and the last."""
_MOST_NAMES = 12
"""Names that a message lists."""
_UNCOUNTED = frozenset("input turn gradient folded root call module loop".split())
_INSIDE = frozenset("call module expansion".split())


@dataclass(frozen=True)
class Line:
    """One line of the outline; `valued` is false where the value is known already, or never came about."""

    level: int
    kind: str
    step: Step
    text: str = ""
    valued: bool = True
    taken: frozenset[str] = frozenset()
    """The letters that are names in the work the line is of."""


def outline(trace: Trace, options: Options) -> list[Line]:
    """The lines of a trace."""
    taken = letters_of(trace)
    return [replace(line, step=numbered(line.step), taken=taken) for line in _lines(trace.root, options)]


def letters_of(trace: Trace) -> frozenset[str]:
    """The single letters that are names somewhere in a work, as they are written: σ for sigma.

    The names inside a function of this library that was opened are its own: its μ is the μ of the layer norm that it writes
    out.

    >>> letters_of(Trace(Step("root", children=[Step("assign", "sigma"), Step("assign", "a, b")]))) == {"σ", "a", "b"}
    True
    """
    names = {name for step in _authors_steps(_top(trace.root)) for name in (*step.name.split(", "), *step.operands)}
    own = (name for name in names if without_library(name) == name)  # math.pi is no name of the author's
    return frozenset(letter for letter in map(text_name, own) if len(letter) == 1)


def _authors_steps(step: Step) -> Iterator[Step]:
    yield step
    for child in step.children:
        if child.kind not in _INSIDE or not any(map(is_ours, child.children)):
            yield from _authors_steps(child)


def _top(root: Step) -> Step:
    """The function itself, whose statements are not inside any other."""
    while len(root.children) == 1 and root.children[0].kind in _INSIDE:
        root = root.children[0]
    return root


def _lines(root: Step, options: Options) -> list[Line]:
    if options.only:
        return [line for line in _Outline(options).named_lines(root) if line.step.kind != "root"]
    root = _top(root)
    lines = list(_Outline(options).inside_lines(root, 0, 1))
    return [*lines, Line(0, "note", root, root.note)] if root.note else lines


def note_of(step: Step, options: Options) -> str:
    """The remark on a step, as far as the reader wants it."""
    unwanted = not options.checks and step.note.startswith(CHECKED)
    return "" if unwanted or (is_about_arguments(step) and not options.complete) else step.note


def agreement(trace: Trace, options: Options) -> str:
    """How the work compares with an unmodified run; that it matches is left out where no checks are wanted."""
    return trace.agreement if options.checks or not trace.matches else ""


def flat_turns(lines: list[Line]) -> list[Line]:
    """The same lines, the turns of a loop no deeper than the loop: the values they give names hold for all that follows."""
    found: list[Line] = []
    turns: list[int] = []
    for line in lines:
        while turns and line.level <= turns[-1]:
            turns.pop()
        found.append(replace(line, level=line.level - len(turns)))
        if line.kind == "title" and line.step.kind == "turn":
            turns.append(line.level)
    return found


def aliases(step: Step) -> set[str]:
    """What a step can be asked for by; nothing where it has no name."""
    if not step.name:
        return set()
    return {step.name, step.name.removeprefix("self."), step.address, _without_number(step.address)} - {""}


def check_names(trace: Trace, options: Options) -> None:
    """Refuse a name to show or to hide that no step has; what failed may not have come to all of its names."""
    wanted = {name: choice for choice in ("only", "hide") for name in sorted(getattr(options, choice))}
    if not wanted or trace.error is not None:
        return
    known = dict.fromkeys(name for step in trace.steps() for name in sorted(aliases(step)))
    for name, choice in wanted.items():
        if name not in known:
            lines = outline(trace, replace(options, only=frozenset(), hide=frozenset()))
            shown = [line.step for line in lines if line.kind in ("input", "equation")]
            names = list(dict.fromkeys(s.name for s in shown if s.name and s.kind in ("input", "assign")))
            there = (
                f" There are: {', '.join(names[:_MOST_NAMES])}{', …' if len(names) > _MOST_NAMES else ''}." if names else ""
            )
            raise WorkingsError(
                f"{choice} takes names of steps, and none is called {name!r}.{did_you_mean(name, known) or there}"
            )


class _Outline:
    def __init__(self, options: Options) -> None:
        self.options = options

    def named_lines(self, root: Step) -> Iterator[Line]:
        """Only the steps that were asked for by name or address, wherever they are."""
        for step in root.children:
            if self.is_named(step, self.options.only) or step.kind == "error":
                yield from self.step(step, 0, 1, {})  # and what is inside it, once
            else:
                yield from self.named_lines(step)

    def is_named(self, step: Step, names: frozenset[str]) -> bool:
        return bool(names & aliases(step))

    def inside_lines(self, parent: Step, level: int, depth: int) -> Iterator[Line]:
        known: dict[str, Any] = {}
        steps = inside_of(parent, self.options.complete)
        for step, after in zip_longest(steps, steps[1:]):
            if not (self.is_named(step, self.options.hide) or self.is_left_out(step, after, known)):
                yield from _RULES.get(step.kind, _Outline.step)(self, step, level, depth, known)
                known |= _names(step)

    def is_left_out(self, step: Step, after: Step | None, known: dict[str, Any]) -> bool:
        unwanted = is_plumbing(step) or is_renaming(step, known) or is_passed_over(step, after)
        return unwanted and not self.options.complete

    # ---- a row for each kind of step
    def step(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        """A statement: its line, its note, what is inside it."""
        failed = step.kind != "error" and has_error(step)
        kind = {"input": "input", "error": "error", "branch": "branch"}.get(step.kind, "equation")
        if kind == "equation" and not failed and (parts := separate(step)):
            yield from (Line(level, kind, part) for part in parts if not is_renaming(part, known))
        else:
            yield Line(level, kind, step, valued=not failed and not self.repeats_name(step, known))
            if kind == "equation" and not failed and self.options.substitution != "none" and (part := first_window(step)):
                yield Line(level + 1, kind, part)
        if step.kind != "error" and (note := note_of(step, self.options)):
            yield Line(level + 1, "note", step, note)
        yield from self.inner_lines(step, level + 1, depth)

    def repeats_name(self, step: Step, known: dict[str, Any]) -> bool:
        """Whether this is `return Z` of a Z that stands above, with the value it still has."""
        match step.formula:
            case Leaf(text):
                given = {text: step.result}
            case Sequence(items) if isinstance(step.result, tuple | list) and len(items) == len(step.result):
                given = {getattr(item, "text", ""): value for item, value in zip(items, step.result, strict=True)}
            case _:
                return False
        return step.kind == "return" and all(name in known and is_same(known[name], x) for name, x in given.items())

    def inner_lines(self, step: Step, level: int, depth: int) -> Iterator[Line]:
        """What is inside a statement: open to the reader's depth, always down to an error; gradients always show."""
        gradients = [c for c in step.children if c.kind == "gradient"]
        others = [c for c in step.children if c.kind != "gradient" and not repeats(step, c)]
        if self.options.depth is None and not self.options.complete:
            others = [c for c in others if not is_aside(c)]
        if not others or self.options.opens(depth) or has_error(step):
            for child in others:
                if child.kind in _INSIDE:
                    yield from self.container_lines(child, level, depth + 1, {})
                else:
                    yield from _RULES.get(child.kind, _Outline.step)(self, child, level, depth + 1, {})
        elif fold := self.fold_text(others, depth):
            yield Line(level, "fold", step, fold)
        if step.kind == "gradient" and gradients and not self.options.complete:
            yield Line(level, "fold", step, f"… {len(gradients)} lines lead to it (complete=True shows them)")
            return
        for child in gradients:
            yield from self.step(child, level, depth, {})

    def fold_text(self, steps: list[Step], depth: int) -> str:
        count = sum(1 for step in steps for s in step.walk() if s.kind not in _UNCOUNTED)
        names = list(dict.fromkeys(s.name or s.source for s in steps if s.kind in _INSIDE))
        inside = f" inside {', '.join(names[:3])}{' …' if len(names) > 3 else ''}" if names else " inside"
        steps_, them = ("1 step", "it") if count == 1 else (f"{count} steps", "them")
        return f"… {steps_}{inside} (depth {depth + 1} shows {them})" if count else ""

    def container_lines(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        """A module or call that is open: its title, then its statements."""
        title = f"{step.name}: {step.source}" if step.name and step.source else step.name or step.source
        yield Line(level, "title", step, title, valued=not step.children)
        if step.note:
            yield Line(level + 1, "note", step, step.note)
        yield from self.inside_lines(step, level + 1, depth)

    def call_lines(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        """A module or call that is a step of its own: open to the reader's depth."""
        if self.options.opens(depth) or has_error(step):
            yield from self.container_lines(step, level, depth + 1, known)
            return
        (title, *_) = self.container_lines(step, level, depth, known)
        yield Line(level, "title", step, title.text)
        if fold := self.fold_text(step.children, depth):
            yield Line(level + 1, "fold", step, fold.replace("inside", f"inside {step.name or step.source}", 1))

    def loop_lines(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        """Turns, the first three and the last where there are many."""
        turns = [c for c in step.children if c.kind == "turn"]
        unrecorded = sum(c.count for c in step.children if c.kind == "folded")
        total, header = len(turns) + unrecorded, (step.source or step.name).rstrip(":")
        many = len(turns) > _MANY_TURNS and not self.options.complete
        shown = [*turns[:_FIRST_TURNS], *turns[-1:]] if many else turns
        for turn in shown:
            if turn is shown[-1]:
                yield from self.unshown_turn_lines(step, len(turns) - len(shown), level)
            about = heading(turn, self.options)
            title = f"{header}: turn {turn.name} of {total}{', ' if about else ''}{about}"
            yield Line(level, "title", turn, title, valued=False)
            if turn.note:
                yield Line(level + 1, "note", turn, turn.note)
            yield from (Line(level + 1, "input", given) for given in tall(turn, self.options))
            yield from self.inside_lines(turn, level + 1, depth)
        if not turns:
            yield Line(level, "title", step, f"{header}: no turns", valued=False)
        if step.children and step.children[-1].kind == "folded":
            yield from self.folded_lines(step.children[-1], level, depth, known)

    def unshown_turn_lines(self, step: Step, unshown: int, level: int) -> Iterator[Line]:
        """The turns before the last: those like the first ones, and those that were not kept."""
        if unshown:
            yield Line(level, "fold", step, f"… {unshown} turns like these (complete=True shows them)")
        for folded in step.children[:-1]:
            if folded.kind == "folded":
                yield from self.folded_lines(folded, level, 0, {})

    def folded_lines(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        yield Line(level, "fold", step, f"… {step.note or f'{step.count} more turns'}")

    def update_lines(self, step: Step, level: int, depth: int, known: dict[str, Any]) -> Iterator[Line]:
        """What a step of an optimizer does to a parameter: its equations, under a title where they are several."""
        if not step.children:
            yield from self.step(step, level, depth, known)
            return
        if alone := len(step.children) == 1:
            yield Line(level, "equation", step.children[0])
        else:
            yield Line(level, "title", step, f"{text_name(step.name)}: one step of {step.source}", valued=False)
            yield from (Line(level + 1, "equation", line) for line in step.children)
        if note := note_of(step, self.options):
            yield Line(level + 1, "note", step, note if not alone else f"one step of {step.source}; {note}")


_RULES: dict[str, Callable[[_Outline, Step, int, int, dict[str, Any]], Iterator[Line]]] = {
    "loop": _Outline.loop_lines,
    "module": _Outline.call_lines,
    "call": _Outline.call_lines,
    "expansion": _Outline.call_lines,
    "folded": _Outline.folded_lines,
    "update": _Outline.update_lines,
}
"""How each kind of step becomes lines; a kind without a row is a statement."""


def repeats(step: Step, child: Step) -> bool:
    """Whether the child is a closed module or call whose value is the statement's own."""
    alone = child.kind in _INSIDE and not child.children and not child.note
    return alone and (child.kind == "expansion" or _is_call(step.formula)) and is_same(child.result, step.result)


def _is_call(formula: Formula | None) -> bool:
    """Whether a statement is one call, whose value is its own: self.net(x), self.layers[0](x)."""
    return isinstance(formula, Call) or (isinstance(formula, Code) and isinstance(formula.node, ast.Call))


def _names(step: Step) -> dict[str, Any]:
    """The names that have a value after this step: a, b of `a, b = …`, and those of a loop's turns."""
    steps = [s for s in (step.walk() if step.kind in ("loop", "turn") else (step,)) if s.kind in ("assign", "input")]
    parts = {name: value for s in steps if unpacks(s) for name, value, _ in unpack(s.syntax.target, "", s.result, s.result)}
    wholes = {place.whole: s.result for s in steps if (place := entry_assignment(s)) is not None}
    return parts | {s.name: s.result for s in steps} | wholes


def _without_number(address: str) -> str:
    return address.partition("#")[0]
