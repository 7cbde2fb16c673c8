"""Formulas in prose with signs of mathematics: read, or told as unread, and never passed over."""

import pytest

from tests.check.said import report, said
from workings.check.extract import read_text

PAIRS = [
    ("|−3| = 3", "|−3| = 4"),
    ("⌈3.2⌉ = 4", "⌈3.2⌉ = 3"),
    ("The ceiling is ⌈3.2⌉ = 4 here.", "The ceiling is ⌈3.2⌉ = 3 here."),
    ("[0,2] ∩ [1,3] = [1,2]", "[0,2] ∩ [1,3] = [1,3]"),
    ("{1,2} ∪ {3} = {1,2,3}", "{1,2} ∪ {3} = {1,2}"),
    ("5 € + 3 € = 8 €", "5 € + 3 € = 9 €"),
    ("180° − 50° − 60° = 70°", "180° − 50° − 60° = 80°"),
    ("0,5 + 0,25 = 0,75", "0,5 + 0,25 = 0,85"),
    ("Var(X) = 5 − 4 = 1", "Var(X) = 5 − 4 = 2"),
    ("5 > 3", "3 > 5"),
    ("‖x‖²=9+16=25", "‖x‖²=9+16=26"),
    ("e^{j8π/3}=e^{j2π/3}", "e^{j8π/3}=e^{jπ/3}"),
    (
        "m_t=β₁m_{t−1}+(1−β₁)g_t; m_0=0; m_1=β₁m_0+(1−β₁)g_1=0.9·0+0.1·2=0.2",
        "m_t=β₁m_{t−1}+(1−β₁)g_t; m_0=0; m_1=β₁m_0+(1−β₁)g_1=0.9·0+0.1·2=0.3",
    ),
    ("‖x‖²=(√((−4)²+6²))²=52", "‖x‖²=(√(−4²+6²))²=(√((−4)²+6²))²=52"),
]


@pytest.mark.parametrize(("right", "wrong"), PAIRS)
def test_right_and_wrong(right, wrong):
    assert said(right, "possible", "page.txt") == []
    assert len(said(wrong, "note", "page.txt")) == 1


@pytest.mark.parametrize("text", ["17 // 5 = 4", "length + {1, 2} = 3"])
def test_what_is_not_read_is_told(text):
    assert len(read_text(text, "page.txt").unread) == 1


@pytest.mark.parametrize(
    "text",
    ["file_name = 3", "`x_1 = {1}`", "| a_1 = {1} | b |", "const x = {a: 1};", "https://a.org/?a_b=3", "a | {1} = {2} | c"],
)
def test_tables_and_programs_are_not(text):
    found = read_text(text, "page.txt")
    assert (found.formulas, found.unread) == ([], [])


def test_commas_between_thousands_are_no_signs():
    assert report("width 200 deep x 3 = 120,000", "page.txt").findings == []


def test_a_word_that_a_sign_joins_belongs_to_the_formula():
    assert report("offset + |−3| = 4", "page.txt").findings == []
