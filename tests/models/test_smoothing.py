"""Kneser–Ney: a table by hand, rows that sum to 1 exactly, and the large model against the table."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.smoothing import KneserNey, estimated_discount, kneser_ney

# a b a c a b: a→b 2, a→c 1, b→a 1, c→a 1
TOKENS = torch.tensor([0, 1, 0, 2, 0, 1])
COUNTS = [[0, 2, 1], [1, 0, 0], [1, 0, 0]]
texts = st.lists(st.integers(0, 4), min_size=2, max_size=30).map(torch.tensor)


def counts_of(tokens, words):
    C = torch.zeros(words, words, dtype=torch.float64)
    for v, w in pairwise(tokens.tolist()):
        C[v, w] += 1
    return C


def test_by_hand():
    # Four kinds of pairs: a follows two words, b one, c one, so P₁ = (1/2, 1/4, 1/4). With D = 1/2:
    # a seen 3 times before two kinds of words: P(b|a) = (2 − 1/2)/3 + (1/2 · 2/3)/4 = 7/12,
    # P(c|a) = (1 − 1/2)/3 + 1/12 = 1/4, P(a|a) = 1/3 · 1/2 = 1/6. b seen once:
    # P(a|b) = 1/2 + 1/2 · 1/2 = 3/4, and 1/8 for the others.
    P = kneser_ney(exact(COUNTS), exact("1/2"), uniform=False)
    assert exact.equal(P, exact("1/6 7/12 1/4; 3/4 1/8 1/8; 3/4 1/8 1/8"))


def test_by_hand_down_to_the_uniform():
    # Each of the three words gives up 1/2 of its 2, 1, 1 kinds: P₁ = (3/2, 1/2, 1/2)/4 + (3/2)/4 · 1/3 = (1/2, 1/4, 1/4).
    P = kneser_ney(exact(COUNTS), exact("1/2"))
    assert exact.equal(P, kneser_ney(exact(COUNTS), exact("1/2"), uniform=False))
    # A fourth word, never seen: P₁ = (3/2, 1/2, 1/2, 0)/4 + 3/8 · 1/4 = (15, 7, 7, 3)/32, and that is its row
    C = torch.zeros(4, 4)
    C[:3, :3] = torch.tensor(COUNTS)
    P = kneser_ney(exact(C), exact("1/2"))
    assert exact.equal(P[3], exact("15/32 7/32 7/32 3/32"))


def test_rows_sum_to_one_for_any_discount():
    D = exact.symbols(D_kn=0.5)
    for uniform in (True, False):
        total = kneser_ney(exact(COUNTS), D, uniform).sum(dim=1)
        assert exact.equal(total, exact.ones(3)).how == "proved"


@settings(max_examples=40)
@given(texts, st.sampled_from([0.1, 0.75, 1.0]), st.booleans())
def test_the_large_model_is_the_table(tokens, D, uniform):
    table = kneser_ney(counts_of(tokens, 5), D, uniform)
    model = KneserNey(tokens, 5, D, uniform)
    v, w = torch.cartesian_prod(torch.arange(5), torch.arange(5)).unbind(1)
    assert_close(model.probabilities(v, w).reshape(5, 5), table)
    assert_close(table.sum(dim=1), torch.ones(5, dtype=torch.float64))
    assert (table >= 0).all() and (not uniform or (table > 0).all())


def test_it_agrees_with_nltk():
    lm = pytest.importorskip("nltk.lm")
    from nltk.util import ngrams

    text = list("abacab")
    reference = lm.KneserNeyInterpolated(2, discount=0.5)
    reference.fit([[*ngrams(text, 1), *ngrams(text, 2)]], vocabulary_text=text)
    P = kneser_ney(torch.tensor(COUNTS).double(), 0.5, uniform=False)
    for v, row in zip("abc", P.tolist(), strict=True):
        assert [reference.score(w, [v]) for w in "abc"] == pytest.approx(row)


def test_a_word_of_one_context_is_not_made_likely_by_its_count():
    # "b" is frequent but only after "a"; after an unseen word the others are likelier
    tokens = torch.tensor([0, 1] * 20 + [2, 0, 3, 2, 3, 0])
    model = KneserNey(tokens, 5)
    P = model.probabilities(torch.full((5,), 4), torch.arange(5))
    assert P[1] < P[0] and (tokens == 1).sum() > (tokens == 3).sum()


def test_perplexity_by_hand():
    # P(b|a) P(a|b) = 7/12 · 3/4 = 7/16
    model = KneserNey(TOKENS, 3, 0.5, uniform=False)
    assert model.perplexity(torch.tensor([0, 1, 0])) == pytest.approx((7 / 16) ** -0.5)


def test_smoothing_beats_counting_on_new_text():
    torch.manual_seed(0)
    P = torch.distributions.Dirichlet(torch.full((100,), 0.03)).sample(
        (100,)
    )  # few words follow each word, as in a language
    tokens = [0]
    for _ in range(1500):
        tokens.append(int(torch.multinomial(P[tokens[-1]], 1)))
    train, test = torch.tensor(tokens[:1000]), torch.tensor(tokens[1000:])
    counts = counts_of(train, 100)
    add_one = (counts + 1) / (counts + 1).sum(dim=1, keepdim=True)
    plain = add_one[test[:-1], test[1:]].log().mean().neg().exp().item()
    assert KneserNey(train, 100).perplexity(test) < 0.9 * plain


def test_the_estimated_discount():
    assert estimated_discount(torch.tensor([1, 1, 1, 2, 5])) == 3 / 5  # n₁ = 3, n₂ = 1
    assert estimated_discount(torch.tensor([3, 4])) == 0.75
    assert KneserNey(TOKENS, 3).D == 3 / 5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: kneser_ney(torch.ones(2, 2), 1.5),
            DomainError,
            "A discount is taken from counts of 1 and more, so 0 < D ≤ 1; D = 1.5.",
        ),
        (
            lambda: kneser_ney(torch.ones(2, 3), 0.5),
            ShapeError,
            "Counts of bigrams form a table of words × words; C is [2, 3].",
        ),
        (
            lambda: kneser_ney(torch.full((2, 2), 0.5), 0.5),
            DomainError,
            "Counts are 0, 1, 2, …; here is 0.5.",
        ),
        (
            lambda: kneser_ney(torch.zeros(2, 2), 0.5),
            DomainError,
            "Counts are 0, 1, 2, …, and at least one pair occurs.",
        ),
        (
            lambda: KneserNey(torch.tensor([0, 5]), 5),
            DomainError,
            "Tokens are whole numbers from 0 to 4, but 5 came.",
        ),
        (
            lambda: KneserNey(torch.tensor([0]), 5),
            DomainError,
            "Bigrams need a text of at least 2 tokens; this one has 1.",
        ),
        (
            lambda: KneserNey(TOKENS, 3).perplexity(TOKENS[:1]),
            DomainError,
            "The perplexity of bigrams needs at least 2 tokens; this text has 1.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
