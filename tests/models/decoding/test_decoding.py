"""Greedy, sampled and beam decoding: on a table of next-token probabilities by hand, and against exhaustive search."""

from itertools import islice, pairwise, product
from math import exp, log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError
from workings.models.decoding.search import beam, greedy, next_token_probabilities, rank, sample

STOP = 0
CHAIN = [[1.0, 0, 0, 0], [0.1, 0.2, 0.4, 0.3], [0.3, 0.1, 0.1, 0.5], [0.4, 0.3, 0.2, 0.1]]
"""Row: the last token. Token 0 stops. From 1 the likeliest way is 2, then 3, then 0."""


class Store:
    """What a decoder keeps: here only the tokens it has seen."""

    def __init__(self):
        self.tokens = torch.empty(1, 0, dtype=torch.long)

    @property
    def length(self):
        return self.tokens.shape[1]

    def select(self, rows):
        self.tokens = self.tokens[rows]


class Chain:
    """A decoder that looks at the last two tokens, to have something to remember."""

    def __init__(self, table=CHAIN, context=None, memory=0.0):
        self.table, self.context, self.memory, self.seen = torch.tensor(table).log(), context, memory, []

    def new_cache(self):
        return Store()

    def __call__(self, tokens, cache=None):
        self.seen.append(tokens.shape[1])
        if cache is not None:
            old = cache.tokens.expand(len(tokens), -1)
            cache.tokens = torch.cat([old, tokens], dim=1)
            full = cache.tokens
        else:
            full = tokens
        before = full.roll(1, dims=1)
        before[:, 0] = STOP
        logits = self.table[full] + self.memory * self.table.exp()[before]
        return logits[:, -tokens.shape[1] :]


def exhaustive(decoder, prompt, count, alpha=0.0):
    """Every sequence up to its stop token or `count` tokens, best first."""
    found = {}
    for tokens in product(range(4), repeat=count):
        cut = tokens[: tokens.index(STOP) + 1] if STOP in tokens else tokens
        logits = decoder(torch.tensor([[*prompt, *cut]]))[0].double().log_softmax(dim=-1)
        log_p = sum(logits[len(prompt) - 1 + i, token].item() for i, token in enumerate(cut))
        found[cut] = log_p / len(cut) ** alpha
    return sorted(found.items(), key=lambda item: -item[1])


# greedy


def test_greedy_takes_the_likeliest_token_until_a_stop():
    assert list(greedy(Chain(), [1], 10, stop=STOP)) == [2, 3, 0]
    assert list(greedy(Chain(), [1], 2, stop=STOP)) == [2, 3]
    assert list(greedy(Chain(), [1], 5)) == [2, 3, 0, 0, 0]  # without a stop token
    assert list(greedy(Chain(), [1], 10, stop=[9, 3])) == [2, 3]
    assert list(greedy(Chain(), [1], 0)) == []


def test_tokens_are_streamed():
    decoder = Chain()
    assert list(islice(greedy(decoder, [1], 1_000_000), 2)) == [2, 3]
    assert len(decoder.seen) == 2


def test_a_cache_sends_only_new_tokens_through_the_decoder():
    cached, whole = Chain(), Chain()
    assert list(greedy(cached, [3, 1], 4)) == list(greedy(whole, [3, 1], 4, cache=False))
    assert cached.seen == [2, 1, 1, 1] and whole.seen == [2, 3, 4, 5]


def test_a_context_is_not_exceeded():
    for cache in (True, False):
        decoder = Chain(context=3)
        assert len(list(greedy(decoder, [3, 1], 6, cache=cache))) == 6
        assert max(decoder.seen) == 3


# sampling


def test_probabilities_by_hand():
    logits = torch.tensor([0.1, 0.4, 0.3, 0.2]).log()
    assert_close(next_token_probabilities(logits), torch.tensor([0.1, 0.4, 0.3, 0.2]))
    assert_close(next_token_probabilities(logits, T=0.5), torch.tensor([1.0, 16, 9, 4]) / 30)  # squares
    assert_close(next_token_probabilities(logits, top_k=2), torch.tensor([0, 4 / 7, 3 / 7, 0]))
    assert_close(next_token_probabilities(logits, top_p=0.4), torch.tensor([0.0, 1, 0, 0]))
    assert_close(next_token_probabilities(logits, top_p=0.41), torch.tensor([0, 4 / 7, 3 / 7, 0]))
    assert_close(next_token_probabilities(logits, top_k=3, top_p=0.5), torch.tensor([0, 4 / 7, 3 / 7, 0]))
    assert_close(next_token_probabilities(logits, top_k=9, top_p=1.0), torch.tensor([0.1, 0.4, 0.3, 0.2]))


def test_a_weight_that_is_just_reached_is_enough():
    logits = torch.tensor([0.5, 0.25, 0.25]).log2() * torch.tensor(2.0).log()
    assert exact.equal(next_token_probabilities(exact("log(1/2) log(1/4) log(1/4)"), top_p=0.5), exact("1 0 0"))
    assert_close(next_token_probabilities(logits, top_p=0.6), torch.tensor([2 / 3, 1 / 3, 0]))


def test_of_equal_tokens_the_first_are_kept():
    assert next_token_probabilities(torch.zeros(4), top_k=2).tolist() == [0.5, 0.5, 0, 0]
    assert rank(torch.tensor([[1.0, 5, 5], [3, 2, 1]])).tolist() == [[2, 0, 1], [0, 1, 2]]


def test_exact_probabilities():
    logits = exact("0 log(3) log(4) log(2)")
    p = next_token_probabilities(logits, top_k=3, top_p=0.7)
    assert exact.equal(p, exact("0 3/7 4/7 0"))
    assert_close(next_token_probabilities(logits.float64(), top_k=3, top_p=0.7), p.float64())


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=8), st.integers(1, 8), st.floats(0.05, 1))
def test_probabilities_equal_those_of_hugging_face(scores, k, p):
    warpers = pytest.importorskip("transformers").generation.logits_process
    logits = torch.tensor([sorted(set(scores)) or scores], dtype=torch.float64)
    if logits.shape[1] < 2 or logits.diff().min() < 1e-6:
        return
    theirs = warpers.TopKLogitsWarper(min(k, logits.shape[1]))(None, logits / 0.7)
    assert_close(next_token_probabilities(logits, 0.7, top_k=k), theirs.softmax(dim=-1))
    total = (logits / 0.7).softmax(dim=-1).flip(-1).cumsum(-1)
    if (total - p).abs().min() > 1e-9:
        theirs = warpers.TopPLogitsWarper(p)(None, logits / 0.7)
        assert_close(next_token_probabilities(logits, 0.7, top_p=p), theirs.softmax(dim=-1))


def test_draws_follow_the_probabilities():
    generator = torch.Generator().manual_seed(0)
    drawn = [next(sample(Chain(), [1], 1, generator=generator)) for _ in range(1500)]
    shares = torch.bincount(torch.tensor(drawn), minlength=4) / 1500
    assert_close(shares, torch.tensor(CHAIN[1]), atol=0.05, rtol=0)  # 0.05 is about four standard deviations


def test_a_seed_repeats_and_a_low_temperature_is_greedy():
    draw = lambda seed, **options: list(  # noqa: E731
        sample(Chain(memory=2.0), [1, 2], 20, generator=torch.Generator().manual_seed(seed), **options)
    )
    assert draw(1, T=3.0) == draw(1, T=3.0) == draw(1, T=3.0, cache=False) != draw(2, T=3.0)
    assert draw(1, T=1e-3) == draw(1, top_k=1) == draw(2, top_p=1e-6) == list(greedy(Chain(memory=2.0), [1, 2], 20))


def test_sampling_from_an_exact_model():
    class Exact(Chain):
        def __call__(self, tokens, cache=None):
            return exact("0 log(3); 0 -inf")[tokens]

    draws = list(sample(Exact(), [0], 50, generator=torch.Generator().manual_seed(0), cache=False))
    assert set(draws) == {0, 1}
    assert all(after == 0 for token, after in pairwise(draws) if token == 1)
    assert list(greedy(Exact(), [0], 3, cache=False)) == [1, 0, 1]


# beam search


def test_beam_search_by_hand():
    # from 1: stop at once 0.1; 2 0.4, then 3 0.2, then stop 0.08; 3 0.3, then stop 0.12; 2 then stop 0.12
    found = beam(Chain(), [1], 3, beams=8, stop=STOP)
    assert [(b.tokens, round(exp(b.log_p), 4)) for b in found[:4]] == [
        ([2, 0], 0.12),
        ([3, 0], 0.12),
        ([0], 0.1),
        ([2, 3, 0], 0.08),
    ]
    assert all(b.score == b.log_p for b in found)


def test_a_length_penalty_ranks_by_the_mean():
    found = beam(Chain(), [1], 3, beams=8, alpha=1.0, stop=STOP)
    assert found[0].tokens == [2, 3, 0]
    assert abs(found[0].score - log(0.08) / 3) < 1e-6


@pytest.mark.parametrize("memory", [0.0, 2.0])
def test_one_beam_is_greedy(memory):
    for prompt in ([1], [2], [3, 1]):
        (found,) = beam(Chain(memory=memory), prompt, 6, beams=1, stop=STOP)
        assert found.tokens == list(greedy(Chain(memory=memory), prompt, 6, stop=STOP))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_enough_beams_are_exhaustive(alpha):
    decoder = Chain(memory=2.0)
    found = beam(decoder, [1], 4, beams=81, alpha=alpha, stop=STOP)
    right = exhaustive(decoder, [1], 4, alpha)[: len(found)]
    assert len(found) == 81
    assert_close(torch.tensor([b.score for b in found]), torch.tensor([score for _, score in right]))
    assert found[0].tokens == list(right[0][0])


@settings(max_examples=12)
@given(st.integers(1, 6), st.integers(0, 50))
def test_the_cache_changes_no_beam_and_none_beats_exhaustive_search(beams, seed):
    table = torch.rand(4, 4, generator=torch.Generator().manual_seed(seed)).softmax(dim=-1).tolist()
    options = {"beams": beams, "alpha": 0.5, "stop": STOP}
    with_cache = beam(Chain(table, memory=2.0), [2, 1], 4, **options)
    without = beam(Chain(table, memory=2.0), [2, 1], 4, cache=False, **options)
    assert with_cache == without
    assert len({tuple(b.tokens) for b in without}) == len(without) == beams
    assert [b.score for b in without] == sorted((b.score for b in without), reverse=True)
    best = exhaustive(Chain(table, memory=2.0), [2, 1], 4, 0.5)[0][1]
    assert without[0].score <= best + 1e-9


def test_a_search_ends_when_nothing_better_can_come():
    decoder = Chain([[0.97, 0.01, 0.01, 0.01]] * 4)
    (found,) = beam(decoder, [1], 1000, beams=1, stop=STOP)
    assert found.tokens == [0] and len(decoder.seen) == 1


def test_a_search_does_not_end_while_a_longer_sequence_may_still_win():
    # stopping at once has log 0.6 = −0.51; five tokens of log 0.4 + 0 + 0 + … have a mean of −0.18
    table = [[1.0, 0, 0, 0], [0.6, 0, 0.4, 0], [0, 0, 0, 1.0], [0, 0, 1.0, 0]]
    (found,) = beam(Chain(table), [1], 5, beams=1, alpha=1.0, stop=STOP)
    assert found.tokens == [2, 3, 2, 3, 2]
    assert abs(found.score - log(0.4) / 5) < 1e-6


def test_impossible_tokens_are_not_extended():
    found = beam(Chain([[1.0, 0, 0, 0]] * 4), [1], 3, beams=4, stop=STOP)
    assert [b.tokens for b in found] == [[0]]


# messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: greedy(Chain(), [], 3),
            "Decoding needs a prompt of at least one token, such as a start token; this one is empty.",
        ),
        (lambda: greedy(Chain(), [1], -1), "Decoding makes 0 tokens or more, not -1."),
        (
            lambda: sample(Chain(), [1], 3, T=0.0),
            "Sampling needs a temperature T > 0, not 0.0. Its limit for T → 0 is greedy decoding.",
        ),
        (
            lambda: sample(Chain(), [1], 3, T=-1.5),
            "Sampling needs a temperature T > 0, not -1.5. Its limit for T → 0 is greedy decoding.",
        ),
        (lambda: sample(Chain(), [1], 3, top_k=0), "Top-k sampling keeps k ≥ 1 tokens, not 0."),
        (lambda: sample(Chain(), [1], 3, top_p=0.0), "Top-p sampling keeps a weight p with 0 < p ≤ 1, not 0.0."),
        (lambda: sample(Chain(), [1], 3, top_p=1.5), "Top-p sampling keeps a weight p with 0 < p ≤ 1, not 1.5."),
        (lambda: beam(Chain(), [1], 3, beams=0), "Beam search needs at least 1 beam, not 0."),
        (lambda: beam(Chain(), [1], 3, alpha=-1.0), "Beam search needs a length penalty α ≥ 0, not -1.0."),
    ],
)
def test_messages_come_before_the_first_token(call, message):
    with pytest.raises(DomainError) as error:
        call()
    assert str(error.value) == message
