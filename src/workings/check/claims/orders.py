"""Relations other than equality between sides that have values: < ≤ > ≥ ≠ of numbers, ∈ ⊂ of sets, ≡ of remainders."""

from __future__ import annotations

from collections.abc import Iterator

from workings.check.argument.argument import Argument
from workings.check.argument.clause import Clause, Cue
from workings.check.argument.lines import Line
from workings.check.argument.roles import is_literal
from workings.check.argument.words import value_text
from workings.check.claims.claim import Claim, Known, side_at
from workings.check.claims.decide import Decider
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import Node, Product
from workings.check.value.compare import Side, compare, in_order, value_of
from workings.check.value.names import CONSTANTS, is_closed
from workings.check.value.rounding import Grade

_WITHOUT_MODULUS = "a congruence without its modulus"
_TO_SOLVE = "it may be an inequality to be solved"


class Orders:
    """Decides them, with the values that names have."""

    def __init__(self, argument: Argument, decider: Decider) -> None:
        self.argument, self.decider = argument, decider

    def check(self, line: Line, index: int, clause: Clause) -> None:
        """Whether relation `index` of a line holds."""
        left, right = side_at(line, index), side_at(line, index + 1)
        reading = self.argument.reading(line, index)
        names: frozenset[Node] = frozenset()
        if all(is_closed(side.node) or side.node in CONSTANTS for side in (left, right)):
            holds = self._holds_of_numbers(line, index, left, right)
        else:
            names = self._names(line, left, right)
            answers = list(self._answers(line, index, names))
            holds = any(answers) if answers else None
        if holds is None:
            is_open = line.relations[index] == "≡" and not names
            reading.reason = _WITHOUT_MODULUS if is_open else self.decider.reason(line, (left.node, right.node))
            return
        view = self.argument.view(line)
        reading.values = self.decider.values_text({name: (held, held) for name in names for held in view.seen(name)[:1]})
        concludes = clause.cue in (Cue.THEN, Cue.ANSWER) and self.decider.is_near(line, names)
        if not holds and names and not concludes:
            reading.reason = _TO_SOLVE
            return
        self.argument.decide(line, index, holds)
        if not holds:
            basis = self.decider.letters_basis(names, view) if names else "closed"
            self._write(line, index, basis, reading.values)

    def _holds_of_numbers(self, line: Line, index: int, left: Side, right: Side) -> bool | None:
        """Between numbers alone."""
        if line.relations[index] != "≡":
            return in_order(left, line.relations[index], right, self.decider.closed_scope(line))
        if all(_is_remainder(side.node) for side in (left, right)):
            verdict = compare(left, right, self.decider.closed_scope(line))
            return None if verdict is None else verdict.grade is not Grade.WRONG
        claim = Claim(line, Known(index, left), Known(index + 1, right))
        return True if self.decider.is_congruence(claim) else None

    def _names(self, line: Line, left: Side, right: Side) -> frozenset[Node]:
        """The names whose values the sides have."""
        scope = self.decider.scope(line)
        scope.used = set()
        for side in (left, right):
            value_of(side, scope)
        return frozenset(scope.used)

    def _answers(self, line: Line, index: int, names: frozenset[Node]) -> Iterator[bool]:
        """Whether it holds, for each choice of the values that its names may have."""
        left, right = side_at(line, index), side_at(line, index + 1)
        for chosen, _ in self.argument.view(line).choices(names):
            holds = in_order(left, line.relations[index], right, self.decider.scope(line, chosen))
            if holds is not None:
                yield holds

    def _write(self, line: Line, index: int, basis: str, values: str) -> None:
        scope = self.decider.scope(line) if values else self.decider.closed_scope(line)
        sides = [side_at(line, index), side_at(line, index + 1)]
        computed = [(side, value_of(side, scope)) for side in sides if not is_literal(side.node) or values]
        told = [
            f"{one_line(side.node)} is {value_text(value)}"
            for side, value in computed
            if value is not None and not is_literal(side.node)
        ]
        if line.relations[index] == "≡":
            return self._write_congruence(line, index)
        said = one_line(line.sides[index]), line.relations[index], one_line(line.sides[index + 1])
        why = f"{' '.join(said)} does not hold{': ' + ' and '.join(told) if told else ''}."
        truth = " and ".join(told) or "it does not hold"
        self.argument.add(line, index, index + 1, "error", "order", truth, why, basis=basis)

    def _write_congruence(self, line: Line, index: int) -> None:
        """The remainder that is right on the right."""
        left, right = line.sides[index], line.sides[index + 1]
        assert isinstance(left, Product) and isinstance(right, Product)
        value, n = value_of(side_at(line, index), self.decider.closed_scope(line)), right.factors[-1][1]
        assert value is not None
        truth = f"{value_text(value)} modulo {one_line(n)}"
        why = f"You wrote {one_line(right.factors[0][1])}; correct is {truth}."
        self.argument.add(line, index, index + 1, "error", "number", truth, why, basis="closed")


def _is_remainder(node: Node) -> bool:
    return isinstance(node, Product) and node.factors[-1][0] == "mod"
