"""The role of each relation of a chain.

Evidence in this order: the sign (∈ : ← ⇒), the place in the chain (a later = is a step), the form of the sides (name =
number, name = formula, formula = number), what is known in scope, whether an old and a new formula of a name agree, and only
then the words around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from workings.check.argument.clause import Clause, Cue
from workings.check.argument.lines import EQUAL, ORDER, Line
from workings.check.document.relation import Role
from workings.check.latex.calls import called_letters
from workings.check.latex.syntax import (
    Big,
    Derivative,
    Function,
    Group,
    Matrix,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.latex.weights import plain
from workings.check.value.names import CONSTANTS, is_closed, is_name, is_number, letters_of, unpacked_names
from workings.check.value.notation import own_notation
from workings.check.value.recurrences import recurrence
from workings.check.value.rounding import units
from workings.check.value.scope import is_transpose

SUPPOSED = "it is supposed"
_LINKS = {"⇒", "⇔", "→", "⟹", "⟺", "⟶", "⟸", "⇐", "↔"}
_DECLARES = {"∈", "∉", "⊂", "⊆", "~", "∼", "↦", "∋", "⊃", "⊥", "∝", "≡"}
DECIDED = {"∈", "∉", "⊂", "⊆", "⊃", "⊇", "≡"}
"""Signs that declare letters, and claim something of numbers."""
_RANGE = re.compile(r"\s*[\d\w{}]+\s*(?:,\s*[\d\w]+\s*)*,?\s*(?:\\[cl]?dots|…|\.\.\.)|\s*\d\s*,\s*\d\s*(?:,|$)")
"""1, …, n behind i =."""
_CODE = re.compile(r"[.:(\[=* ]")
"""What stands in code and in no name."""
_STEP_LETTERS = "tknij"


@dataclass(frozen=True)
class Known:
    """What is known where a relation stands."""

    values: Set[Node]
    """The names that have a value."""
    formulas: Mapping[Node, Node]
    """The names that were set equal to a formula."""
    agree: Callable[[Node, Node], bool]
    """Whether two formulas agree wherever their letters stand."""
    has_rule: Callable[[Node], bool] = lambda _: True
    """Whether it is known how to compute a function."""


Decision = tuple[Role, str]
"""A role, and what made it that."""


def role(line: Line, index: int, clause: Clause, known: Known) -> Decision:
    """The role of relation `index` of a line."""
    relation, one, other = line.relations[index], line.sides[index], line.sides[index + 1]
    before = line.relations[:index]
    if relation in DECIDED and is_closed(one) and is_closed(other) and not (clause.is_denied or clause.is_asked):
        return Role.CLAIM, "numbers on both sides"
    if relation in _DECLARES or relation == ":" or (relation in _LINKS and ":" in before):
        return Role.DECLARATION, f"the sign {relation}"
    if relation in _LINKS:
        return _arrow_role(line, index, clause)
    if relation == "←":
        return Role.RECURRENCE, "an update: ←"
    if ":" in before:
        return Role.CONDITION, "behind a colon"
    if _has_question_mark(line, index) or (clause.is_denied and not _is_assignment(one, relation)):
        return Role.HYPOTHETICAL, "the words right beside it deny or ask it"
    if clause.is_supposed and index == 0 and is_closed(one) and is_closed(other):
        return Role.HYPOTHETICAL, SUPPOSED
    if clause.is_asked and (not is_name(line.sides[0]) or relation in ORDER):
        return Role.HYPOTHETICAL, "it is asked"
    if is_program(one) or is_program(other):
        return Role.GIVEN, "what a program says"
    if relation in ORDER:
        return _order_role(relation, one, other, clause)
    if before and before[-1] in _DECLARES:
        return Role.DECLARATION, "inside a declaration"
    if (clause.is_fragment or line.is_cut) and index == 0:
        return Role.FRAGMENT, "its left side begins outside of the formula"
    if before and before[-1] in EQUAL:
        return _later_role(line, index, clause)
    return _first_role(line, index, clause, known)


def _is_assignment(one: Node, relation: str) -> bool:
    """x = 4: a name that gets a value, whatever is said of it."""
    is_plain = is_name(one) and not is_closed(one) and not is_call(one) and not isinstance(one, Derivative)
    return relation in EQUAL and is_plain


def _arrow_role(line: Line, index: int, clause: Clause) -> Decision:
    one, other = line.sides[index], line.sides[index + 1]
    if line.relations[index] == "→" and len(line.relations) == 1 and is_name(one):
        if clause.cue is not Cue.THEN and not is_name(other):
            return Role.CONDITION, "a name that tends to a value"
        return Role.CLAIM, "a limit that is concluded"
    return Role.LINK, "an arrow"


def _order_role(relation: str, one: Node, other: Node, clause: Clause) -> Decision:
    if all(is_closed(side) or side in CONSTANTS for side in (one, other)):
        return Role.CLAIM, "numbers on both sides"
    is_bound = clause.cue is not Cue.THEN and is_name(one) and (is_closed(other) or is_name(other))
    if clause.is_conditional or clause.cue in (Cue.IF, Cue.LET) or is_bound:
        return Role.CONDITION, "a bound on a name"
    if relation in ("≪", "≫", "≠"):
        return Role.CONDITION, f"the sign {relation} beside letters"
    return Role.CLAIM, "an inequality that is concluded"


def _later_role(line: Line, index: int, clause: Clause) -> Decision:
    """A step inside a chain: a claim, or numbers put in for letters."""
    one, other = line.sides[index], line.sides[index + 1]
    flat = all((is_name(side) or is_literal(side)) and not is_call(side) for side in line.sides)
    if flat and not is_literal(one) and clause.cue in (Cue.LET, Cue.IF, Cue.NONE):
        if is_literal(line.sides[-1]):
            return Role.GIVEN, "names and one number"
        return Role.CONDITION, "names alone"
    if line.relations[index] == ":=":
        return Role.DEFINITION, "the sign :="
    if not is_closed(one) and is_closed(other) and not is_literal(other):
        return Role.INSTANTIATION, "a calculation in numbers after a formula in letters"
    return Role.CLAIM, "a step of a chain"


def _first_role(line: Line, index: int, clause: Clause, known: Known) -> Decision:
    """The first relation of a run."""
    one, other = line.sides[index], line.sides[index + 1]
    name = plain(one) if is_name(one) else None
    match one:  # χ² = 2.32, R² = 0.25, σ² = 4: a square that is a name of its own
        case Script(base=Symbol() as base, above=Number(text="2")) if plain(base) not in known.values and is_literal(other):
            name = one
    if _is_range(line, index):
        return Role.CONDITION, "an index and its range"
    if _is_update(one, other):
        return Role.RECURRENCE, "the same name at an earlier index"
    if clause.cue is Cue.GOAL and not is_literal(other) and name is None and not (is_closed(one) and is_closed(other)):
        return Role.GOAL, "what is to be shown"
    if own_notation(one, other, line.relations[index] == ":=" or clause.cue in (Cue.LET, Cue.NAME)) is not None:
        return Role.RULE, "notation of the author's, explained by a formula in its letters"
    if line.relations[index] == ":=":
        return Role.DEFINITION, "the sign :="
    if any(isinstance(part, Derivative) for part in one.walk()):
        if isinstance(other, Matrix) and clause.cue is Cue.NAME:
            return Role.DEFINITION, "a derivative that is introduced"
        if name is not None and _is_underived(one, other, known):
            return Role.DEFINITION, "a derivative, and the rule for it"
        return Role.CLAIM, "a derivative"
    is_told = is_set(other) and not is_closed(one) and not names_in(one) <= known.values
    if name is not None or is_call(one) or is_told or unpacked_names(one):
        after_link = index > 0 and line.relations[index - 1] in _LINKS
        return _named_role(name, one, other, clause, known, after_link)
    if is_closed(one):
        if is_closed(other):
            return Role.CLAIM, "numbers on both sides"
        return Role.EQUATION, "a number, and a formula with an unknown"
    if is_closed(other):
        return _number_role(one, other, clause, known)
    return _letters_role(one, other, clause)


def _letters_role(one: Node, other: Node, clause: Clause) -> Decision:
    """formula = formula."""
    if clause.cue is Cue.GOAL:
        return Role.GOAL, "what is to be shown"
    if clause.cue is Cue.SOLVE:
        return Role.EQUATION, "the words around it"
    left, right = letters_of(one), letters_of(other)
    if clause.cue in (Cue.IF, Cue.LET) and left != right:
        return Role.CONDITION, "letters that are restricted"
    if is_name(other) and isinstance(one, Sum | Product) and right - left and left - right:
        return Role.EQUATION, "a combination of unknowns, and a name"
    return Role.CLAIM, "two formulas"


def _number_role(one: Node, other: Node, clause: Clause, known: Known) -> Decision:
    """formula = number, or formula = calculation."""
    literal, names = is_literal(other), names_in(one)
    if names and names <= known.values:
        return (Role.CLAIM, "its letters have values") if literal else (Role.INSTANTIATION, "its letters have values")
    if not literal:
        return Role.INSTANTIATION, "a calculation in numbers after a formula in letters"
    if clause.cue in (Cue.IF, Cue.LET):
        return Role.CONDITION, "letters that are restricted"
    if any(map(is_call, one.walk())) and clause.cue is not Cue.SOLVE and not _has_words(one):
        return Role.CLAIM, "a function with a value"
    return Role.EQUATION, "a formula with an unknown, and a number"


def _named_role(name: Node | None, one: Node, other: Node, clause: Clause, known: Known, after_link: bool) -> Decision:
    """name = something."""
    cue, is_known = clause.cue, name in known.values or name in known.formulas
    if is_literal(other) or (is_set(other) and is_closed(other)):
        if after_link:
            return Role.CLAIM, "a result behind an arrow"
        if cue is Cue.IF and (_has_words(other) or (is_call(one) and not clause.is_answer)):
            return Role.CONDITION, "an event"
        concludes = (
            _is_computable(one, known)
            or (is_call(one) and cue in (Cue.THEN, Cue.ANSWER))
            or (clause.is_answer and (is_known or cue in (Cue.THEN, Cue.ANSWER)))
        )
        if cue is Cue.LET or not concludes:
            return Role.GIVEN, "a name and a number"
        return Role.CLAIM, "a result"
    if after_link:
        return Role.CLAIM, "behind an arrow"
    if is_closed(other):
        if name in known.formulas:
            return Role.INSTANTIATION, "the name has a formula, and this is a calculation in numbers"
        return Role.DEFINITION, "a name and a calculation"
    if cue is Cue.IF and ((is_name(other) and not is_call(other)) or _has_words(other)):
        return Role.CONDITION, "names that are restricted"
    if cue is Cue.GOAL:
        return Role.GOAL, "what is to be shown"
    if is_call(one) and cue is not Cue.NAME and _same_head(one, other):
        return Role.CLAIM, "a law: one function on both sides"
    old = known.formulas.get(name) if name is not None else None
    if old is not None and old != other and known.agree(old, other):
        return Role.CLAIM, "another formula for the same name"
    return Role.DEFINITION, "a name and a formula"


def _is_computable(one: Node, known: Known) -> bool:
    """Whether it is a call of something that can be computed: max(1, 2), f(2) with f declared; not P(A)."""
    match one:
        case Product(factors=((_, name), ("", Group()))):
            return known.has_rule(name)
    return is_call(one)


def _is_underived(one: Node, other: Node, known: Known) -> bool:
    """Whether derivatives stand on both sides, as in the chain rule, or ∂ of something of which nothing is known."""
    derivative = one.base if isinstance(one, Script) else one
    if not isinstance(derivative, Derivative) or derivative.body is None:
        return False
    chained = any(isinstance(part, Derivative) for part in other.walk())
    return chained or (derivative.sign == "∂" and plain(derivative.body) not in known.formulas)


def is_literal(node: Node) -> bool:
    """A printed value: a number, a list, a table of numbers; a number with its unit."""
    match node:
        case Group(open="(" | "[" | "{", items=items) if items:
            return all(is_literal(item) or _is_fraction(item) for item in items)
        case Matrix(rows=rows):
            return all(is_literal(entry) or _is_fraction(entry) for row in rows for entry in row)
        case Script(base=base, above=above) if above is not None and is_transpose(above):
            return is_literal(base)
    return is_number(node) or (units(node) is not None and is_closed(node))


def _is_fraction(node: Node) -> bool:
    node = node.terms[0][1] if isinstance(node, Sum) and len(node.terms) == 1 else node
    return isinstance(node, Quotient) and is_number(node.above) and is_number(node.below)


def _head_of_call(node: Node) -> Node | str | None:
    """P of P(A), Var of Var(s), ‖ of ‖x‖; none if it is no call."""
    match node:
        case Function(name=name, arguments=arguments) if arguments:
            return name
        case Product(factors=((_, name), ("", Group()))) if is_name(name):
            return plain(name)
        case Group(open="|" | "‖" | "‖‖"):
            return "norm"
        case Script(base=base) if not isinstance(base, Symbol):
            return _head_of_call(base)
    return None


def is_call(node: Node) -> bool:
    """Whether it is a function of something."""
    return _head_of_call(node) is not None


def _same_head(one: Node, other: Node) -> bool:
    head = _head_of_call(one)
    return any(_head_of_call(part) == head for part in other.walk() if is_call(part))


def names_in(node: Node) -> set[Node]:
    """The names of a formula, indices kept: x_1 and x_2 are two."""
    match node:
        case Symbol():
            return {plain(node)} if letters_of(node) else set()
        case Script(base=base, below=below, above=above) if is_name(node):
            if above is not None and is_transpose(above):
                return names_in(base) if below is None else {plain(Script(base, below, None))}
            return {plain(node)}
        case Script(base=Group(open="⟨" | "‖") as base, above=None):
            return names_in(base)  # the index belongs to the brackets
        case Big():
            return {plain(letter) for letter in letters_of(node)}
    found: set[Node] = set()
    for child in node.children():
        found |= names_in(child)
    return found


def _has_words(node: Node) -> bool:
    """Whether words or a prime stand in it."""
    return any(isinstance(part, Words) or (isinstance(part, Postfix) and part.sign == "'") for part in node.walk())


def is_program(node: Node) -> bool:
    """Whether a program speaks in it: code such as Q.shape[-1], a function of its own such as find_rows(x)."""
    for part in node.walk():
        if isinstance(part, Symbol) and "tt" in part.style and _CODE.search(part.name):
            return True
        if isinstance(part, Product) and any(map(_is_typed, called_letters(part))):
            return True
    return False


def _is_typed(name: Node) -> bool:
    name = name.base if isinstance(name, Script) else name
    return isinstance(name, Symbol) and "tt" in name.style


def is_set(node: Node) -> bool:
    """{1, 2, 3}."""
    return isinstance(node, Group) and node.open == "{"


def _has_question_mark(line: Line, index: int) -> bool:
    """Whether the relation carries a question mark."""
    one, other = line.formulas[index], line.formulas[index + 1]
    return one is other and "?" in one.text[line.sides[index].span[1] : line.sides[index + 1].span[0]]


def _is_range(line: Line, index: int) -> bool:
    """i = 1, …, n: a letter that begins at a number and goes on with dots."""
    one, other = line.sides[index], line.sides[index + 1]
    if not isinstance(one, Symbol) or len(one.name) > 1 or len(line.sides) != 2:
        return False
    return _RANGE.match(line.formulas[index + 1].text[other.span[0] : other.span[1] + 40]) is not None


def _is_update(one: Node, other: Node) -> bool:
    """x_{t+1} = g(x_t), k = k + 1, h^{(t)} = f(h^{(t-1)}): the same letter on the right, with another index in letters."""
    if recurrence(one, other) is not None:
        return True
    if isinstance(one, Symbol):
        return isinstance(other, Sum) and any(term == one for _, term in other.terms)
    own = _indexed(one)
    if own is None:
        return False
    turns = [found[1] for part in other.walk() if (found := _indexed(part)) and found[0] == own[0] and found[1] != own[1]]
    parts = [part for index in ([own[1], *turns] if turns else []) for part in index.walk()]
    return any(isinstance(part, Symbol) and part.name in _STEP_LETTERS for part in parts) and any(
        isinstance(part, Sum) for part in parts
    )


def _indexed(node: Node) -> tuple[Node, Node] | None:
    """The letter and the index of x_t, x^{(t)}, α_t(i)."""
    if isinstance(node, Product) and len(node.factors) == 2 and isinstance(node.factors[1][1], Group):
        node = node.factors[0][1]
    if not isinstance(node, Script) or not isinstance(node.base, Symbol):
        return None
    index = node.above if isinstance(node.above, Group) else node.below
    return None if index is None else (node.base, index)
