"""What the checker knows of deep learning: one file for each idea.

`_RULES` look at one line: `rule(line, argument, scope)`. `AFTER` look at a document once all its lines are checked:
`rule(argument, scope)`. Imports claims and the rooms below it.
"""

from __future__ import annotations

from collections.abc import Callable

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.knowledge.convolution import check_convolutions
from workings.check.knowledge.distributions import check_shares
from workings.check.knowledge.divergence import check_divergence
from workings.check.knowledge.evidence import check_evidence
from workings.check.knowledge.families import check_families
from workings.check.knowledge.gradients import check_descent, check_gradient
from workings.check.knowledge.listings import check_listings
from workings.check.knowledge.named_layers import check_named_layers
from workings.check.knowledge.normalised import check_normalised
from workings.check.knowledge.perplexity import check_named, check_perplexity
from workings.check.value.scope import Scope
from workings.check.value.value import Mismatch, Undecided

_LineRule = Callable[[Line, Argument, Scope], None]
_RULES: tuple[_LineRule, ...] = (
    check_shares,
    check_divergence,
    check_normalised,
    check_gradient,
    check_descent,
    check_evidence,
    check_named,
)
"""Rules that look at a line with what was already found in it."""


def _check_lines(argument: Argument, scope: Scope) -> None:
    """Every rule at every line that is an equation."""
    for line in argument.lines:
        if len(line.sides) < 2:
            continue
        for rule in _RULES:
            try:
                rule(line, argument, scope)
            except (Mismatch, Undecided, ArithmeticError, RecursionError, ValueError):
                continue  # a value that cannot be computed refutes nothing


AFTER: tuple[Callable[[Argument, Scope], None], ...] = (
    _check_lines,
    check_families,
    check_listings,
    check_convolutions,
    check_named_layers,
    check_perplexity,
)
