"""Perplexity does not depend on the base, and does depend on the unit."""

from math import e, exp, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.objectives.perplexities import (
    bits,
    bits_per_character,
    per_longer_unit,
    per_shorter_unit,
    perplexity,
    perplexity_from_log,
)

P = "1/2 1/4 1/8"  # the product is 1/64, its cube root 1/4
probabilities = st.lists(st.floats(1e-3, 1), min_size=1, max_size=6)


@pytest.mark.parametrize("t", [2, e, 10, "1/2"])
def test_any_base_gives_four(t):
    number = exact(t) if isinstance(t, str) else t
    PP = perplexity(exact(P), number)
    assert exact.equal(PP, exact("4")).how == "proved"
    assert_close(perplexity(exact(P).float64(), 0.5 if t == "1/2" else t).item(), 4.0)


def test_a_letter_for_the_base():
    for t in (2, 3, 10):
        PP = perplexity(exact(P), exact("t_pp")).substitute(t_pp=t)
        assert exact.equal(PP, exact("4"))


@given(probabilities, st.floats(0.1, 20).filter(lambda t: abs(t - 1) > 0.01))
def test_the_geometric_mean(p, t):
    p = torch.tensor(p, dtype=torch.float64)
    mean = p.prod() ** (-1 / len(p))
    assert_close(perplexity(p, t), mean)
    assert_close(perplexity_from_log(p.log()), mean)


@given(st.integers(1, 1000))
def test_equal_words_are_as_many_as_they_are(n):
    assert_close(perplexity(torch.full((3,), 1 / n, dtype=torch.float64)).item(), float(n))


def test_logarithms_do_not_underflow():
    log_p = torch.full((10,), -2000.0, dtype=torch.float64)
    assert perplexity_from_log(log_p / 100).item() == pytest.approx(exp(20))
    assert log_p.exp().sum() == 0


# Two models on two passages: nats, bits, and the ratio of the perplexities.
NATS = {
    "word, plays": 1.75278,
    "word, encyclopedia": 3.2066,
    "character, plays": 1.93118,
    "character, encyclopedia": 2.76278,
}
BITS = {
    "word, plays": 2.52873,
    "word, encyclopedia": 4.62615,
    "character, plays": 2.7861,
    "character, encyclopedia": 3.98585,
}


@pytest.mark.parametrize("case", NATS)
def test_nats_in_bits(case):
    assert bits(NATS[case]) == pytest.approx(BITS[case], rel=2e-6)


def test_the_ratios_between_the_passages():
    assert exp(NATS["word, encyclopedia"] - NATS["word, plays"]) == pytest.approx(4.27943, rel=1e-5)
    assert exp(NATS["character, encyclopedia"] - NATS["character, plays"]) == pytest.approx(2.29701, rel=1e-5)


def test_a_character_model_per_word():
    # 5.5 characters a word: e^(5.5 · 1.93118)
    assert per_longer_unit(exp(NATS["character, plays"]), 5.5) == pytest.approx(41005.6, rel=1e-4)
    assert per_shorter_unit(41005.6, 5.5) == pytest.approx(exp(NATS["character, plays"]), rel=1e-5)


def test_units_in_letters():
    assert exact.equal(per_longer_unit(exact("P_u"), 3), exact("P_u^3"))


def test_bits_per_character_are_the_same_for_any_units_of_one_text():
    # one word of four characters, of probability 1/16; or its characters, of 1/2 each
    by_word, by_character = torch.tensor([1 / 16]).log(), torch.full((4,), 1 / 2).log()
    assert bits_per_character(by_word, 4) == bits_per_character(by_character, 4) == 1
    assert exact.equal(bits_per_character(exact("1/2 1/8").log(), 8), exact("1/2"))
    assert_close(perplexity_from_log(by_word).item(), 2 ** (1.0 * 4))
    assert bits(log(2)) == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: perplexity(torch.ones(1), 1), DomainError, "A logarithm needs a base t > 0 other than 1; t = 1."),
        (lambda: perplexity(torch.ones(1), -2), DomainError, "A logarithm needs a base t > 0 other than 1; t = -2."),
        (
            lambda: perplexity_from_log(torch.ones(0)),
            ShapeError,
            "The perplexity of no units is not defined: pass at least one probability.",
        ),
        (
            lambda: bits_per_character(torch.zeros(1), 0),
            DomainError,
            "Bits per character need a text of at least one character, not 0.",
        ),
        (
            lambda: per_longer_unit(3.0, 0),
            DomainError,
            "The longer unit holds a positive number of shorter ones, not 0.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
