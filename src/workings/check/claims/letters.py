"""Claims in which letters are left: right where both sides agree wherever these letters stand.

Names keep the values that they have, and the results in letters that the document gave them (h = 2w + 1). What
differs is a note at most: a letter may be bound by a condition, or mean something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from flint import arb

from workings.check.argument.align import bare
from workings.check.argument.argument import Argument, Reading
from workings.check.argument.contexts import Context
from workings.check.argument.lines import EQUAL, Line
from workings.check.argument.roles import names_in
from workings.check.argument.values import Seen
from workings.check.claims.claim import side_at
from workings.check.document.relation import Outcome, Role
from workings.check.latex.syntax import Cases, Chain, Derivative, Dots, Function, Given, Group, Matrix, Node, Nothing, Words
from workings.check.latex.weights import plain
from workings.check.value.compare import compare
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.names import is_capital, is_name
from workings.check.value.rounding import Grade, one_shape
from workings.check.value.sample import DEEPEST, Sample
from workings.check.value.value import Mismatch, Table, Undecided, Value, entries

_SEEDS = (0, 1)
_RESULTS = 3
"""How many results may stand one upon the other."""
_OPAQUE = (Words, Dots, Given, Cases, Nothing, Chain)
"""Notation that has no value, whatever its letters are."""
_MOST_CAPITALS = 1
"""Capitals without a value that stand for a number: of two, each may be a matrix, and their order would matter."""


class FreeLetters:
    """Decides what is right for all values of the letters that are left."""

    def __init__(self, argument: Argument) -> None:
        self.argument = argument
        self.results: dict[Node, list[tuple[Context, Node]]] = defaultdict(list)
        """For each name the last side of each line that begins with it, and where that stands."""

    def read_line(self, line: Line) -> None:
        """Decide what is undecided in a line, and keep its result."""
        self._confirm(line)
        if len(line.sides) > 1 and is_name(line.sides[0]) and line.relations[0] in EQUAL:
            self.results[plain(line.sides[0])].append((line.context, line.sides[-1]))

    def read_again(self) -> None:
        """Once all is read: gradients are given backwards, so that a rule may stand before the values that it needs."""
        undecided = {reading.line.number for reading in self.argument.readings.values() if _is_open(reading)}
        for number in sorted(undecided):
            line = self.argument.lines[number]
            if any(isinstance(part, Derivative) for side in line.sides for part in side.walk()):
                self._confirm(line)

    def _confirm(self, line: Line) -> None:
        for index in self._undecided(line):
            if all(self._is_right(line, index, seed) for seed in _SEEDS):
                self.argument.decide(line, index, True)
            elif not self._read_as_put_in(line, index):
                self._note_difference(line, index)

    def _read_as_put_in(self, line: Line, index: int) -> bool:
        """x W = x [1 2]: the same formula, with something put in for names. Those with a value must have it."""
        found = _put_in(line.sides[index], line.sides[index + 1])
        if not found:
            return False
        samples = [self._sample(line, seed) for seed in _SEEDS]
        known = {name: value for name in found if (value := _sure_value(name, samples)) is not None}
        if not all(_has_value(found[name], value, samples) for name, value in known.items()):
            return False
        if known:
            self.argument.decide(line, index, True)
        else:
            self.argument.note_role(line, index, Role.GIVEN, "something put in for names without a value")
        return True

    def _note_difference(self, line: Line, index: int) -> None:
        """A step between tables in the same letters that differs wherever they stand: a note, as letters may be bound."""
        sides = line.sides[index : index + 2]
        letters = [{name for name in map(plain, names_in(side)) if not self._is_known(line, name)} for side in sides]
        if index == 0 or letters[0] != letters[1] or not letters[0] or any(map(is_capital, letters[0])):
            return
        if not all(any(isinstance(part, Matrix | Group) for part in side.walk()) for side in sides):
            return
        if all(self._differs(line, index, seed) for seed in _SEEDS):
            why = "The two sides differ for almost all values of the letters."
            self.argument.decide(line, index, False)
            self.argument.add(line, index, index + 1, "note", "identity", "another formula", why, basis="identity")

    def _is_known(self, line: Line, name: Node) -> bool:
        return self.argument.view(line).has_value(name) or name in self._results_at(line)

    def _differs(self, line: Line, index: int, seed: int) -> bool:
        """Whether the sides are tables of one shape, and two at one sample."""
        sample = self._sample(line, seed)
        try:
            one, other = (evaluate(side, EvaluationContext(sample)) for side in line.sides[index : index + 2])
        except (Undecided, Mismatch, RecursionError):
            return False
        pair = one_shape(one, other)
        return pair is not None and isinstance(pair[0], Table) and not _is_near(*pair)

    def _undecided(self, line: Line) -> Iterator[int]:
        """The claims of a line that letters alone keep undecided."""
        for index, relation in enumerate(line.relations):
            reading = self.argument.readings.get((line.number, index))
            sides = line.sides[index : index + 2]
            if reading is None or not _is_open(reading) or relation not in EQUAL or any(map(_is_mere_name, sides)):
                continue
            if not any(isinstance(part, _OPAQUE) for side in sides for part in _visible(side)):
                yield index

    def _is_right(self, line: Line, index: int, seed: int) -> bool:
        """Whether the sides agree at one sample."""
        one, other = side_at(line, index), side_at(line, index + 1)
        sample = self._sample(line, seed)
        unknown = [
            name
            for name in names_in(one.node) | names_in(other.node)
            if is_capital(name)
            and sample.given is not None
            and sample.given.value(name) is None
            and name not in sample.forms
        ]
        if len(unknown) > _MOST_CAPITALS:
            return False
        try:
            values = [evaluate(side.node, EvaluationContext(sample)) for side in (one, other)]
            if not _is_near(values[0], values[1]) and len({len(entries(value)) for value in values}) == 1:
                return False
            verdict = compare(one, other, sample, line.relations[index] == "≈")
        except (Undecided, Mismatch, RecursionError):
            return False
        return verdict is not None and verdict.grade <= Grade.ROUNDED

    def _sample(self, line: Line, seed: int) -> Sample:
        depth = DEEPEST - _RESULTS
        return Sample(given=self.argument.view(line).scope(), seed=seed, forms=self._results_at(line), depth=depth)

    def _results_at(self, line: Line) -> Mapping[Node, Node]:
        """The results that are seen from a line."""
        around = set(line.context.path())

        def look_up(name: Node) -> Node | None:
            for context, result in reversed(self.results.get(name, [])):
                beside = isinstance(name, Derivative) or _is_part_of_gradient(name)
                if context in around or (beside and context.parent in around):
                    return None if any(plain(part) == name for part in result.walk() if is_name(part)) else result
            return None

        return Seen(self.results, look_up)


def _is_open(reading: Reading) -> bool:
    """Whether a claim is undecided."""
    return reading.outcome is Outcome.UNDECIDED and reading.role in (Role.CLAIM, Role.INSTANTIATION)


def _visible(side: Node) -> Iterator[Node]:
    """The parts of a side; what stands inside a name is none."""
    waiting = [side]
    while waiting:
        node = waiting.pop()
        yield node
        if not is_name(node):
            waiting += node.children()
        elif not isinstance(node, Derivative):
            waiting += [part for part in node.children() if not isinstance(part, Words)]


def _is_mere_name(node: Node) -> bool:
    """A name, which has the value that it was given; not softmax(z), which has one by itself."""
    return is_name(node) and not (isinstance(node, Function) and node.arguments)


def _is_part_of_gradient(name: Node) -> bool:
    """∂L/∂w with an index: what comes from one use of w."""
    return isinstance(getattr(name, "base", None), Derivative)


def _put_in(general: Node, other: Node) -> dict[Node, Node] | None:
    """What stands in one formula where the other has names; none where they are not the same formula."""
    general, other = bare(general), bare(other)
    if general == other:
        return {}
    if _is_mere_name(general):
        return {general: other}
    if general.rebuilt(_hole) != other.rebuilt(_hole):
        return None
    found: dict[Node, Node] = {}
    for one, two in zip(general.children(), other.children(), strict=True):
        inside = _put_in(one, two)
        if inside is None or any(found.get(name, node) != node for name, node in inside.items()):
            return None
        found |= inside
    return found if general.children() else None


def _hole(_: Node) -> Node:
    return Nothing()


def _sure_value(name: Node, samples: list[Sample]) -> Value | None:
    """The value of a name, if it is the same whatever the letters are."""
    try:
        values = [evaluate(name, EvaluationContext(sample)) for sample in samples]
    except (Undecided, Mismatch, RecursionError):
        return None
    return values[0] if all(_is_near(values[0], value) for value in values[1:]) else None


def _has_value(node: Node, value: Value, samples: list[Sample]) -> bool:
    """Whether what was put in has the value of its name."""
    try:
        return all(_is_near(evaluate(node, EvaluationContext(sample)), value) for sample in samples)
    except (Undecided, Mismatch, RecursionError):
        return False


def _is_near(one: Value, other: Value) -> bool:
    """Whether two values are about the same."""
    pair = one_shape(one, other)
    return pair is not None and all(map(_are_near, entries(pair[0]), entries(pair[1])))


def _are_near(x: arb, y: arb) -> bool:
    return bool(abs(x - y) <= (abs(x) + abs(y)) / 100 + arb("1e-3")) if x.is_finite() and y.is_finite() else bool(x == y)
