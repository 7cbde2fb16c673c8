"""The value of a formula under one reading, with the definitions that were carried so far.

`evaluate(node, EvaluationContext(scope, reading))` returns a number or a table. `Undecided` says that there is no value
to compute (an unknown letter, a function without a definition, dots), `Mismatch` that the shapes do not fit together.
"""

from __future__ import annotations

from dataclasses import replace

from workings.check.latex.syntax import Node
from workings.check.value.evaluation import atoms, brackets, functions, products, scripts, sums  # noqa: F401 (they fill the rules)
from workings.check.value.evaluation.atoms import looks_rounded
from workings.check.value.evaluation.context import Budget, EvaluationContext, value
from workings.check.value.value import Value

__all__ = ["EvaluationContext", "evaluate", "looks_rounded"]


def evaluate(node: Node, context: EvaluationContext) -> Value:
    """The value of `node`, or `Undecided`, or `Mismatch`.

    >>> from workings.check.latex.parse import parse
    >>> from workings.check.value.scope import Scope
    >>> evaluate(parse(r"2^3 + \\frac{1}{2}"), EvaluationContext(Scope()))
    8.50000000000000
    """
    if context.budget is None:
        context = replace(context, budget=Budget())
    return value(node, context)
