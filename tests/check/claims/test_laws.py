"""Probabilities that are stated are held against each other by the laws of probability."""

import pytest

from workings.check import check

LAWS = {
    r"$P(A \cap B) = 0.2$ and $P(B) = 0.5$, so $P(A|B) = {}$.": ("0.4", "0.5"),
    r"$P(A, B) = 0.2$ and $P(B) = 0.5$, so $P(A \mid B) = {}$.": ("0.4", "0.1"),
    r"$P(A) = 0.3$, so $P(A^c) = {}$.": ("0.7", "0.6"),
    r"$P(A) = 0.4$ and $P(\bar A) = {}$.": ("0.6", "0.5"),
    r"$P(A) = 0.3$, $P(B) = 0.4$, $P(A \cap B) = 0.1$, so $P(A \cup B) = {}$.": ("0.6", "0.7"),
    r"$P(A) = 0.01$, $P(B \mid A) = 0.9$, $P(B) = 0.05$. Then $P(A \mid B) = {}$.": ("0.18", "0.81"),
    r"$P(A) = 0.5$ and $P(B|A) = 0.4$, so $P(A \cap B) = {}$.": ("0.2", "0.9"),
}


@pytest.mark.parametrize("text", LAWS)
def test_a_probability_that_follows_from_others(text):
    right, wrong = LAWS[text]
    assert check(text.replace("{}", right)).relations[-1].outcome == "right"
    [found] = check(text.replace("{}", wrong)).findings("note")
    assert (found.kind, found.truth) == ("probability", right)


def test_it_is_told_as_a_formula():
    [found] = check(r"$P(A) = 0.3$, so $P(A^c) = 0.6$.").findings("note")
    assert found.why == "P(A^c) = 1 − P(A) = 0.7, from the probabilities stated before."


@pytest.mark.parametrize(
    "text",
    [
        "$P(A) = 0.3$ and $P(B) = 0.4$, so $P(A | B) = 0.2$.",
        "## 1\n$P(A) = 0.3$.\n\n## 2\n$P(A^c) = 0.6$.",
        "$P(2) = 5$ and $P(3) = 0.1$.",
        "If $P(A) = 0.3$, then what is $P(A^c) = 0.6$?",
    ],
)
def test_nothing_follows(text):
    assert check(text).findings("note") == []


def test_what_cannot_be_computed_is_given():
    assert [relation.role for relation in check("$P(A) = 0.3$ and $f(2) = 7$.").relations] == ["given", "given"]
    assert check("So $P(A) = 0.3$.").relations[0].role == "claim"
