"""How sure each finding is, by what the whole document shows; then the report is complete."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from workings.check.argument.argument import Argument, Reading, Stated
from workings.check.argument.levels import OWN_RULES, cautious_level
from workings.check.argument.notation import NO_ARITHMETIC, Notation, features, is_usual
from workings.check.argument.roles import names_in
from workings.check.argument.support import DOUBTS, OF_DOCUMENT, Support, support_text, supports_in
from workings.check.document.finding import LEVELS, Finding
from workings.check.document.relation import Outcome, Relation, Role
from workings.check.latex.syntax import Node, Number, Product
from workings.check.latex.weights import plain
from workings.check.value.names import letters_of
from workings.check.value.scope import Rule
from workings.check.value.value import Reason

_SURE = LEVELS[:2]


def close(argument: Argument) -> None:
    """The report is complete: the relations in the order of the text, counted, and one finding for a place."""
    results, weighing = argument.results, _Weighing(argument)
    weighed = {id(stated.found): weighing.weighed(stated) for stated in argument.stated}
    argument.stated = [replace(stated, found=weighed[id(stated.found)]) for stated in argument.stated]
    results.findings = _without_repeats([weighed.get(id(found), found) for found in results.findings])
    readings = sorted(argument.readings.values(), key=lambda reading: (reading.line.number, reading.index))
    results.relations = [_relation(argument, reading) for reading in readings]
    counts, outcomes = results.counts, Counter(reading.outcome for reading in readings)
    counts.right = outcomes[Outcome.RIGHT] + outcomes[Outcome.FOLLOWS]
    counts.wrong = outcomes[Outcome.WRONG]
    counts.decided = counts.right + counts.wrong
    counts.claims = counts.decided + outcomes[Outcome.UNDECIDED]


@dataclass
class _Weighing:
    """What the whole document shows of its findings."""

    argument: Argument
    notation: Notation = field(default_factory=Notation)
    varying: set[Node] | None = None

    def __post_init__(self) -> None:
        for reading in self.argument.readings.values():
            if reading.outcome in (Outcome.RIGHT, Outcome.WRONG):
                sides = reading.line.sides[reading.index : reading.index + 2]
                self.notation.count(tuple(sides), reading.outcome is Outcome.RIGHT)

    def weighed(self, stated: Stated) -> Finding:
        """A finding with its support and its level; where words leave it open what is claimed, it is a note at most."""
        found, used = stated.found, features(*stated.sides)
        supports = supports_in(found.support) - OF_DOCUMENT | self.shown(stated.sides, used)
        if stated.line in self.argument.doubtful or self.is_size(stated.sides[0]) or not NO_ARITHMETIC.isdisjoint(used):
            supports.add(Support.DOUBTED)
        level = found.level if found.basis in OWN_RULES else cautious_level(stated.level, found.kind, found.basis, supports)
        if level in _SURE and supports & DOUBTS:
            is_explained = Support.DOUBTED not in supports and supports & {Support.SLIP, Support.ENTRIES}
            level = "likely" if is_explained else "note"
        return replace(found, level=level, support=support_text(supports))

    def shown(self, sides: tuple[Node, Node], used: frozenset[str]) -> set[str]:
        """What the document as a whole adds to the support of a finding."""
        supports: set[str] = set()
        if used and self.notation.is_confirmed(used):
            supports.add(Support.NOTATION)
        if self.notation.is_sound:
            supports.add(Support.DOCUMENT)
        if self.notation.knows_form(sides):
            supports.add(Support.FORM)
        if self.is_fixed(sides):
            supports.add(Support.FIXED)
        doubtful = self.notation.is_doubtful and not is_usual(used)
        if used and (doubtful or self.notation.contradicted(used)):
            supports.add(Support.CONTRADICTED)
        return supports

    def is_size(self, node: Node) -> bool:
        """Whether 3 × 3 stands alone elsewhere in the text, as the size of a table does."""
        match node:
            case Product(factors=((_, Number(text=rows)), ("×" | "x", Number(text=columns)))) if len(rows + columns) < 5:
                alone = rf"(?<![\d.×*/^]){rows}[ ]*(?:×|\\times|x)[ ]*{columns}(?![ \d]*[=\d.×*/^+-])"
                return re.search(alone, self.argument.document.text) is not None
        return False

    def is_fixed(self, sides: tuple[Node, Node]) -> bool:
        """Whether there are letters in a claim, and each has one value in the whole document and never varies."""
        names = {self.argument.values.name(name) for side in sides for name in names_in(side)}
        return bool(names) and all(map(self.has_one_value, names))

    def has_one_value(self, name: Node) -> bool:
        """Whether a name has one value in the whole document, and its letters never vary."""
        held = self.argument.values.held.get(name, {})
        if len({str(value.stated.value) for every in held.values() for value in every}) != 1:
            return False
        if self.varying is None:
            self.varying = _varying(self.argument)
        return not (letters_of(name) | {name}) & self.varying


def _varying(argument: Argument) -> set[Node]:
    """The letters that vary: under an operator, as arguments of functions, as unknowns of equations."""
    rules = [placed.what for every in argument.values.rules.values() for placed in every]
    arguments = {plain(name) for rule in rules if isinstance(rule, Rule) for name in rule.names}
    unknown = {
        plain(letter)
        for reading in argument.readings.values()
        if reading.role is Role.EQUATION
        for side in reading.line.sides[reading.index : reading.index + 2]
        for letter in letters_of(side)
    }
    return argument.printed.varying | arguments | unknown


def _relation(argument: Argument, reading: Reading) -> Relation:
    """A relation as the report has it."""
    line, index = reading.line, reading.index
    start = line.formulas[index].position(line.sides[index].span[0])
    last = line.formulas[index + 1]
    end = last.position(max(line.sides[index + 1].span[0], line.sides[index + 1].span[1] - 1)) + 1
    return Relation(
        min(start, end),
        min(max(start, end), len(argument.document.text)),
        argument.quote(line, index, index + 1),
        reading.role.value,
        reading.evidence,
        reading.outcome.value,
        reading.reason or (Reason.NOTATION.value if reading.outcome is Outcome.UNDECIDED else ""),
        reading.values,
        reading.cause,
    )


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """In the order of the text, one finding for a place: the surest, and of equals the first."""
    best: dict[tuple[int, int], Finding] = {}
    for finding in findings:
        place = finding.start, finding.end
        if place not in best or LEVELS.index(finding.level) < LEVELS.index(best[place].level):
            best[place] = finding
    return sorted(best.values(), key=lambda finding: (finding.start, finding.end))
