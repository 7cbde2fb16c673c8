"""Identities and derivatives in letters: both sides at random places, where a certain difference refutes the line.

A line is taken for an identity only where it cannot well be anything else: a step of a derivation (a chain of three sides or
more), or a derivative of a formula that is written out or was declared before. Equations to be solved, definitions and
conditions are not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise

from workings.check.argument.argument import DROPPED, Argument
from workings.check.argument.contexts import Context
from workings.check.argument.lines import EQUAL, Line
from workings.check.argument.support import Support
from workings.check.claims.appearance import (
    OPAQUE,
    both_call,
    has_transpose,
    indexed_names,
    is_algebra,
    is_derivative,
    is_formula,
    is_letter,
    is_of_matrices,
    running_letters,
    sums_silently,
    vector_entries,
)
from workings.check.claims.slips import explain_in_letters, other_signs
from workings.check.claims.witness import MARKS, derivative_truth, place_of_difference
from workings.check.document.relation import Outcome, Role
from workings.check.latex.calls import SIGMOID, called_letters, uncalled_letters
from workings.check.latex.one_line import one_line
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import (
    Big,
    Derivative,
    Group,
    Labelled,
    Node,
    Number,
    Postfix,
    Product,
    Script,
    Sum,
    Symbol,
)
from workings.check.latex.weights import plain
from workings.check.value.brackets import with_brackets
from workings.check.value.names import CONSTANTS, is_closed, is_name, letters_of, running_letter
from workings.check.value.recurrences import Recurrence, index_of, is_turn, recurrence, turn
from workings.check.value.sample import Sample, differ, upper_ends
from workings.check.value.scope import Scope
from workings.check.value.value import Mismatch, Undecided

_WHYS = {
    "identity": "The two sides are not equal for all values of the letters.",
    "recurrence": "Unrolling the recurrence gives another formula.",
}
"""What is said of a wrong step."""
_SEEDS = (0, 1, 2, 3)
_SPECIAL = re.compile(
    r"orthogon|orthonorm|unitar|rotation|symmetric|SVD|singular value|spectral|project|idempotent", re.IGNORECASE
)
"""Conditions on matrices that make a transpose an inverse, or nothing, or a square the matrix itself."""
_EXPECTS = re.compile(r"expect(?:ed|ation)|random variable|variance", re.IGNORECASE)
_IMAGINARY = (Symbol("i"), Symbol("j"), Symbol("i", ("rm",)), Symbol("j", ("rm",)))
_CHANGES = (Symbol("Delta"), Symbol("delta"))
"""Δx is one name."""
_COMPLEMENT = (Symbol("c"), Symbol("C"), Symbol("complement"))
"""What stands above an event that does not happen."""
_STATED = re.compile(r"\b(?:for all|for any|identity|theorem|expand\w*|simplif\w*|recall|property|formula)\b[^.;!?]*$", re.I)
"""Words that make an equation an identity."""


@dataclass
class _Memory:
    """What one problem has said so far."""

    forms: dict[Node, Node] = field(default_factory=dict)
    """The formulas that names were set equal to."""
    recurrences: dict[Node, Recurrence] = field(default_factory=dict)
    changing: set[Node] = field(default_factory=set)
    """Letters that were differentiated: S in dS/dt."""
    bound_names: set[Node] = field(default_factory=set)
    """Names between which a condition is stated, so that they are not free."""


class Identities:
    """The lines of a document as identities, problem by problem."""

    def __init__(self, argument: Argument) -> None:
        self.argument = argument
        self.scope = Scope()
        self.memories: dict[Context, _Memory] = defaultdict(_Memory)
        self.memory = _Memory()

    @property
    def forms(self) -> dict[Node, Node]:
        """The formulas of names in the problem at hand."""
        return self.memory.forms

    @property
    def recurrences(self) -> dict[Node, Recurrence]:
        """The recurrences of the problem at hand."""
        return self.memory.recurrences

    @property
    def bound_names(self) -> set[Node]:
        """The names of the problem at hand that are not free."""
        return self.memory.bound_names

    def agree(self, one: Node, other: Node) -> bool:
        """Whether two formulas agree wherever their letters stand."""
        return all(self.differs(one, other, seed) is False for seed in _SEEDS)

    def check_line(self, line: Line) -> None:
        """Check the steps of a line, then remember what it defines."""
        self.memory = self.memories[line.context.problem]
        self.scope = self.argument.view(line).scope()
        for part in (part for side in line.sides for part in side.walk()):
            if isinstance(part, Derivative) and part.body is not None and is_letter(part.body):
                self.memory.changing.add(plain(part.body))
        supposed = self.argument.is_doubtful(line)
        level = "possible" if supposed else "likely"
        self.check_gradient(line, level)
        primed = self.derivative_of(line.sides[0])
        line = line if primed is None else replace(line, sides=[primed, *line.sides[1:]])
        for index in range(1, len(line.sides)):
            one, other = line.sides[index - 1], line.sides[index]
            if line.relations[index - 1] not in EQUAL - {"≈"} or (is_closed(one) and is_closed(other)):
                continue
            reading = self.argument.reading(line, index - 1)
            if reading.role in (*DROPPED, Role.INSTANTIATION) or reading.outcome is Outcome.RIGHT:
                continue
            inside_chain = index > 1 and line.relations[index - 2] in EQUAL
            if index == 1 and not is_closed(other) and turn(one, {}, self.recurrences) is not None:
                self.check_step(line, index, "recurrence", level)
            elif is_derivative(one) and not is_closed(other):
                self.check_step(line, index, "derivative", level)
            elif len(line.sides) > 2 and (inside_chain or self.is_derivation(line, index)):
                kind = "recurrence" if self.has_turns(one) else "identity"
                self.check_step(line, index, kind, level)
            elif index == 1 and len(line.sides) == 2 and not supposed:
                said = _STATED.search(line.formulas[0].before[-60:]) is not None
                if is_letter(one) or not (said or both_call(one, other) or is_of_matrices(one, other)):
                    self.check_near_miss(line)
                else:
                    sure = said or is_of_matrices(one, other)
                    self.check_step(line, index, "identity", "likely" if sure else "note", stated=True)
        self.remember(line)

    def is_derivation(self, line: Line, index: int) -> bool:
        """Whether a chain begins with a formula and holds nothing but formulas, as a derivation does."""
        plain_chain = all(relation in EQUAL for relation in line.relations)
        return index == 1 and plain_chain and not any(is_letter(side) or is_closed(side) for side in line.sides)

    def check_gradient(self, line: Line, level: str) -> None:
        """∇f = (…, …) with f(x, y) declared: one derivative for each entry."""
        one = line.sides[0]
        if len(line.sides) < 2 or line.relations[0] != "=" or not isinstance(one, Derivative) or one.by or one.body is None:
            return
        name = one.body.factors[0][1] if isinstance(one.body, Product) else one.body
        rule, parts = self.scope.function(name), vector_entries(line.sides[1])
        if rule is None or len(parts) != len(rule.names) or len(parts) < 2:
            return
        if isinstance(one.body, Product) and vector_entries(one.body.factors[-1][1]) != rule.names:
            return  # at a place, not everywhere
        for letter, part in zip(rule.names, parts, strict=True):
            derivative = Derivative(rule.body, (letter,))
            answers = [self.differs(derivative, part, seed) for seed in _SEEDS]
            if all(answers) and self.free_letters(part) <= self.free_letters(rule.body):
                truth, sentence = derivative_truth(derivative, part, self.scope.functions)
                why = f"By {one_line(letter)}: {sentence}"
                self.argument.add(line, 0, 1, level, "derivative", truth, why, at=part, basis="derivative")

    def derivative_of(self, node: Node) -> Node | None:
        """The derivative that f'(x) or σ'(x) stands for, if f is known."""
        match node:
            case Product(factors=((_, Postfix(body=name, sign="'")), ("", Group(items=(Symbol() as letter,))))):
                rule = self.scope.function(name)
                if rule is not None and rule.names == (letter,):
                    return Derivative(rule.body, (letter,), "d", span=node.span)
                if name == Symbol("sigma"):
                    body = Product((("", name), ("", Group("(", (letter,), ")"))))
                    return Derivative(body, (letter,), "d", span=node.span)
        return None

    def has_turns(self, node: Node) -> bool:
        """Whether a turn of a recurrence stands in a formula."""
        return bool(self.recurrences) and any(turn(part, {}, self.recurrences) is not None for part in node.walk())

    def check_near_miss(self, line: Line) -> None:
        """a = b in the same letters, which would hold for all of them but for one sign or one pair of brackets.

        Without that it may be an equation to be solved.
        """
        one, other = line.sides
        if is_letter(one) or not self.is_testable(one, other, "near miss"):
            return
        answers = [self.differs(one, other, seed) for seed in _SEEDS]
        if all(answer is False for answer in answers):
            self.argument.decide(line, 0, True)
        if not all(answers):
            return
        for kind, repaired in [
            *(("sign", node) for node in other_signs(other)),
            *(("brackets", node) for node in with_brackets(one)),
        ]:
            sides = (one, repaired) if kind == "sign" else (repaired, other)
            if all(self.differs(*sides, seed) is False for seed in _SEEDS):
                how = "another sign" if kind == "sign" else "brackets"
                why = f"It holds for all letters with {how}: {one_line(repaired)}."
                self.argument.add(
                    line,
                    0,
                    1,
                    "likely",
                    "identity" if kind == "sign" else "brackets",
                    one_line(repaired),
                    why,
                    basis="near miss",
                )
                return

    def check_step(self, line: Line, index: int, kind: str, level: str, stated: bool = False) -> None:
        """One step of a derivation; a stated identity holds whatever conditions there are on its letters."""
        one, other = line.sides[index - 1], line.sides[index]
        if self.is_conditioned(line):
            return
        if not self.is_testable(one, other, "near miss" if stated else kind):
            return
        one = self.of_function(one)
        answers = [self.differs(one, other, seed) for seed in _SEEDS]
        if any(answer is None for answer in answers):
            return
        wrong = all(answers) and not self.reads_otherwise(line, index)
        self.argument.decide(line, index - 1, not wrong)
        if wrong:
            if kind == "derivative" and isinstance(one, Derivative):
                truth, why = derivative_truth(one, other, self.scope.functions)
            else:
                truth = place_of_difference(one, other, self.scope.functions)
                why = _WHYS[kind]
            algebra = is_algebra(one) and is_algebra(other)
            basis = (
                "algebra" if algebra else "matrices" if is_of_matrices(one, other) else "stated identity" if stated else kind
            )
            slip = explain_in_letters(one, other, self.agree)
            if slip is not None:
                why = f"{why} {slip.sentence}"
            support = {Support.SLIP} if slip is not None else set()
            if self.has_right_neighbours(line, index - 1):
                support.add(Support.CHAIN)
            self.argument.add(line, index - 1, index, level, kind, truth, why, basis=basis, support=support)

    def has_right_neighbours(self, line: Line, index: int) -> bool:
        """Whether the steps before and after relation `index` of a chain are right."""
        beside = [i for i in (index - 1, index + 1) if 0 <= i < len(line.relations)]
        return bool(beside) and all(self.argument.reading(line, i).outcome is Outcome.RIGHT for i in beside)

    def reads_otherwise(self, line: Line, index: int) -> bool:
        """Whether the step holds with another reach of a slash, a function or a sum: log 2a² as log(2a²)."""
        for wide, long in ((False, True), (True, False), (True, True)):
            try:
                one, other = (
                    parse(line.formulas[i].text[slice(*line.sides[i].span)], wide_slash=wide, long_reach=long)
                    for i in (index - 1, index)
                )
            except ParseError:
                continue
            if all(self.differs(self.of_function(one), other, seed) is False for seed in _SEEDS):
                return True
        one, other = line.sides[index - 1], line.sides[index]
        readings = {(_to_the_end(one), other), (one, _to_the_end(other)), (_to_the_end(one), _to_the_end(other))}
        return any(self.agree(self.of_function(a), b) for a, b in readings - {(one, other)})

    def of_function(self, node: Node) -> Node:
        """df/dx with f(x) declared is the derivative of its formula."""
        if isinstance(node, Derivative) and node.body is not None:
            rule = self.scope.function(node.body)
            if rule is not None and node.by and (node.by[0] in rule.names or node.by[0] in rule.body.walk()):
                return Derivative(rule.body, node.by, node.sign, span=node.span)
        return node

    def is_conditioned(self, line: Line) -> bool:
        """Whether transposes stand in a line, and the text speaks of matrices for which they are special."""
        turned = any(map(has_transpose, line.sides))
        return turned and _SPECIAL.search(self.argument.window(line)) is not None

    def is_testable(self, one: Node, other: Node, kind: str) -> bool:
        """Whether both sides are formulas in the same free letters."""
        sides = self.with_forms((self.of_function(one), other))
        factors = set[Node]().union(*map(uncalled_letters, sides))
        if any(map(_is_complex, (one, other))):
            return False
        if any(map(_has_operator, sides)) and _EXPECTS.search(self.argument.document.text):
            return False
        for side in sides:
            for part in side.walk():
                if isinstance(part, OPAQUE) or (isinstance(part, Labelled) and kind == "identity"):
                    return False
                if isinstance(part, Product) and self.calls_unknown(part, factors | {Symbol("sigma")}):
                    return False
                if isinstance(part, Postfix) and part.sign == "'":
                    return False
                if isinstance(part, Script) and part.above in _COMPLEMENT:
                    return False
                if isinstance(part, Product) and (sums_silently(part) or any(f in _CHANGES for _, f in part.factors)):
                    return False
        if is_letter(other) or (kind == "identity" and is_letter(one)):
            return False
        if kind == "recurrence":
            known = self.recurrence_letters()
            return self.free_letters(other) <= known and (is_letter(one) or self.free_letters(one) <= known | MARKS)
        signs = MARKS | ({SIGMOID} if SIGMOID not in factors else set())
        left, right = self.free_letters(self.of_function(one)) - signs, self.free_letters(other) - signs
        if kind == "derivative":
            if self.is_differential_equation(one, other):
                return False
            return self.depends_on_variable(self.of_function(one)) and right <= left | self.variables(one)
        running = running_letters((one, other))
        if indexed_names(one, running) != indexed_names(other, running):
            return False  # x_n and x_0 may be bound to each other by what was said before
        return bool(left) and left == right and not (kind == "identity" and left & self.bound_names)

    def with_forms(self, nodes: tuple[Node, ...]) -> list[Node]:
        """These formulas, and those behind the names in them."""
        found, waiting = list[Node](), list(nodes)
        seen: set[Node] = set()
        while waiting:
            node = waiting.pop()
            found.append(node)
            for name in {plain(part) for part in node.walk() if isinstance(part, Symbol | Script)} - seen:
                seen.add(name)
                if name in self.forms:
                    waiting.append(self.forms[name])
        return found

    def is_differential_equation(self, one: Node, other: Node) -> bool:
        """Whether what is differentiated stands on the right too, or holds a letter that changes with the variable."""
        if not isinstance(one, Derivative) or one.body is None or self.of_function(one) is not one:
            return False
        letters = {plain(letter) for letter in letters_of(one.body)} - self.variables(one)
        if is_letter(one.body) and plain(one.body) in {plain(part) for part in other.walk()}:
            return True
        changing = self.memory.changing & letters
        return bool(changing) and not (is_letter(one.body) and plain(one.body) in self.forms)

    def calls_unknown(self, product: Product, factors: set[Node]) -> bool:
        """Whether a letter stands before brackets as a function does, and is neither known nor a factor elsewhere."""
        return any(
            is_name(name) and self.scope.function(name) is None and plain(name) not in factors
            for name in called_letters(product)
        )

    def free_letters(self, node: Node) -> set[Node]:
        """The letters of a formula, with the letters of the formulas behind them."""
        found: set[Node] = set()
        waiting = [plain(letter) for letter in letters_of(node)]
        while waiting:
            name = waiting.pop()
            if name in found or name in CONSTANTS:
                continue
            found.add(name)
            form = self.forms.get(name)
            if form is not None:
                waiting += [plain(letter) for letter in letters_of(form)]
        return found

    def recurrence_letters(self) -> set[Node]:
        """The letters that a recurrence and its beginning bring in."""
        found: set[Node] = set()
        for base, rule in self.recurrences.items():
            found |= self.free_letters(rule.body) | {base}
            found |= {letter for form in self.forms.values() for letter in self.free_letters(form)}
        return found

    def depends_on_variable(self, node: Node) -> bool:
        """Whether the formula under a derivative holds what it is derived by."""
        if not isinstance(node, Derivative) or node.body is None or not node.by:
            return False
        by = plain(node.by[0])
        waiting: list[Node] = [node.body]
        seen: set[Node] = set()
        while waiting:
            for part in waiting.pop().walk():
                name = plain(part) if isinstance(part, Symbol | Script) else part
                if name == by or (isinstance(name, Script) and isinstance(by, Script) and name.base == by.base):
                    return True
                if isinstance(part, Symbol | Script) and name in self.forms and name not in seen:
                    seen.add(name)
                    waiting.append(self.forms[name])
                for function in called_letters(part) if isinstance(part, Product) else []:
                    rule = self.scope.function(function)
                    if rule is not None and function not in seen:
                        seen.add(function)
                        waiting.append(rule.body)
        return False

    def variables(self, node: Node) -> set[Node]:
        """What a derivative is taken by."""
        return {plain(by) for part in node.walk() if isinstance(part, Derivative) for by in part.by}

    def sample(self, nodes: tuple[Node, ...], seed: int) -> Sample:
        """A sample for these formulas."""
        every = nodes + tuple(self.forms.values())
        return Sample(
            functions=self.scope.functions,
            seed=seed,
            forms=self.forms,
            whole=upper_ends(every),
            recurrences=self.recurrences,
            matrices=is_of_matrices(*nodes),
        )

    def differs(self, one: Node, other: Node, seed: int) -> bool | None:
        """Whether the sides differ at one place."""
        try:
            return differ(one, other, self.sample((one, other), seed))
        except (Undecided, Mismatch, RecursionError):
            return None

    def is_identity(self, one: Node, other: Node) -> bool:
        """Whether an equation holds for all letters, or is meant to: then it is no condition on them."""
        return both_call(one, other) or all(self.differs(one, other, seed) is False for seed in _SEEDS)

    def is_initial(self, name: Node) -> bool:
        """Whether a value of this name can be where a recurrence begins."""
        found = index_of(name)
        return found is not None and (found[0] not in self.recurrences or found[1] == Number("0"))

    def remember(self, line: Line) -> None:
        """Names that are set equal to a formula follow it; other equations make their letters dependent."""
        for index in range(1, len(line.sides)):
            if line.relations[index - 1] not in EQUAL:
                continue
            one, other = line.sides[index - 1], line.sides[index]
            if index == 1 and (found := recurrence(one, other)) is not None:
                self.recurrences[found[0]] = found[1]
                for name in [name for name in self.forms if is_turn(name, found[0])]:
                    del self.forms[name]
            elif index == 1 and is_name(one) and isinstance(one, Symbol | Script):
                started = is_closed(other) and self.is_initial(plain(one))
                if (is_formula(other) or started) and plain(one) not in self.free_letters(other):
                    self.forms[plain(one)] = other
                else:
                    self.forms.pop(plain(one), None)
                    self.memory.bound_names |= {plain(one)} if not is_closed(other) else set()
            elif index == 1 and len(line.sides) == 2 and not is_name(one) and not self.is_identity(one, other):
                self.memory.bound_names |= self.free_letters(one) | self.free_letters(other)


def _to_the_end(node: Node) -> Node:
    """Σ a + b as Σ(a + b): a sum that reaches over the terms behind it."""
    node = node.rebuilt(_to_the_end)
    if not isinstance(node, Sum):
        return node
    for index, (sign, term) in enumerate(node.terms[:-1]):
        if isinstance(term, Big) and term.operator == "∑":
            body = replace(term, body=Sum((("+", term.body), *node.terms[index + 1 :]), span=term.body.span))
            return replace(node, terms=(*node.terms[:index], (sign, body)))
    return node


def _is_complex(node: Node) -> bool:
    """Whether i or j stands in it as a factor or in an exponent, as the imaginary unit does; not as an index."""
    running = {letter for part in node.walk() if isinstance(part, Big) and (letter := running_letter(part)) is not None}
    indices = {
        id(part) for script in node.walk() if isinstance(script, Script) and script.below for part in script.below.walk()
    }
    return any(part in _IMAGINARY and part not in running and id(part) not in indices for part in node.walk())


def _has_operator(node: Node) -> bool:
    """Whether E stands before something without a sign between them, as an expectation does: E X, E_y(a + b)."""
    return any(
        isinstance(part, Product) and any(_is_e(one) and not sign for (_, one), (sign, _) in pairwise(part.factors))
        for part in node.walk()
    )


def _is_e(node: Node) -> bool:
    base = node.base if isinstance(node, Script) else node
    return isinstance(base, Symbol) and base.name == "E"
