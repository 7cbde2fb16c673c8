"""The values that names were given, and which of them a place sees.

A name carries the value that is stated for it and the one that its calculation really gives. A value given in this very
context hides those of other contexts; what an «if» supposes holds to the end of its paragraph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TypeVar

from flint import arb

from workings.check.argument.contexts import Context, Visibility, visibility
from workings.check.latex.syntax import Node
from workings.check.latex.weights import plain
from workings.check.value.scope import Definition, Rule, Scope

_MOST_VALUES = 3
"""Values of one name that are tried before a claim is called wrong."""
_MOST_CHOICES = 32
"""Choices of values for all the names of a claim."""


@dataclass(frozen=True, eq=False)
class Held:
    """A value that a name was given: as stated, as its calculation gives it, where, and until where it holds."""

    stated: Definition
    context: Context
    until: int
    computed: Definition | None = None
    """Where the calculation gives another value than the one that is stated."""
    is_computed: bool = False
    """Whether it came out of a calculation."""
    is_given: bool = False
    """Whether it is given, not found: a name and a number, and no «if»."""
    cause: int = -1
    """Where the finding stands that makes the stated value wrong."""

    @property
    def start(self) -> int:
        """Where it was given."""
        return self.stated.start

    def definitions(self) -> Iterator[Definition]:
        """The stated value, and the computed one if that differs."""
        yield self.stated
        if self.computed is not None:
            yield self.computed


@dataclass(frozen=True, eq=False)
class Placed:
    """A formula or a rule that a name was set equal to, and the context."""

    what: Node | Rule
    context: Context
    start: int


@dataclass
class Values:
    """Everything that the names of a document were set equal to."""

    one_weight: bool = True
    """Whether a bold and a plain letter are one name."""
    held: dict[Node, dict[Context, list[Held]]] = field(default_factory=dict)
    """For each name and each problem the values it was given there, in the order of the text."""
    forgotten: dict[Node, list[tuple[Context, int]]] = field(default_factory=dict)
    """For each name the contexts in which it was set anew, to something without a value, and where."""
    formulas: dict[Node, list[Placed]] = field(default_factory=dict)
    rules: dict[Node, list[Placed]] = field(default_factory=dict)
    notations: dict[Node, list[Placed]] = field(default_factory=dict)
    """For each form that the author gave a meaning of their own, such as ⟨ , ⟩: the rules."""

    def name(self, node: Node) -> Node:
        """The form under which a name is kept."""
        return plain(node) if self.one_weight else node

    def give(self, node: Node, held: Held) -> None:
        """A name has a value from here on."""
        self.held.setdefault(self.name(node), {}).setdefault(held.context.problem, []).append(held)

    def forget(self, node: Node, context: Context, start: int) -> None:
        """From here on a name has no value in this context any more; elsewhere it keeps those that it has."""
        self.forgotten.setdefault(self.name(node), []).append((context.home, start))

    def set_formula(self, node: Node, formula: Node, context: Context, start: int) -> None:
        """A name was set equal to a formula."""
        self.formulas.setdefault(self.name(node), []).append(Placed(formula, context, start))

    def set_rule(self, node: Node, rule: Rule, context: Context) -> None:
        """f(x) = …"""
        self.rules.setdefault(self.name(node), []).append(Placed(rule, context, rule.start))

    def set_notation(self, form: Node, rule: Rule, context: Context) -> None:
        """⟨x, y⟩ := …, a ∗ b = …"""
        self.notations.setdefault(form, []).append(Placed(rule, context, rule.start))

    def seen(self, node: Node, here: Context, position: int) -> tuple[list[Held], Visibility]:
        """The values of a name that hold at a place, latest first, all of the nearest visibility."""
        given = self.held.get(self.name(node))
        if given is None:
            return [], Visibility.HIDDEN
        anew = [at for home, at in self.forgotten.get(self.name(node), ()) if home in here.homes and at < position]
        since = max(anew, default=-1)
        seen: dict[Visibility, list[Held]] = {}
        own: list[Held] = []
        for problem in here.problems_seen:
            for held in reversed(given.get(problem, ())):
                if position >= held.until or held.start < since:
                    continue
                seen.setdefault(visibility(here, held.context), []).append(held)
                if held.context.home is here.home:
                    own.append(held)
                    if len(own) == _MOST_VALUES:
                        return own, Visibility.OWN
        best = min(seen, default=Visibility.HIDDEN)
        if best is Visibility.HIDDEN:
            return [], best
        if best > Visibility.REFERRED and len({str(held.stated.value) for held in seen[best]}) > 1:
            return [], Visibility.HIDDEN  # several parts gave it values of their own: which is meant here?
        return (own or seen[best])[:_MOST_VALUES], best

    def formula(self, node: Node, here: Context) -> Placed | None:
        """The last formula that a name was set equal to here, around here in the problem, or where the text refers to."""
        return _last_seen(self.formulas.get(self.name(node), []), here, Visibility.REFERRED)

    def rule(self, node: Node, here: Context) -> Rule | None:
        """The last definition of a function in the same problem."""
        return _last_rule(self.rules.get(self.name(node), []), here, Visibility.SIBLING)

    def notation(self, form: Node, here: Context) -> Rule | None:
        """The last meaning that a form was given, in the same problem or around it."""
        return _last_rule(self.notations.get(form, []), here, Visibility.FAR)


def _last_seen(given: list[Placed], here: Context, farthest: Visibility) -> Placed | None:
    return next((placed for placed in reversed(given) if visibility(here, placed.context) <= farthest), None)


def _last_rule(given: list[Placed], here: Context, farthest: Visibility) -> Rule | None:
    placed = _last_seen(given, here, farthest)
    return placed.what if placed is not None and isinstance(placed.what, Rule) else None


T = TypeVar("T")


class Seen(Mapping[Node, T]):
    """What names stand for, looked up when it is asked for."""

    def __init__(self, names: Collection[Node], look_up: Callable[[Node], T | None]) -> None:
        self.names, self.look_up = names, look_up

    def __getitem__(self, name: Node) -> T:
        found = self.look_up(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[Node]:
        return (name for name in self.names if self.look_up(name) is not None)

    def __len__(self) -> int:
        return len(self.names)  # asked only whether there can be any

    def __contains__(self, name: object) -> bool:
        return isinstance(name, Node) and self.look_up(name) is not None


@dataclass(frozen=True)
class View:
    """What is seen from a place; `choice` may ask for other values than the latest ones."""

    values: Values
    here: Context
    position: int
    choice: Mapping[Node, Definition] = field(default_factory=dict)

    def definitions(self, name: Node) -> list[Definition] | None:
        """The value of a name, as a scope asks for it."""
        chosen = self.choice.get(name)
        if chosen is not None:
            return [chosen]
        found, _ = self.values.seen(name, self.here, self.position)
        return [found[0].stated] if found else None

    def has_value(self, name: Node) -> bool:
        """Whether a name has a value here."""
        return bool(self.values.held) and self.definitions(self.values.name(name)) is not None

    def formulas(self) -> Mapping[Node, Node]:
        """The formulas of names in the same problem."""

        def look_up(name: Node) -> Node | None:
            placed = self.values.formula(name, self.here)
            return placed.what if placed is not None and isinstance(placed.what, Node) else None

        return Seen(self.values.formulas, look_up)

    def scope(self, behind: dict[str, arb | None] | None = None) -> Scope:
        """The scope of this place."""
        return Scope(
            definitions=Seen(self.values.held or self.choice, self.definitions),
            functions=Seen(self.values.rules, lambda name: self.values.rule(name, self.here)),
            notations=Seen(self.values.notations, lambda form: self.values.notation(form, self.here)),
            one_weight=self.values.one_weight,
            behind={} if behind is None else behind,
        )

    def choices(self, names: frozenset[Node]) -> Iterator[tuple[View, dict[Node, tuple[Held, Definition]]]]:
        """Every choice of one value, stated or computed, for each name."""
        ordered = sorted(names, key=repr)
        options = [[(held, definition) for held in self.seen(name) for definition in held.definitions()] for name in ordered]
        for chosen in islice(product(*options), _MOST_CHOICES):
            picked = dict(zip(ordered, chosen, strict=True))
            yield replace(self, choice={name: definition for name, (_, definition) in picked.items()}), picked

    def seen(self, name: Node) -> list[Held]:
        """The values of a name that hold here, latest first."""
        return self.values.seen(name, self.here, self.position)[0]

    def visibility(self, names: frozenset[Node]) -> Visibility:
        """How far away the farthest of these values was given."""
        return max((self.values.seen(name, self.here, self.position)[1] for name in names), default=Visibility.OWN)
