"""Words that are written as products, by the letters that a document speaks of alone."""

from __future__ import annotations

import pytest

from workings.check.latex.parse import parse
from workings.check.latex.spoken import letters_alone, words_as_names


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("SE = 2", ""), ("n p = np", "np"), ("x_k", "x"), ("2n + df", "n"), ("f(x) = y^z", "fxyz"), (r"\frac{a}{bc}", "a"),
        ("n^2", "n"), (r"\text{MSE} + 1", ""),
    ],
)  # fmt: skip
def test_letters_that_stand_alone(text: str, letters: str) -> None:
    assert letters_alone(parse(text)) == set(letters)


@pytest.mark.parametrize(
    ("text", "spoken", "meant"),
    [
        ("SE + np", "np", r"\text{SE} + np"),
        ("2SE^2", "", r"2\text{SE}^2"),
        ("Perc_{VR}(x)", "x", r"\text{Perc}_{VR}(x)"),
        ("df = n - 1", "n", r"\text{df} = n - 1"),
        ("df = n - 1", "fn", "df = n - 1"),
        ("a b", "", "a b"),
        ("x_{ij}", "x", "x_{ij}"),
        ("3MSE + x", "M", r"3\text{MSE} + x"),
    ],
)
def test_words_become_names(text: str, spoken: str, meant: str) -> None:
    assert words_as_names(parse(text), set(spoken)) == parse(meant)


def test_greek_letters_are_letters_by_name() -> None:
    assert letters_alone(parse(r"\text{MSE} + \alpha")) == {"alpha"}


def test_a_name_stands_where_its_letters_stood() -> None:
    text = "1 + SE_1"
    name = words_as_names(parse(text), set()).children()[1]
    assert text[slice(*name.span)] == "SE_1"
