"""Letters at random: the same formula on both sides must agree wherever its letters stand.

Every name without a value gets one, the same wherever it occurs; a name that the document has set equal to a formula follows
that formula. The upper end of a sum is a small whole number, an index is one of its terms.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flint import arb, fmpq

from workings.check.latex.syntax import Big, Derivative, Node, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.evaluation.context import Budget
from workings.check.value.names import CONSTANTS, is_name
from workings.check.value.recurrences import MOST_TURNS, Recurrence, turn
from workings.check.value.rounding import one_shape
from workings.check.value.scope import Decimals, Scope, indexed
from workings.check.value.value import Table, Value, entries

DEEPEST = 12
"""How many definitions may stand one upon the other."""
_MOST_STEPS = 20_000
"""Steps in one sample: an identity is asked at several, and once more for every slip that may explain it."""


@dataclass
class Sample(Scope):
    """A scope in which every name has a value."""

    seed: int = 0
    forms: Mapping[Node, Node] = field(default_factory=dict)
    whole: frozenset[Node] = frozenset()
    """Names that stand at the end of a sum."""
    depth: int = 0
    matrices: bool = False
    """Whether capitals stand for matrices."""
    recurrences: Mapping[Node, Recurrence] = field(default_factory=dict)
    drawn_before: dict[Node, arb] = field(default_factory=dict)
    given: Scope | None = None
    """If given, names keep the values that they have there."""
    budget: Budget = field(default_factory=lambda: Budget(_MOST_STEPS))
    """The steps that are left for everything that is computed in this sample: formulas may stand in formulas."""

    def value(self, node: Node, decimals: Decimals = Decimals.PRINTED) -> Value | None:
        """The value of a name: bound, by its formula, or at random."""
        known = self.given.value(node, decimals) if self.given is not None else None
        if known is not None:
            return known
        if isinstance(node, Derivative) and is_name(node) and self.given is not None:
            form = self.forms.get(plain(node))
            return None if form is None else self._by(form, decimals)
        if not isinstance(node, Symbol | Script) or node in CONSTANTS:
            return None
        name = plain(node)
        if name in self.letters:
            return self.letters[name]
        if not is_name(node):
            return None
        if self.given is not None and (form := self.forms.get(name)) is not None and self.depth < DEEPEST:
            return self._by(form, decimals)
        if isinstance(name, Script):
            if name.above is not None and not isinstance(name.base, Symbol):
                return None
            if isinstance(name.above, Symbol) and name.above.name in ("T", "top"):
                return None
            name = indexed(name, self.letters) if self.letters else name
            if name in self.letters:
                return self.letters[name]
        form = self.forms.get(name)
        step = turn(name, self.letters, self.recurrences) if form is None and self.recurrences else None
        if step is not None and step[1] > 0 and self.depth < MOST_TURNS:
            inner = replace(self, depth=self.depth + 1, letters={**self.letters, step[0].letter: arb(step[1])})
            return evaluate(step[0].body, EvaluationContext(inner, budget=self.budget))
        if form is not None and self.depth < DEEPEST:
            return evaluate(form, EvaluationContext(replace(self, depth=self.depth + 1), budget=self.budget))
        if isinstance(name, Symbol) and self.function(name) is not None:
            return None
        return self.random_value(name)

    def _by(self, form: Node, decimals: Decimals) -> Value:
        """The value of a name by its formula."""
        return evaluate(form, EvaluationContext(replace(self, depth=self.depth + 1), decimals=decimals, budget=self.budget))

    def random_value(self, name: Node) -> Value:
        """A number between a half and two, the same whenever this name is asked for."""
        if self.matrices and isinstance(name, Symbol) and name.name.isupper():
            rng = random.Random(f"{self.seed} {name.name}")
            return Table(tuple(tuple(arb(rng.randrange(-4, 5)) + (9 if i == j else 0) for j in range(3)) for i in range(3)))
        if name not in self.drawn_before:
            rng = random.Random(1000 * self.seed + len(self.drawn_before))
            whole = name in self.whole
            self.drawn_before[name] = arb(rng.choice((2, 3))) if whole else arb(fmpq(rng.randrange(512, 2048), 1024))
        return self.drawn_before[name]

    def definition(self, node: Node) -> None:
        """Values that the document gave do not count here: an identity holds for all."""
        return None

    def bound(self, letters: Mapping[Node, Value]) -> Sample:
        """The same sample with these letters bound."""
        return replace(self, letters={**self.letters, **{plain(name): value for name, value in letters.items()}})


def upper_ends(nodes: tuple[Node, ...]) -> frozenset[Node]:
    """The names at the upper end of sums and products."""
    found: set[Node] = set()
    for top in nodes:
        for node in top.walk():
            if isinstance(node, Big) and node.above is not None:
                found |= {plain(part) for part in node.above.walk() if isinstance(part, Symbol | Script)}
    return frozenset(found - CONSTANTS)


def differ(one: Node, other: Node, sample: Sample) -> bool | None:
    """Whether two formulas certainly differ at this sample; none if one has no value there."""
    context = EvaluationContext(sample, budget=sample.budget)
    pair = one_shape(evaluate(one, context), evaluate(other, context))
    if pair is None:
        return None
    x, y = pair
    if isinstance(x, Table) or isinstance(y, Table):
        return any(bool(abs(a - b) > arb("1e-9")) for a, b in zip(entries(x), entries(y), strict=True))
    if not x.is_finite() or not y.is_finite():
        return None
    scale = abs(x) + abs(y) + 1
    return bool(abs(x - y) > scale * arb("1e-9"))
