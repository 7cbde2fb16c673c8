"""The messages of the errors, and that they survive a copy."""

import pickle

import pytest

from workings import errors
from workings.errors import ParseError, WorkingsError


@pytest.mark.parametrize("name", ["ShapeError", "ParseError", "UndecidedError", "DomainError", "BudgetError"])
def test_one_base(name):
    assert issubclass(getattr(errors, name), WorkingsError)


def test_the_caret_stands_under_the_position():
    error = ParseError("Expected ')'.", text="2*(1 + w", position=8)
    assert str(error) == "Expected ')'.\n  2*(1 + w\n          ^"
    assert (error.text, error.position) == ("2*(1 + w", 8)


def test_only_the_line_with_the_mistake_is_printed():
    error = ParseError("Two signs.", text="1 0\n0 +*1\n2 2", position=7)
    assert str(error) == "Two signs.\n  0 +*1\n     ^"


def test_a_parse_error_can_be_sent_between_processes():
    error = ParseError("Expected ')'.", text="(", position=1)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
