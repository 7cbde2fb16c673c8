"""Final answers without a name are held against what their part computed."""

import pytest

from workings.check import check

WRONG = [
    "$0.2 + 0.38 = 0.58$\n\nAnswer: 0.85",
    "$P = 0.2 + 0.38 = 0.58$\n\n**Answer:** $0.85$",
    "$P = 0.2 + 0.38 = 0.58$\n\nAns. 0.85",
    "$P = 0.2 + 0.38 = 0.58$. So $\\boxed{0.85}$",
    "We get $0.2 + 0.38 = 0.58$. Therefore the probability is 0.85.",
    "We get $0.2 + 0.38 = 0.58$.\n\n**0.85**\n",
    "It has 24 / 4 = 6 legs left.\nAnswer: 8",
    "(a) $2 \\cdot 3 = 6$. Answer: 7\n\n(b) $3 + 4 = 7$. Answer: 7\n",
]


@pytest.mark.parametrize("text", WRONG)
def test_an_answer_that_nothing_gives(text):
    [found] = check(text).findings("note")
    assert found.kind == "answer"


def test_it_is_told_with_its_calculation():
    [found] = check(WRONG[0]).findings("note")
    assert (found.says, found.truth) == ("0.85", "0.58")
    assert found.why == "You answer 0.85; the last calculation before it gives 0.58 (line 1)."


@pytest.mark.parametrize(
    "text",
    [
        "$0.2 + 0.38 = 0.58$\n\nAnswer: 0.58",
        "$0.2 + 0.38 = 0.58$\n\nAnswer: 58%",
        "$2/3 = 0.667$\n\nAnswer: 0.67",
        "$2/3 = 0.667$\n\nAnswer: 2/3",
        "$3 + 4 = 7$ and $2 \\cdot 7 = 14$.\n\nAnswer: 7",
        "$16 \\cdot 2 = 32$ feet, so it took 3 days.\n\nAnswer: 3",
        "\nAnswer: 3",
        "There are $n = 4$ of them.\n\nAnswer: 3",
        "(a) $2 \\cdot 3 = 6$.\n\n(b) Answer: 7\n",
        "We get $Z = 3 + 0.72 = 3.72$, so the p-value is 2 times this\nvalue: 0.0002.",
    ],
)
def test_an_answer_that_may_be_right(text):
    assert check(text).findings("note") == []
