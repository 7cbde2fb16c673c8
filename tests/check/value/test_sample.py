"""Formulas at random letters."""

from itertools import pairwise

import pytest

from workings.check.latex.parse import parse
from workings.check.latex.syntax import Node, Symbol
from workings.check.value.sample import Sample, differ
from workings.check.value.value import Undecided

LETTERS = "abcdfghklmnp"


def test_names_follow_their_formulas():
    forms: dict[Node, Node] = {Symbol("a"): parse("b + c")}
    assert differ(parse("2a"), parse("2b + 2c"), Sample(forms=forms)) is False
    assert differ(parse("2a"), parse("2b + 3c"), Sample(forms=forms)) is True


def test_formulas_inside_formulas_share_their_steps():
    """Each name is the sum of the next one, sixteen times: all of it would take 16¹¹ steps."""
    forms: dict[Node, Node] = {Symbol(name): parse(" + ".join([following] * 16)) for name, following in pairwise(LETTERS)}
    with pytest.raises(Undecided, match="too many steps"):
        differ(parse("a"), parse("2a"), Sample(forms=forms))
