"""Is one side equal to another? Decided with every value that their names may have; what follows from an error is no error.

A claim is wrong only if it is wrong for every value: stated and computed, and whatever other meaning its notation may have.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.clause import Cue, clause_of
from workings.check.argument.contexts import Context, Visibility
from workings.check.argument.lines import Line, says_scale
from workings.check.argument.roles import is_literal, is_program, is_set
from workings.check.argument.values import Held, View
from workings.check.argument.words import value_text
from workings.check.claims.claim import Claim, Decision, Known, is_same, side_at
from workings.check.claims.other_meanings import (
    called_names,
    has_comparable_units,
    has_same_entries,
    has_sliding_kernel,
    is_loose,
    is_partly_computed,
    is_rearranged,
    is_rescaled,
    is_step_of_elimination,
    sizes_agree,
    with_other_marks,
)
from workings.check.document.relation import Outcome
from workings.check.latex.calls import SIGMOID
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import (
    Chain,
    Derivative,
    Dots,
    Function,
    Group,
    Node,
    Nothing,
    Number,
    Product,
    Root,
    Script,
    Symbol,
    Words,
)
from workings.check.value.compare import Side, Verdict, certainly_none, compare, value_of, why_undecided
from workings.check.value.imaginary import imaginary_unit
from workings.check.value.names import is_acronym, is_closed, is_name, unpacked_names
from workings.check.value.notation import form_of, form_of_sign
from workings.check.value.remainders import has_class, modulo
from workings.check.value.rounding import Grade, Judgement
from workings.check.value.scope import Scope
from workings.check.value.units import has_units, without_units
from workings.check.value.value import Reason, Table, entries

_LETTERS_TOO = (Symbol("e"), Symbol("pi"))
"""Constants that a document may use as names."""
_BASES = {
    Visibility.OWN: "letters",
    Visibility.REFERRED: "letters referred to",
    Visibility.SIBLING: "letters of another part",
    Visibility.FAR: "letters of another section",
}
"""What a finding rests on, by how far away the values were given."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MODULUS = re.compile(
    r"\\(?:mathbb|mathbf|Z|Bbb|mathrm)\s*\{?\s*[ZF]\s*\}?\s*(?:_|/)\s*\{?\s*(\d+)|\bZ_\{?(\d+)|GF\s*\(\s*(\d+)"
    r"|\b(?i:mod(?:ulo)?|bmod|pmod)\b[\s{$(]*(\d+)"
)
"""Arithmetic of remainders: ℤ_5, GF(2), modulo 7."""
_MOST_MODULI = 8
_BYTES = re.compile(r"(?:[kKMGTP]?i?B|[Bb]ytes?)(?![A-Za-z])")
_SIGMOID = re.compile(r"sigmoid|logistic|activation|neuron|neural|\\sigma *\(.{1,12}\) *=.{0,12}\\frac *\{? *1", re.I)
"""Words, or a formula, that make σ the logistic function."""


@dataclass
class Decider:
    """Decides the claims of a document."""

    argument: Argument
    behind: dict[Context, dict[str, arb | None]] = field(default_factory=lambda: defaultdict(dict))
    """For each problem: printed decimals, and the number that each was rounded from."""
    moduli: dict[Context, tuple[int, ...]] = field(default_factory=dict)
    imaginary: dict[Context, Symbol] = field(default_factory=dict)
    """For each problem that shows it, the letter that is √−1."""
    aligned: dict[tuple[int, int], tuple[Side, Scope]] = field(default_factory=dict)
    """For a side in numbers (its line and index): the general formula that the numbers were put into, and its letters."""

    def __post_init__(self) -> None:
        for line in self.argument.lines:
            for pair in pairwise(line.sides):
                if (letter := imaginary_unit(pair)) is not None:
                    self.imaginary[line.context.problem] = letter

    def scope(self, line: Line, view: View | None = None) -> Scope:
        """What names mean at a line."""
        view = self.argument.view(line) if view is None else view
        scope = view.scope(self.behind[line.context.problem])
        scope.imaginary = self.imaginary.get(line.context.problem)
        return scope

    def closed_scope(self, line: Line) -> Scope:
        """The scope of numbers alone."""
        return Scope(behind=self.behind[line.context.problem])

    def known(self, line: Line, index: int, is_first: bool) -> Known | None:
        """A side as one with a value, if it has one. A name on the left is what the line defines, not a claim."""
        node = line.sides[index]
        side = side_at(line, index)
        if self.is_opaque(line, node):
            return None
        scope = self.scope(line)
        if is_closed(node) and not self.is_renamed(node, scope) and not _has_own_notation(node, scope):
            return None if self.is_unsure(node) else Known(index, side)
        if is_name(node) and not _is_application(node, scope):
            return None
        is_restated = isinstance(node, Product) and len(node.factors) > 2 and is_acronym(node)  # SNR = … = 0.04
        if is_first and (unpacked_names(node) or (is_restated and self.argument.view(line).has_value(node))):
            return None
        used: set[Node] = set()
        called: set[Node] = set()
        scope.used, scope.called = used, called
        if compare(side, side, scope) is None:
            return None
        return Known(index, side, frozenset(used), frozenset(called))

    def decide(self, claim: Claim) -> Decision:
        """Whether two sides are equal, for some value that each of their names may have."""
        return self._decide_closed(claim) if claim.is_closed else self._decide_open(claim)

    def _decide_closed(self, claim: Claim) -> Decision:
        line, one, other = claim.line, claim.one.side, claim.other.side
        verdict = self._compare_classes(claim) or compare(one, other, self.closed_scope(line), claim.about)
        if verdict is None:
            return self._without_value(line, one, other)
        if verdict.grade is not Grade.WRONG:
            return Decision(Outcome.RIGHT, verdict)
        for meaning in _CLOSED_MEANINGS:
            if meaning.fits(self, claim, verdict):
                return Decision(meaning.outcome, reason=meaning.reason)
        return Decision(Outcome.WRONG, verdict, _basis_of_units(claim))

    def has_other_marks(self, claim: Claim) -> bool:
        """Whether it is right with 1,177 as 1.177, or with 1.000 as a thousand."""
        verdicts = (
            compare(*sides, self.closed_scope(claim.line), claim.about)
            for sides in with_other_marks(claim.one.side, claim.other.side)
        )
        return any(verdict is not None and verdict.grade is not Grade.WRONG for verdict in verdicts)

    def _without_value(self, line: Line, one: Side, other: Side) -> Decision:
        """A closed claim with a side that has no value: √−7 = 5 is wrong, anything else is left undecided."""
        scope = self.closed_scope(line)
        none = next(filter(None, (certainly_none(side, scope) for side in (one, other))), "")
        values = [value_of(side, scope) for side in (one, other)]
        if none and any(value is not None and all(x.is_finite() for x in entries(value)) for value in values):
            return Decision(Outcome.WRONG, reason=none)
        return Decision(Outcome.UNDECIDED, reason=self.reason(line, (one.node, other.node)))

    def _decide_open(self, claim: Claim) -> Decision:
        """With names: right for some choice of their values, wrong for every one, or undecided."""
        line, view = claim.line, self.argument.view(claim.line)
        worst: Verdict | None = None
        nearly: Decision | None = None
        for chosen, picked in view.choices(claim.used):
            verdict = compare(claim.one.side, claim.other.side, self.scope(line, chosen), claim.about)
            if verdict is None:
                continue
            if verdict.grade is not Grade.WRONG:
                cause = max((held.cause for held, given in picked.values() if given is held.stated), default=-1)
                outcome = Outcome.FOLLOWS if cause >= 0 else Outcome.RIGHT
                found = Decision(outcome, verdict, cause=cause, values=self.values_text(picked))
                if verdict.grade <= Grade.ROUNDED:
                    return found
                nearly = nearly or found
            worst = worst or verdict
        if nearly is not None:
            return nearly
        if worst is None:
            return Decision(Outcome.UNDECIDED, reason=self.reason(line, _sides(claim)))
        values = self.values_text({name: (held, held.stated) for name in claim.used for held in view.seen(name)[:1]})
        for meaning in _OPEN_MEANINGS:
            if meaning.fits(self, claim, worst):
                return Decision(meaning.outcome, reason=meaning.reason, values=values)
        basis = self.basis(claim, view) if worst.letter is None else "complex numbers"
        return Decision(Outcome.WRONG, worst, basis, values=values)

    def is_usual(self, claim: Claim) -> bool:
        """Whether it is right with e or π as usual, where they have another value here."""
        if not all(map(is_closed, _sides(claim))) or claim.one.called or claim.other.called:
            return False
        usual = compare(claim.one.side, claim.other.side, self.closed_scope(claim.line), claim.about)
        return usual is not None and usual.grade is not Grade.WRONG

    def is_aligned(self, claim: Claim) -> bool:
        """Whether its right side puts numbers in for the letters of a formula."""
        return (claim.line.number, claim.other.index) in self.aligned

    def basis(self, claim: Claim, view: View) -> str:
        """What a wrong claim rests on."""
        functions = claim.one.called | claim.other.called
        if not claim.used and functions:
            return "function"
        held = [value for name in claim.used for value in view.seen(name)]
        if any(value_of(side, Scope()) == 0 for side in (claim.one.side, claim.other.side) if is_literal(side.node)):
            return "an equation alone"
        of_tables = any(isinstance(value.stated.value, Table) for value in held)
        if not of_tables and claim.one.index == 0 and len(claim.line.sides) == 2 and self.may_be_solved(claim, held):
            return "an equation alone"
        if _may_be_named(claim.one.side.node) and claim.one.index == 0 and not of_tables:
            return "letters, a power"  # σ² may have a value of its own
        return self.letters_basis(claim.used, view)

    def letters_basis(self, names: frozenset[Node], view: View) -> str:
        """What a claim about these names rests on, by how far away they got their values."""
        return _BASES.get(view.visibility(names), "letters")

    def may_be_solved(self, claim: Claim, held: list[Held]) -> bool:
        """Whether an equation may be one to be solved anew: values from another paragraph, and no «so».

        What a problem gives holds in its parts and its solution, unless they ask to solve something.
        """
        line, text = claim.line, self.argument.document.text
        cue = clause_of(line.formulas[0], text, False).cue
        if cue in (Cue.THEN, Cue.ANSWER):
            return False
        away = [value for value in held if _BLANK_LINE.search(text, value.start, line.start)]
        if cue is Cue.SOLVE:
            return bool(away)
        return not all(value.is_given and value.context is not line.context for value in away)

    def is_near(self, line: Line, names: frozenset[Node]) -> bool:
        """Whether all these names got their values in the paragraph of the line."""
        text, view = self.argument.document.text, self.argument.view(line)
        return not any(_BLANK_LINE.search(text, held.start, line.start) for name in names for held in view.seen(name))

    def puts_values_in(self, claim: Claim) -> bool:
        """Whether a side is a printed value, or the very values of the letters stand in the calculation."""
        one, other = _sides(claim)
        if is_literal(one) or is_literal(other) or is_partly_computed(one, other):
            return True
        view = self.argument.view(claim.line)
        numbers = [value_of(Side(part, ""), Scope()) for part in other.walk() if isinstance(part, Number)]
        for name in claim.used:
            held = view.seen(name)
            if any(isinstance(definition.value, Table) for value in held for definition in value.definitions()):
                continue
            values = [definition.value for value in held for definition in value.definitions()]
            if not any(is_same(abs(x), abs(v)) for x in numbers if isinstance(x, arb) for v in values if isinstance(v, arb)):
                return False
        return True

    def is_meant(self, claim: Claim) -> bool:
        """Whether it is right with the brackets that numbers put in for letters were to have: −3² for x² with x = −3."""
        general = self.aligned.get((claim.line.number, claim.one.index))
        if general is None or any(isinstance(given[-1].value, Table) for given in general[1].definitions.values()):
            return False
        verdict = compare(general[0], claim.other.side, general[1], claim.about)
        return verdict is not None and verdict.grade is not Grade.WRONG

    def is_congruence(self, claim: Claim) -> bool:
        """Whether the sides agree in the arithmetic of remainders that the problem speaks of."""
        found = [self.compare_modulo(claim, n) for n in self.moduli_of(claim.line)]
        return any(verdict is not None and verdict.grade is not Grade.WRONG for verdict in found)

    def compare_modulo(self, claim: Claim, n: int) -> Verdict | None:
        """The sides as remainders modulo n; none if they are no whole numbers."""
        one, other = (Side(modulo(known.side.node, n), "") for known in (claim.one, claim.other))
        verdict = compare(one, other, self.closed_scope(claim.line))
        judgement = None if verdict is None else verdict.judgement
        if judgement is None or judgement.shapes:
            return None
        return verdict if all(x.is_integer() for v in (judgement.left, judgement.right) for x in entries(v)) else None

    def _compare_classes(self, claim: Claim) -> Verdict | None:
        """[3] + [5] = [1]: residue classes, where the problem speaks of one modulus alone."""
        if not any(has_class(known.side.node) for known in (claim.one, claim.other)):
            return None
        moduli = self.moduli_of(claim.line)
        return self.compare_modulo(claim, moduli[0]) if len(moduli) == 1 else None

    def moduli_of(self, line: Line) -> tuple[int, ...]:
        """The moduli that the problem of a line speaks of."""
        problem = line.context.problem
        if problem not in self.moduli:
            text = self.argument.document.text[problem.start : problem.end]
            found = {int(next(filter(None, match.groups()))) for match in _MODULUS.finditer(text)}
            self.moduli[problem] = tuple(sorted(n for n in found if 1 < n < 10**6)[:_MOST_MODULI])
        return self.moduli[problem]

    def is_opaque(self, line: Line, node: Node) -> bool:
        """Whether something stands in it that numbers cannot say: words, dots, a derivative, a sign of the author's own."""
        node = without_units(node)
        if isinstance(node, Symbol) and "tt" in node.style:
            return is_program(node) or not self.argument.view(line).has_value(node)
        if isinstance(node, Derivative) and self.argument.view(line).has_value(node):
            return False
        if isinstance(node, Words | Dots | Derivative | Nothing | Chain):
            return True
        if is_name(node) and self.argument.view(line).has_value(node):
            return False
        return any(self.is_opaque(line, child) for child in node.children() if not isinstance(child, Chain))

    def reason(self, line: Line, nodes: tuple[Node, ...]) -> str:
        """Why these sides have no value."""
        scope = self.scope(line)
        for node in nodes:
            why = why_undecided(Side(node, ""), scope)
            if why is not None:
                return why.value
        return Reason.NOTATION.value

    def is_unsure(self, node: Node) -> bool:
        """Whether e or π stands in it as a factor or a term, and the document speaks of a letter $e$ or $π$."""
        powers = {id(part.base) for part in node.walk() if isinstance(part, Script) and part.above is not None}
        letters = [part for part in _LETTERS_TOO if part in self.argument.lone_letters or part in self.argument.values.held]
        return any(part in letters and id(part) not in powers for part in node.walk())

    def has_other_sigma(self, claim: Claim) -> bool:
        """Whether σ is called, and neither words nor a formula of the document make it the logistic function."""
        if not any(part == SIGMOID for side in _sides(claim) for part in side.walk()):
            return False
        return _SIGMOID.search(self.argument.document.text) is None

    def has_called_pi(self, claim: Claim) -> bool:
        """Whether π(2) stands in a claim, and this or another π(…) is a whole side of several lines, as a function is."""
        if not any(map(_calls_pi, (part for side in _sides(claim) for part in side.walk()))):
            return False
        return len({side for line in self.argument.lines for side in line.sides if _calls_pi(side)}) > 1

    def is_renamed(self, node: Node, scope: Scope) -> bool:
        """Whether e or π stands in it, and has been given another meaning here."""
        return any(part in _LETTERS_TOO and scope.definition(part) is not None for part in node.walk())

    def values_text(self, picked: Mapping[Node, tuple[Held, object]]) -> str:
        """What was put in for names: a = 6 (line 3)."""
        place = self.argument.document.place
        return ", ".join(
            f"{one_line(name)} = {value_text(held.stated.value)} (line {place(held.start).line})"
            for name, (held, _) in picked.items()
        )


def _may_be_named(node: Node) -> bool:
    """σ², χ², x_1^*: a script that may make another name; a third power does not."""
    return isinstance(node, Script) and not (isinstance(node.above, Number) and node.above.text not in ("0", "1", "2"))


def _has_own_notation(node: Node, scope: Scope) -> bool:
    """Whether something stands in it that the author gave a meaning of their own."""
    if not scope.notations:
        return False
    forms = [found[0] for part in node.walk() if (found := form_of(part)) is not None]
    signs = {sign for part in node.walk() if isinstance(part, Product) for sign, _ in part.factors[1:]}
    return any(scope.notation(form) is not None for form in (*forms, *map(form_of_sign, signs)))


def _is_application(node: Node, scope: Scope) -> bool:
    """f(3) with f declared; softmax(z), σ(z), log p, which have a value if their letters have."""
    match node:
        case Function(arguments=arguments):
            return bool(arguments)
        case Root() | Product(factors=((_, Symbol(name="sigma")), ("", Group()))):
            return True
        case Product(factors=((_, name), ("", Group(items=items)))):
            return scope.function(name) is not None and all(map(is_closed, items))
    return False


def _has_unit(claim: Claim) -> bool:
    """Whether a unit stands behind one of the sides, or in one of them alone."""
    one, other = claim.one.side.node, claim.other.side.node
    return bool(claim.line.units.keys() & {claim.one.index, claim.other.index}) or has_units(one) != has_units(other)


def _basis_of_units(claim: Claim) -> str:
    """What a wrong claim between numbers rests on."""
    if claim.line.units.keys() & {claim.one.index, claim.other.index}:
        return "a unit behind it"
    return "units" if _has_unit(claim) else "closed"


def _says_scale(claim: Claim) -> bool:
    """Whether a word such as million or MB stands in or behind the claim: a plain unit scales nothing."""
    words = [part.text for known in (claim.one, claim.other) for part in known.side.node.walk() if isinstance(part, Words)]
    behind = claim.line.formulas[claim.other.index].after
    return any(map(says_scale, (*words, behind)))


def _has_code(claim: Claim) -> bool:
    """Whether a whole number begins with a zero: 0100, which is no decimal number."""
    numbers = (part.text for side in _sides(claim) for part in side.walk() if isinstance(part, Number))
    return any(text.isdigit() and len(text) > 1 and text.startswith("0") for text in numbers)


def _calls_pi(node: Node) -> bool:
    """π(2), where π may be a distribution or a policy."""
    match node:
        case Product(factors=((_, Symbol(name="pi")), ("", Group(open="(", items=(_,))))):
            return True
    return False


def _is_in_bytes(claim: Claim) -> bool:
    """Whether a number of things is said to be so many bytes: 512³ ≈ 1 GB."""
    units = [claim.line.units.get(known.index, "") for known in (claim.one, claim.other)]
    return len([unit for unit in units if _BYTES.match(unit)]) == 1 and not all(units)


def _is_in_another_unit(claim: Claim, verdict: Verdict) -> bool:
    judgement = verdict.judgement
    is_plain = judgement is not None and not judgement.shapes
    return judgement is not None and is_plain and _has_unit(claim) and _says_scale(claim) and is_rescaled(judgement)


@dataclass(frozen=True)
class _Meaning:
    """Another meaning that a claim may have which is wrong as it stands, and what comes of it then."""

    fits: Callable[[Decider, Claim, Verdict], bool]
    outcome: Outcome
    reason: str = ""


def _sides(claim: Claim) -> tuple[Node, Node]:
    return claim.one.side.node, claim.other.side.node


_REARRANGED = (
    _Meaning(lambda _, claim, verdict: is_rearranged(claim) and has_same_entries(verdict), Outcome.RIGHT),
    _Meaning(lambda _, claim, verdict: is_rearranged(claim), Outcome.UNDECIDED, "entries that are put in another order"),
)
_CLOSED_MEANINGS = (
    *_REARRANGED,
    _Meaning(lambda _, claim, verdict: sizes_agree(*_sides(claim)), Outcome.RIGHT),
    _Meaning(
        lambda _, claim, verdict: is_step_of_elimination(claim, verdict),
        Outcome.UNDECIDED,
        "two tables, which may be steps of an elimination or a determinant",
    ),
    _Meaning(
        lambda _, claim, verdict: (
            verdict.sets is None and not _is_pair(verdict) and len(set(map(is_set, _sides(claim)))) == 2
        ),
        Outcome.UNDECIDED,
        "a set beside a number: its size or its probability",
    ),
    _Meaning(
        lambda _, claim, verdict: (
            has_sliding_kernel(claim) and verdict.judgement is not None and bool(verdict.judgement.shapes)
        ),
        Outcome.UNDECIDED,
        "a kernel may slide beyond the edge",
    ),
    _Meaning(lambda _, claim, verdict: _is_in_another_unit(claim, verdict), Outcome.RIGHT),
    _Meaning(lambda decider, claim, _: decider.is_congruence(claim), Outcome.RIGHT),
    _Meaning(lambda _, claim, verdict: is_loose(claim, verdict), Outcome.RIGHT),
    _Meaning(lambda decider, claim, _: decider.is_meant(claim), Outcome.RIGHT),
    _Meaning(lambda decider, claim, _: decider.has_other_marks(claim), Outcome.RIGHT),
    _Meaning(lambda _, claim, verdict: _has_code(claim), Outcome.UNDECIDED, "digits with a zero before them: a code"),
    _Meaning(lambda decider, claim, _: decider.has_called_pi(claim), Outcome.UNDECIDED, "π is a function here"),
    _Meaning(
        lambda _, claim, verdict: _is_in_bytes(claim), Outcome.UNDECIDED, "how many bytes each number takes is not said"
    ),
    _Meaning(lambda decider, claim, _: decider.has_other_sigma(claim), Outcome.UNDECIDED, "σ may be another function here"),
    _Meaning(lambda _, claim, verdict: not has_comparable_units(claim), Outcome.UNDECIDED, "units whose worth is not known"),
)
"""For numbers alone, in this order."""


def _is_pair(verdict: Verdict) -> bool:
    """Whether a ± b was compared with both of its values."""
    return verdict.judgement is not None and isinstance(verdict.judgement.left, Table)


def _is_number_beside_table(judgement: Judgement | None) -> bool:
    return judgement is not None and isinstance(judgement.left, Table) != isinstance(judgement.right, Table)


_OPEN_MEANINGS = (
    *_REARRANGED,
    _Meaning(
        lambda _, claim, worst: bool(worst.mismatch and claim.used & set(called_names(_sides(claim)))),
        Outcome.UNDECIDED,
        "a letter that may be a function",
    ),
    _Meaning(
        lambda decider, claim, worst: not worst.mismatch and decider.is_aligned(claim),
        Outcome.UNDECIDED,
        "other numbers are put in for its letters",
    ),
    _Meaning(lambda decider, claim, _: decider.is_usual(claim), Outcome.RIGHT),
    _Meaning(
        lambda _, claim, worst: _is_number_beside_table(worst.judgement),
        Outcome.UNDECIDED,
        "a number where a table is due: its letters mean something else",
    ),
    _Meaning(
        lambda _, claim, worst: worst.judgement is not None and worst.judgement.wide,
        Outcome.UNDECIDED,
        "its values are rounded too much",
    ),
    _Meaning(
        lambda decider, claim, _: not decider.puts_values_in(claim),
        Outcome.UNDECIDED,
        "other numbers are put in for its letters",
    ),
)
"""With names, in this order."""
