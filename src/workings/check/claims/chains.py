"""Chains of =, ≈, <, ≤, … between what has a value: numbers, vectors, matrices, and names that were given one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from flint import arb

from workings.check.claims.argument import Argument
from workings.check.claims.definitions import Definitions, is_same
from workings.check.claims.finding_writer import Claim, FindingWriter, Known, count, side_at
from workings.check.claims.lines import EQUAL, ORDER, Line
from workings.check.claims.words import decimal, value_text
from workings.check.latex.syntax import (
    Derivative,
    Function,
    Group,
    Labelled,
    Node,
    Number,
    Product,
    Root,
    Script,
    Symbol,
    Words,
)
from workings.check.value.compare import Side, Verdict, compare, in_order, value_of
from workings.check.value.names import is_closed, is_name, is_number, unpacked_names
from workings.check.value.rounding import Grade, Judgement, max_unit, units
from workings.check.value.scope import Scope
from workings.check.value.value import Table, entries

RENAMED = (Symbol("e"), Symbol("pi"))
"""Constants that a document may use as names."""


class Chains:
    """The numbers of a document, line by line, with the definitions carried along."""

    def __init__(self, argument: Argument, scope: Scope) -> None:
        self.argument, self.scope, self.nothing = argument, scope, Scope(behind=scope.behind)
        self.writer = FindingWriter(argument, scope, self.nothing)
        self.definitions = Definitions(argument, scope, self.nothing, self.writer)

    def check_line(self, line: Line) -> None:
        """Check one line, then carry what it defines."""
        if ":" in line.relations:
            return  # a ratio, or a function from here to there
        for index, relation in enumerate(line.relations):
            if relation in ORDER:
                self.check_order(line, index, relation)
            elif relation == "→":
                self.check_arrow(line, index)
        for index, side in enumerate(line.sides):
            for part in side.walk():
                if isinstance(part, Labelled) and is_number(part.label) and is_closed(part.body):
                    self.check_label(line, index, part)
        for run in line.runs():
            if len(run) > 1:
                self.check_run(line, run)
        if line.relations[:1] == ["←"]:
            self.definitions.update(
                line, [k for i in range(1, len(line.sides)) if (k := self.known(i, side_at(line, i), False))]
            )

    def check_label(self, line: Line, index: int, node: Labelled) -> None:
        """A number below a brace is the value of what stands above it."""
        text = line.formulas[index].text
        body, label = (Side(part, text[part.span[0] : part.span[1]]) for part in (node.body, node.label))
        verdict = compare(body, label, self.nothing)
        if verdict is None or verdict.judgement is None:
            return
        count(self.argument, line, (index, index), verdict.grade is not Grade.WRONG)
        if verdict.grade is Grade.WRONG and not verdict.judgement.shapes:
            truth = decimal(entries(verdict.judgement.left)[0], max_unit([units(node.label)], 0))
            why = f"You wrote {label.text} below the brace; correct is {truth}."
            self.argument.add(line, index, index, "likely", "number", truth, why, at=node.label)

    def check_order(self, line: Line, index: int, relation: str) -> None:
        """a < b between closed sides."""
        left, right = side_at(line, index), side_at(line, index + 1)
        if any(not is_closed(side.node) and side.node != Symbol("pi") for side in (left, right)):
            return
        holds = in_order(left, relation, right, self.nothing)
        if holds is None:
            return
        count(self.argument, line, (index, index + 1), holds)
        if not holds:
            x, y = value_of(left, self.nothing), value_of(right, self.nothing)
            truth = " and ".join(
                f"{side.text.strip()} = {value_text(v)}" for side, v in ((left, x), (right, y)) if v is not None
            )
            level = "possible" if self.argument.in_doubt(line) else "error"
            self.argument.add(line, index, index + 1, level, "order", truth, f"The relation {relation} does not hold.")

    def check_arrow(self, line: Line, index: int) -> None:
        """a → b between closed sides: b is a, rounded. Anything else that an arrow may mean is no claim."""
        left, right = side_at(line, index), side_at(line, index + 1)
        if is_closed(left.node) and is_closed(right.node):
            verdict = compare(left, right, self.nothing, about=True)
            if verdict is not None and verdict.grade <= Grade.ROUNDED:
                count(self.argument, line, (index, index + 1), True)

    def check_run(self, line: Line, run: list[int]) -> None:
        """a = b ≈ c: every side that has a value against the next one that has."""
        sides = [(index, side_at(line, index)) for index in run]
        known = [found for index, side in sides if (found := self.known(index, side, index == run[0])) is not None]
        wrong_at, confirmed, skipped = -1, False, -1
        for position, (one, other) in enumerate(pairwise(known)):
            if one.index == skipped:
                continue  # the side before it and the side after it agree
            about = any(line.relations[i - 1] == "≈" for i in range(one.index + 1, other.index + 1))
            if self.is_wrong(Claim(line, one, other), about, confirmed) and wrong_at < 0:
                wrong_at = other.index
            confirmed = wrong_at < 0
            if wrong_at == other.index and position + 2 < len(known) and self.is_equal(one, known[position + 2]):
                skipped = other.index
        self.definitions.carry(line, run, known)

    def is_equal(self, one: Known, other: Known) -> bool:
        """Whether two sides are equal."""
        verdict = compare(one.side, other.side, self.scope if one.used or other.used else self.nothing, True)
        return verdict is not None and verdict.grade <= Grade.ROUNDED

    def known(self, index: int, side: Side, first: bool) -> Known | None:
        """The side as one with a value, if it has one. A name on the left is what the line defines, not a claim."""
        if isinstance(side.node, Words) or any(isinstance(part, Derivative) for part in side.node.walk()):
            return None
        if is_closed(side.node) and not self.is_renamed(side.node):
            return None if self.is_unsure(side.node) else Known(index, side)
        if (is_name(side.node) and not self.is_application(side.node)) or not (
            self.scope.definitions or self.scope.functions
        ):
            return None
        if first and unpacked_names(side.node):
            return None
        used: set[Node] = set()
        called: set[Node] = set()
        if compare(side, side, replace(self.scope, used=used, called=called)) is None:
            return None
        return Known(index, side, frozenset(used), frozenset(called))

    def is_unsure(self, node: Node) -> bool:
        """Whether e or π stands in it as a factor or a term, and the document speaks of a letter $e$ or $π$."""
        powers = {id(part.base) for part in node.walk() if isinstance(part, Script) and part.above is not None}
        return any(part in RENAMED and part in self.argument.lone_letters and id(part) not in powers for part in node.walk())

    def is_renamed(self, node: Node) -> bool:
        """Whether e or π stands in it, and the document has given that letter another meaning."""
        return any(part in RENAMED and self.scope.definition(part) is not None for part in node.walk())

    def is_application(self, node: Node) -> bool:
        """f(3) with f declared; softmax(z), σ(z), log p, which have a value if their letters have."""
        match node:
            case Function(arguments=arguments):
                return bool(arguments)
            case Root() | Product(factors=((_, Symbol(name="sigma")), ("", Group()))):
                return True
            case Product(factors=((_, name), ("", Group(items=items)))):
                return self.scope.function(name) is not None and all(map(is_closed, items))
        return False

    def is_wrong(self, claim: Claim, about: bool, confirmed: bool) -> bool:
        """Judge one = other and tell what is found; whether it is surely wrong."""
        one, other = claim.one, claim.other
        closed = not any(known.used or known.called or not is_closed(known.side.node) for known in (one, other))
        verdict = self.verdict(claim, closed, about)
        if verdict is not None and verdict.judgement is not None and verdict.judgement.shapes and has_sliding_kernel(claim):
            verdict = None  # a kernel may slide beyond the edge
        if verdict is None:
            if closed:
                self.writer.no_value(claim)
            return False
        if closed and verdict.grade is Grade.WRONG and sizes_agree(one.side.node, other.side.node):
            count(self.argument, claim.line, claim.indices, True)
            return False
        if verdict.grade is Grade.WRONG and claim.line.units & {one.index, other.index}:
            self.with_units(claim, verdict)
            return False
        level = self.level(claim, closed, verdict)
        if level != "possible" or verdict.grade <= (Grade.IMPRECISE if closed else Grade.ROUNDED):
            count(self.argument, claim.line, claim.indices, verdict.grade <= Grade.ROUNDED or level == "note")
        if verdict.grade <= Grade.ROUNDED:
            self.definitions.remember_behind(claim, verdict)
        if verdict.grade is Grade.RIGHT:
            return False
        self.writer.write(claim, verdict, level, confirmed)
        return verdict.grade is Grade.WRONG and level in ("error", "likely")

    def with_units(self, claim: Claim, verdict: Verdict) -> None:
        """A number with a unit or a word behind it: right if it is the same number in another scale, otherwise undecided."""
        judgement = verdict.judgement
        if judgement is not None and not judgement.shapes and is_rescaled(judgement):
            count(self.argument, claim.line, claim.indices, True)
        else:
            self.argument.report.counts.claims += 1

    def verdict(self, claim: Claim, closed: bool, about: bool) -> Verdict | None:
        """What comes out when the sides are compared; e and π may be the constants even where they were given a value."""
        one, other = claim.one.side, claim.other.side
        verdict = compare(one, other, self.nothing if closed else self.scope, about)
        if claim.used and is_closed(one.node) and is_closed(other.node):
            usual = compare(one, other, self.nothing, about)
            if usual is not None and (verdict is None or usual.grade < verdict.grade):
                return usual
        return verdict

    def level(self, claim: Claim, closed: bool, verdict: Verdict) -> str:
        """How sure a mismatch is."""
        line, used = claim.line, claim.used
        if verdict.grade is Grade.ROUNDED:
            return "note" if closed and verdict.judgement is not None and verdict.judgement.coarse else "possible"
        if self.argument.is_denied(line) or self.has_question_mark(claim):
            return "possible"
        if verdict.grade in (Grade.LAST_DIGIT, Grade.IMPRECISE):
            return "possible" if used and not self.definitions.is_trusted(line, used) else "note"
        if closed:
            return "error"
        doubtful = self.argument.is_supposed(line) or self.is_doubtful(claim, verdict)
        return "likely" if self.definitions.is_trusted(line, used) and not doubtful else "possible"

    def has_question_mark(self, claim: Claim) -> bool:
        """Whether the relation carries a question mark."""
        line, last = claim.line, claim.other.index
        if line.formulas[last - 1] is not line.formulas[last]:
            return False
        return "?" in line.formulas[last].text[line.sides[last - 1].span[1] : line.sides[last].span[0]]

    def is_doubtful(self, claim: Claim, verdict: Verdict) -> bool:
        """Whether no side is closed, a function of another part is used, or a square may have a value of its own (σ²)."""
        one, other = claim.one, claim.other
        part = self.argument.part(claim.line)
        elsewhere = any(self.scope.functions[name].part != part for name in one.called | other.called)
        of_tables = verdict.judgement is not None and isinstance(verdict.judgement.left, Table)
        square = isinstance(one.side.node, Script) and one.index == 0 and not of_tables
        open_ended = not (is_closed(one.side.node) or is_closed(other.side.node))
        return elsewhere or square or open_ended or self.uses_other_numbers(claim)

    def uses_other_numbers(self, claim: Claim) -> bool:
        """Whether a calculation puts other numbers in for single letters and goes on with these."""
        line, other = claim.line, claim.other
        if units(other.side.node) is not None or not all(isinstance(name, Symbol) for name in claim.used):
            return False
        if any(isinstance(self.scope.definitions[name][-1].value, Table) for name in claim.used):
            return False
        printed = [Side(part, "") for part in other.side.node.walk() if isinstance(part, Number)]
        numbers = [number for side in printed if isinstance(number := value_of(side, self.nothing), arb)]
        values = [self.scope.definitions[name][-1].value for name in claim.used]
        if all(
            any(is_same(abs(number), abs(value)) for number in numbers) for value in values if not isinstance(value, Table)
        ):
            return False  # the very values of the letters are put in
        later = other.index + 1
        if later >= len(line.sides) or line.relations[later - 1] not in EQUAL or not is_closed(line.sides[later]):
            return False
        return self.is_equal(other, Known(later, side_at(line, later)))


SCALES = [*(10**k for k in (2, 3, 6, 9, 12)), *(1024**k for k in (1, 2, 3)), 60, 3600, 24, 86400]
"""How many of a smaller unit make a larger one."""


def is_rescaled(judgement: Judgement) -> bool:
    """Whether two numbers differ by the step from one unit to another: 2408448 ≈ 2.4 million."""
    pairs = list(zip(entries(judgement.left), entries(judgement.right), strict=True))
    return any(
        all(abs(a - s * b) <= abs(a) / 20 or abs(s * a - b) <= abs(b) / 20 for a, b in pairs) for s in map(arb, SCALES)
    )


def has_sliding_kernel(claim: Claim) -> bool:
    """Whether a kernel is slid over a table: X * K."""
    return any(
        isinstance(part, Product) and any(sign in ("*", "⋆") for sign, _ in part.factors)
        for known in (claim.one, claim.other)
        for part in known.side.node.walk()
    )


def sizes_agree(left: Node, right: Node) -> bool:
    """(2 × 3)(3 × 4) = 2 × 4: sizes of a product of matrices, not numbers."""
    shapes = [size_of(factor) for _, factor in left.factors] if isinstance(left, Product) else []
    result = size_of(right)
    if len(shapes) < 2 or result is None or any(shape is None for shape in shapes):
        return False
    known = [shape for shape in shapes if shape is not None]
    fits = all(a[1] == b[0] for a, b in pairwise(known))
    return fits and (known[0][0], known[-1][1]) == result


def size_of(node: Node) -> tuple[str, str] | None:
    """The two numbers of 2 × 3."""
    match node:
        case Group(open="(" | "[", items=(item,)):
            return size_of(item)
        case Product(factors=((_, Number(text=n)), ("×", Number(text=m)))):
            return n, m
    return None
