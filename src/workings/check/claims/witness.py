"""What is told of two formulas that are not equal: the derivative, or a simple place at which a reader can try them."""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb

from workings.check.argument.roles import names_in
from workings.check.argument.words import decimal
from workings.check.claims.derivative import derivative_text
from workings.check.latex.calls import called_letters, uncalled_letters
from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import Derivative, Node, Product, Symbol
from workings.check.latex.weights import plain
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.scope import Definition, Rule, Scope
from workings.check.value.value import Mismatch, Table, Undecided

MARKS = {Symbol("T"), Symbol("top")}
"""Letters that are mostly signs: of a transpose."""
_SIMPLE = tuple(arb(n) for n in (2, 3, 1, 5, 4, 7))
"""Values that a reader can put in by hand."""


def derivative_truth(derivative: Derivative, other: Node, functions: Mapping[Node, Rule]) -> tuple[str, str]:
    """The derivative where it can be written, otherwise a place at which `other` is not it; and the sentence for it."""
    written = "" if derivative.body is None else derivative_text(derivative.body, derivative.by[0])
    if written:
        return written, f"The derivative is {written}."
    return place_of_difference(derivative, other, functions), "The derivative is another one."


def place_of_difference(one: Node, other: Node, functions: Mapping[Node, Rule]) -> str:
    """Whole numbers for the letters, with the two values there."""
    products = [part for side in (one, other) for part in side.walk() if isinstance(part, Product)]
    called = {plain(name) for product in products for name in called_letters(product)}
    letters = (names_in(one) | names_in(other)) - MARKS - (called - uncalled_letters(one) - uncalled_letters(other))
    names = sorted(letters, key=repr)
    for first in range(len(_SIMPLE)):
        values = {name: _SIMPLE[(first + index) % len(_SIMPLE)] for index, name in enumerate(names)}
        scope = Scope({name: [Definition(value, value, value, 0)] for name, value in values.items()}, functions)
        try:
            x, y = (evaluate(side, EvaluationContext(scope)) for side in (one, other))
        except (Undecided, Mismatch, ArithmeticError):
            continue
        if not isinstance(x, Table) and not isinstance(y, Table) and not x.overlaps(y):
            at = ", ".join(f"{one_line(name)} = {decimal(value)}" for name, value in values.items())
            return f"for {at}: left {decimal(x)}, right {decimal(y)}"
    return "another formula"
