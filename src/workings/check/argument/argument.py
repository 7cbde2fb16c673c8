"""A document being read: its contexts, its formulas as lines, the role and the outcome of every relation, and the report."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from workings.check.argument.clause import Clause, Cue, clause_of, continues_list, is_choice
from workings.check.argument.contexts import Context, Contexts, Form
from workings.check.argument.levels import cautious_level
from workings.check.argument.lines import EQUAL, Line, has_scale, lines
from workings.check.argument.notation import features, is_usual
from workings.check.argument.printed import Printed, is_telling
from workings.check.argument.references import link_references
from workings.check.argument.stance import Stance
from workings.check.argument.support import DOUBTS, OF_DOCUMENT, Support, support_text
from workings.check.argument.values import Values, View
from workings.check.argument.words import source
from workings.check.document.document import Document, Formula
from workings.check.document.finding import Finding, Results, Unread
from workings.check.document.relation import Outcome, Role
from workings.check.latex.calls import SIGMOID, function_letters, powers_of_calls
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.pieces import read_pieces
from workings.check.latex.spoken import letters_alone, words_as_names
from workings.check.latex.superscripts import as_indices, layer_bases, on_last_factor
from workings.check.latex.syntax import Big, Node, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.names import is_closed, is_name
from workings.check.value.scope import Rule, Scope

CLAIMING = (Role.CLAIM, Role.INSTANTIATION)
"""Roles that can be wrong."""
_DOUBTFUL = (Role.HYPOTHETICAL, Role.CONDITION, Role.EQUATION, Role.GOAL, Role.FRAGMENT)
"""Roles in which nothing is stated as true."""
DROPPED = (Role.HYPOTHETICAL, Role.GOAL, Role.RULE, Role.DECLARATION, Role.CONDITION, Role.EQUATION)
"""Roles that say nothing about the sides as they stand."""
_FIND_ERRORS = re.compile(
    r"\b(?:find|spot|identify|locate|correct|explain)\b[^.?!\n]{0,40}\b(?:errors?|mistakes?)\b"
    r"|\bwhat (?:is|went|'s) wrong\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s$.,;]|\\[\[\]]|\\(?:begin|end)\{\w+\*?\}")


@dataclass
class Reading:
    """One relation of a line: its role, why, and what came of it."""

    line: Line
    index: int
    role: Role
    evidence: str
    outcome: Outcome = Outcome.NO_CLAIM
    reason: str = ""
    values: str = ""
    cause: int = -1


@dataclass(frozen=True)
class Stated:
    """A finding as a rule states it, before it is known how sure it is."""

    found: Finding
    level: str
    """How sure the rule is."""
    sides: tuple[Node, Node]
    line: int


@dataclass
class Argument:
    """The document, its lines in order, what is known of them, and what was found so far."""

    document: Document
    lines: list[Line] = field(default_factory=list)
    results: Results = field(default_factory=Results)
    lone_letters: set[Node] = field(default_factory=set)
    """The letters that stand alone as a formula, as when a letter is introduced."""
    stated: list[Stated] = field(default_factory=list)
    """The findings with what they are about, until the whole document shows how sure they are."""
    partly_read: set[int] = field(default_factory=set)
    """Where the formulas begin of which only pieces could be read."""
    doubtful: set[int] = field(default_factory=set)
    """The lines in whose clause a word stands that may deny them, or change what their numbers mean."""
    concluded: set[int] = field(default_factory=set)
    """The lines whose words say that they follow from what stands before them."""
    _asking: dict[Context, bool] = field(default_factory=dict)
    readings: dict[tuple[int, int], Reading] = field(default_factory=dict)
    """By line (its number in `lines`) and relation."""

    def __post_init__(self) -> None:
        self.results.unread += self.document.unread
        self.contexts = Contexts(self.document)
        link_references(self.contexts, self.document.text)
        formulas = [formula for formula in self.document.formulas if any(map(str.isalnum, formula.text))]
        trees = [(formula, self._read(formula)) for formula in formulas]
        bases: set[Node] = set().union(*(layer_bases(tree) for _, tree in trees if tree is not None))
        self.lone_letters = {tree for _, tree in trees if isinstance(tree, Symbol)}
        self.spoken = set[str]().union(*(letters_alone(tree) for _, tree in trees if tree is not None))
        trees = [(formula, None if tree is None else self._normal(tree, bases)) for formula, tree in trees]
        functions = function_letters([tree for _, tree in trees if tree is not None]) | {SIGMOID}
        before: tuple[Formula, Line] | None = None
        for formula, tree in trees:
            if tree is None:
                before = None
                continue
            continued = before[1] if before is not None and self._follows(before[0], formula) else None
            found = lines(powers_of_calls(tree, functions), formula, continued)
            self.lines += [line for line in found if line is not continued]
            last = found[-1] if found else None
            if last is not None and has_scale(formula.after):
                last.units[len(last.sides) - 1] = formula.after.strip().partition(" ")[0]
            before = (formula, last) if last is not None and formula.display else None
        self.lone_letters |= {side for line in self.lines for side in line.sides if isinstance(side, Symbol)}
        for number, line in enumerate(self.lines):
            line.number = number
            line.context = self.contexts.at(line.start)
        self.alternatives = _alternatives(self.lines, self.document.text)
        self.values = Values(one_weight=not _tells_weights_apart(self.lines))

    def _normal(self, tree: Node, bases: set[Node]) -> Node:
        """The tree as the whole document shows that it is meant."""
        return words_as_names(as_indices(on_last_factor(tree), bases), self.spoken)

    def _read(self, formula: Formula) -> Node | None:
        """The tree of a formula, whole or what can be read of it."""
        counts = self.results.counts
        counts.formulas += 1
        try:
            return parse(formula.text)
        except ParseError as error:
            pieces = read_pieces(formula.text) if len(formula.text) < 20_000 else None
            if pieces is not None and pieces[1] == 0:
                return pieces[0]
            counts.unread += 1
            self.results.unread.append(Unread(formula.start, formula.end, error.reason))
            self.partly_read.add(formula.start)
            return pieces[0] if pieces is not None else None

    def _follows(self, one: Formula, other: Formula) -> bool:
        """Whether nothing but blanks stands between two displayed formulas."""
        between = self.document.text[one.end : other.start]
        return other.display and len(between) < 60 and not _BETWEEN.sub("", between)

    def clause(self, line: Line, before: Line | None, handed_on: Clause | None) -> Clause:
        """The words around a line; in a list they are those of the line before it."""
        formula, text = line.formulas[0], self.document.text
        goes_on = before is not None and continues_list(before.formulas[-1], formula, text)
        clause = clause_of(formula, text, line.context.is_solution, handed_on if goes_on else None)
        if line.context.is_called_wrong or line.number in self.alternatives:
            clause = replace(clause, stance=Stance.DENIED)
        if clause.is_doubtful or self._asks_for_errors(line.context):
            self.doubtful.add(line.number)
        if clause.cue in (Cue.THEN, Cue.ANSWER):
            self.concluded.add(line.number)
        return clause

    def _asks_for_errors(self, context: Context) -> bool:
        """Whether the example or exercise that a context belongs to asks the reader to find what is wrong in it."""
        block = next((here for here in context.path() if here.form is Form.BLOCK), None)
        if block is None:
            return False
        if block not in self._asking:
            self._asking[block] = _FIND_ERRORS.search(self.document.text[block.start : block.end]) is not None
        return self._asking[block]

    @cached_property
    def printed(self) -> Printed:
        """The numbers of the document, and the letters that vary."""
        return Printed(self.lines)

    def view(self, line: Line) -> View:
        """What is known where a line stands."""
        return View(self.values, line.context, line.start)

    def everything(self) -> Scope:
        """All values that names were ever given, in the order of the text, each with the problem it belongs to."""
        given = {
            name: sorted((held.stated for each in every.values() for held in each), key=lambda given: given.start)
            for name, every in self.values.held.items()
        }
        rules = {name: every[-1].what for name, every in self.values.rules.items() if isinstance(every[-1].what, Rule)}
        return Scope(given, rules, one_weight=self.values.one_weight)

    def section_start(self, position: int) -> int:
        """Where the section begins in which a position stands."""
        path = self.contexts.at(position).path()
        return next((context.start for context in path if context.form is Form.SECTION), 0)

    def part(self, line: Line) -> int:
        """A number for the problem that a line stands in."""
        return self.part_of(line.context)

    def part_of(self, context: Context) -> int:
        """A number for the problem of a context."""
        return self.contexts.number(context.problem)

    def note_role(self, line: Line, index: int, role: Role, evidence: str) -> Reading:
        """A relation has this role; a claim is undecided until something decides it."""
        outcome = Outcome.UNDECIDED if role in CLAIMING else Outcome.NO_CLAIM
        reading = Reading(line, index, role, evidence, outcome)
        self.readings[line.number, index] = reading
        return reading

    def reading(self, line: Line, index: int) -> Reading:
        """What is known of relation `index` of a line."""
        return self.readings.get((line.number, index)) or self.note_role(line, index, Role.CLAIM, "")

    def decide(self, line: Line, index: int, right: bool) -> None:
        """Relation `index` of a line is decided. What was found wrong stays wrong."""
        reading = self.reading(line, index)
        if reading.outcome is not Outcome.WRONG:
            reading.outcome, reading.reason = Outcome.RIGHT if right else Outcome.WRONG, ""

    def is_doubtful(self, line: Line) -> bool:
        """Whether the line supposes, asks or denies, so that nothing in it is stated as true."""
        return any(self.reading(line, index).role in _DOUBTFUL for index in range(len(line.relations)))

    def give_up(self, line: Line, error: Exception) -> None:
        """A line that cannot be computed is unread."""
        formula = line.formulas[0]
        self.results.counts.unread += 1
        self.results.unread.append(Unread(formula.start, formula.end, f"It could not be computed: {error}"))

    def window(self, line: Line, before: int = 1500, after: int = 300) -> str:
        """The text around a line, formulas included."""
        return self.document.text[max(0, line.start - before) : line.start + after]

    def has_finding(self, line: Line, index: int) -> bool:
        """Whether something was already found in a side."""
        formula, (first, last) = line.formulas[index], line.sides[index].span
        start, end = formula.position(first), formula.position(max(first, last - 1))
        return any(start <= f.start <= end and f.level in ("error", "likely") for f in self.results.findings)

    def add_at(
        self, start: int, end: int, level: str, kind: str, truth: str, why: str, reading: str = "", basis: str = "course"
    ) -> None:
        """Report a place of the text that is no side of a line."""
        says = " ".join(self.document.text[start:end].split())[:160]
        level = cautious_level(level, kind, basis)
        self.results.findings.append(Finding(start, end, level, kind, says, truth, why, reading, basis))

    def add(
        self,
        line: Line,
        first: int,
        last: int,
        level: str,
        kind: str,
        truth: str,
        why: str,
        reading: str = "",
        at: Node | None = None,
        basis: str = "course",
        support: Collection[str] = (),
    ) -> Finding:
        """Report what sides `first` … `last` of a line say; `at` is the very part that is wrong."""
        node = at if at is not None else line.sides[last]
        formula = line.formulas[last]
        start = formula.position(node.span[0])
        end = max(start + 1, formula.position(node.span[1] - 1) + 1) if node.span[1] > node.span[0] else start + 1
        says = self.quote(line, first, last)
        if formula.start in self.partly_read:
            basis = "partly read"
        elif any(
            isinstance(part, Big) and part.operator == "lim" for side in (first, last) for part in line.sides[side].walk()
        ):
            basis = "a limit"
        sides = line.sides[first], line.sides[last]
        supports = {*support, *_by_notation(features(*sides))}
        if any(map(is_telling, sides)):
            supports.add(Support.COMPUTED)
        if line.number in self.concluded:
            supports.add(Support.CONCLUDED)
        best = cautious_level(level, kind, basis, {*supports, *(OF_DOCUMENT - DOUBTS)})
        found = Finding(
            start, min(end, len(self.document.text)), best, kind, says, truth, why, reading, basis, support_text(supports)
        )
        self.results.findings.append(found)
        self.stated.append(Stated(found, level, sides, line.number))
        return found

    def quote(self, line: Line, first: int, last: int) -> str:
        """A part of a chain as it is written."""
        texts = [self.text(line, index) for index in (first, last)]
        if first == last:
            return texts[0]
        relation = line.relations[last - 1] if last > 0 else "="
        return f"{texts[0]} {relation} {texts[1]}"

    def text(self, line: Line, index: int) -> str:
        """The source of one side."""
        return source(line.formulas[index], *line.sides[index].span)


def _by_notation(used: frozenset[str]) -> set[Support]:
    """What supports a finding by its notation alone."""
    return {Support.USUAL if used else Support.ARITHMETIC} if is_usual(used) else set()


def _alternatives(found: list[Line], text: str) -> set[int]:
    """The neighbours in a list that give one calculation two results: answers to choose from, of which one may be right."""
    return {
        number
        for one, other in pairwise(found)
        if len(one.sides) == len(other.sides) == 2 and one.sides[0] == other.sides[0] and one.sides[1] != other.sides[1]
        if is_closed(one.sides[0]) and all(is_choice(line.formulas[0], text) for line in (one, other))
        for number in (one.number, other.number)
    }


def _tells_weights_apart(found: list[Line]) -> bool:
    """Whether a document defines a bold letter and the same letter in plain type, so that they are two names."""
    defined = {line.sides[0] for line in found if line.relations and line.relations[0] in EQUAL and is_name(line.sides[0])}
    names = [name for name in defined if isinstance(name, Symbol | Script)]
    return len({plain(name) for name in names}) < len(names)
