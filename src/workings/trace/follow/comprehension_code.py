"""Comprehensions in compiled code: which of its instructions ask for an item, compute the element, and add it.

A generator expression runs in a frame of its own in every version of Python; the other comprehensions do up to 3.11. From
3.12 on these are inlined (PEP 709): their instructions are a region of the code of the statement they stand in.
"""

from __future__ import annotations

import ast
import dis
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workings.trace.code.statement import Statement
from workings.trace.follow.plan import Comprehension, Plan, parts
from workings.trace.follow.source import end, positions, span, start

_INLINED = sys.version_info >= (3, 12)
_BUILDING = ("BUILD_LIST", "BUILD_SET", "BUILD_MAP")
_DECIDING = ("JUMP", "TO_BOOL")
"""What decides a condition has the place of the element in some versions; no element begins with it."""
_ADDING = ("LIST_APPEND", "SET_ADD", "MAP_ADD", "YIELD_VALUE")


@dataclass(frozen=True, eq=False)
class ComprehensionCode:
    """A comprehension, and which instructions do what; by their offsets."""

    node: Comprehension
    plan: Plan
    loops: tuple[Statement, ...]
    number: int
    """Of the element among the statements."""
    first: int
    """Where it begins."""
    level: int
    """How many comprehensions it is inlined into, itself included; 0 for one with a frame of its own."""
    asking: dict[int, int]
    """By the offset of the instruction that asks for the next item: which loop it belongs to."""
    inside: dict[int, int]
    """By the same offset: the one where Python goes on if there is a next item."""
    element: frozenset[int]
    """The offsets of the instructions of the element."""
    adding: frozenset[int]
    """Where the element is there."""

    @property
    def expression(self) -> ast.expr:
        """What is computed in each turn."""
        return self.node.value if isinstance(self.node, ast.DictComp) else self.node.elt


# ---- one with a frame of its own
def comprehension_of(plan: Plan, code: types.CodeType) -> ComprehensionCode | None:
    """The comprehension that this code is of, among those of a plan."""
    key = id(code), "whole"
    if key not in plan.known:
        plan.known[key] = code, _find(plan, code)
    found: ComprehensionCode | None = plan.known[key][1]
    return found


def _find(plan: Plan, code: types.CodeType) -> ComprehensionCode | None:
    places = [place for place in map(span, positions(code)) if place is not None]
    nodes = [n for n in plan.comprehensions if _name(n) == code.co_name and n.lineno == code.co_firstlineno]
    nodes = [n for n in nodes if places and all(start(n) <= a and b <= end(n) for a, b in places)]
    if not nodes:
        return None
    steps = list(dis.get_instructions(code))
    inner = [region for region in _regions(plan, code, steps) if region.first > 0]
    return _read(plan, code, max(nodes, key=start), steps, 0, inner)


def _name(node: Comprehension) -> str:
    return "<genexpr>" if isinstance(node, ast.GeneratorExp) else f"<{type(node).__name__.lower()}>"


# ---- inlined ones
@dataclass(frozen=True)
class _Region:
    """The instructions of an inlined comprehension: from the empty list to the end of its outermost loop."""

    node: Comprehension
    first: int
    last: int

    def holds(self, offset: int) -> bool:
        return self.first <= offset <= self.last


def inlined(plan: Plan, code: types.CodeType) -> dict[int, tuple[ComprehensionCode, ...]]:
    """By the offset of an instruction: the inlined comprehensions it belongs to, outside in."""
    key = id(code), "inlined"
    if key not in plan.known:
        plan.known[key] = code, _inlined(plan, code) if _INLINED and plan.comprehensions else {}
    found: dict[int, tuple[ComprehensionCode, ...]] = plan.known[key][1]
    return found


def _inlined(plan: Plan, code: types.CodeType) -> dict[int, tuple[ComprehensionCode, ...]]:
    steps = list(dis.get_instructions(code))
    regions = sorted(_regions(plan, code, steps), key=lambda region: (region.first, -region.last))
    read: list[tuple[_Region, ComprehensionCode]] = []
    for region in regions:
        level = 1 + sum(outer.holds(region.first) for outer, _ in read)
        own = [step for step in steps if region.holds(step.offset)]
        inner = [other for other in regions if other is not region and region.holds(other.first)]
        if (found := _read(plan, code, region.node, own, level, inner)) is not None:
            read.append((region, found))
    return {
        step.offset: around
        for step in steps
        if (around := tuple(found for region, found in read if region.holds(step.offset)))
    }


def _regions(plan: Plan, code: types.CodeType, steps: list[dis.Instruction]) -> list[_Region]:
    if not _INLINED:
        return []
    nodes = {(start(n), end(n)): n for n in plan.comprehensions if not isinstance(n, ast.GeneratorExp)}
    places, found = positions(code), []
    for i, step in enumerate(steps):
        node = nodes.get(span(places[step.offset // 2]) or ((0, 0), (0, 0)))
        if node is None or step.opname not in _BUILDING or step.arg != 0 or _name(node) == code.co_name:
            continue
        loop = next((later for later in steps[i:] if later.opname == "FOR_ITER"), None)
        if loop is not None:
            found.append(_Region(node, step.offset, loop.argval))
    return found


# ---- what its instructions do
def _read(
    plan: Plan, code: types.CodeType, node: Comprehension, steps: list[dis.Instruction], level: int, inner: Iterable[_Region]
) -> ComprehensionCode | None:
    first, count = plan.comprehensions[node], len(node.generators)
    element = node.value if isinstance(node, ast.DictComp) else node.elt
    own = [not any(region.holds(step.offset) for region in inner) for step in steps]
    asking = [i for i, step in enumerate(steps) if own[i] and step.opname == "FOR_ITER"]
    loops = [n for n, g in enumerate(node.generators) if n == 0 or not _is_assignment(g)]
    if len(asking) != len(loops):
        return None
    adding = frozenset(step.offset for i, step in enumerate(steps) if own[i] and step.opname in _ADDING)
    places, last = positions(code), max(adding, default=-1)  # what follows, up to the next item, has the element's place too
    return ComprehensionCode(
        node,
        parts(plan, code, [element, *[test for g in node.generators for test in g.ifs]]),
        plan.statements[first : first + count],
        first + count,
        steps[0].offset,
        level,
        {steps[i].offset: n for i, n in zip(asking, loops, strict=True)},
        {steps[i].offset: steps[i + 1].offset for i in asking},
        frozenset(
            step.offset
            for step in steps
            if step.offset < last
            and _is_within(span(places[step.offset // 2]), element)
            and not any(word in step.opname for word in _DECIDING)
        ),
        adding,
    )


def _is_assignment(generator: ast.comprehension) -> bool:
    """`for y in [f(x)]`, which Python runs as y = f(x)."""
    items = generator.iter
    return isinstance(items, (ast.List, ast.Tuple)) and len(items.elts) == 1 and not isinstance(items.elts[0], ast.Starred)


def _is_within(place: Any, node: ast.expr) -> bool:
    return place is not None and start(node) <= place[0] and place[1] <= end(node)
