"""Recurrences: h_t = w h_{t−1} + x_t, and what they unroll to.

A recurrence is a name with a letter in its index that is set equal to a formula with the same name at an earlier index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workings.check.latex.syntax import Group, Node, Number, Script, Sum, Symbol
from workings.check.latex.weights import plain
from workings.check.value.scope import indexed
from workings.check.value.value import Value

MOST_TURNS = 60
"""A recurrence is unrolled so many turns at most."""


@dataclass(frozen=True)
class Recurrence:
    """base_letter = body, where the body holds the base at earlier indices."""

    letter: Node
    body: Node
    raised: bool
    """Whether the index stands above, in brackets: h^{(t)}."""


def index_of(name: Node) -> tuple[Node, Node, bool] | None:
    """The base and the index of a name, and whether the index stands above."""
    match name:
        case Script(base=base, below=None, above=Group(open="(", items=(index,))):
            return base, index, True
        case Script(base=base, below=index, above=None) if index is not None:
            return base, index, False
    return None


def recurrence(name: Node, body: Node) -> tuple[Node, Recurrence] | None:
    """The recurrence that `name = body` states, under its base; none if it is none."""
    found = index_of(plain(name))
    if found is None or not isinstance(found[1], Symbol):
        return None
    base, letter, raised = found
    one_before = Sum((("+", letter), ("-", Number("1"))))
    holds = False
    for part in body.walk():
        earlier = index_of(plain(part))
        same_name = earlier is not None and earlier[0] == base and earlier[2] == raised
        if same_name and earlier is not None and letter in earlier[1].walk():
            if earlier[1] != one_before:
                return None  # it reaches further back
            holds = True
    return (base, Recurrence(letter, body, raised)) if holds else None


def turn(name: Node, letters: Mapping[Node, Value], known: Mapping[Node, Recurrence]) -> tuple[Recurrence, int] | None:
    """The recurrence that a name with a whole index follows, and its index."""
    found = index_of(indexed(plain(name), letters))
    if found is None or found[0] not in known:
        return None
    base, index, raised = found
    rule = known[base]
    if rule.raised != raised or not isinstance(index, Number) or not index.text.isdigit() or int(index.text) > MOST_TURNS:
        return None
    return rule, int(index.text)


def is_turn(name: Node, base: Node) -> bool:
    """Whether a name is a later turn of a recurrence: h_1, h_2 … but not h_0."""
    found = index_of(name)
    return found is not None and found[0] == base and isinstance(found[1], Number) and found[1] != Number("0")
