"""Encoder, decoder and both together: masks, padding, caches, positions, one pass in training and T in generation."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from workings import exact
from workings.course.counts import count_passes
from workings.errors import DomainError, ShapeError
from workings.models.decoding.search import beam, greedy, sample
from workings.models.transformer import Alibi, Cache, Embedding, Encoder, EncoderDecoder
from workings.models.weights.table import block_to_torch
from workings.nn.transformer.positions import alibi, sinusoidal

SOURCE = torch.tensor([[1, 2, 3, 4], [4, 3, 6, 0]])
TARGET = torch.tensor([[0, 5, 2], [0, 8, 1]])
LENGTHS = torch.tensor([4, 2])


def loud(model, seed=0):
    """Weights large enough for every part to matter."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.4)
    return model.double().eval()


def transformer(**options):
    return loud(EncoderDecoder(7, 9, width=8, heads=2, depth=2, **options))


def test_the_layers_are_those_of_torch():
    model = transformer(norm="post")
    encoder = nn.ModuleList(block_to_torch(b) for b in model.encoder.blocks)
    decoder = nn.ModuleList(block_to_torch(b) for b in model.decoder.blocks)
    X, Y = model.encoder.embedding(SOURCE), model.decoder.embedding(TARGET)
    hidden = torch.arange(4) >= LENGTHS[:, None]
    for layer in encoder:
        X = layer(X, src_key_padding_mask=hidden)
    ahead = torch.ones(3, 3, dtype=torch.bool).triu(1)
    for layer in decoder:
        Y = layer(Y, X, tgt_mask=ahead, memory_key_padding_mask=hidden)
    assert_close(model(SOURCE, TARGET, LENGTHS), Y @ model.decoder.embedding.E.mT)


def test_embeddings_and_positions_by_hand():
    embedding = loud(Embedding(7, 8))
    assert_close(embedding(SOURCE), 8**0.5 * embedding.E[SOURCE] + sinusoidal(4, 8).double())
    assert_close(embedding(SOURCE, start=3), 8**0.5 * embedding.E[SOURCE] + sinusoidal(7, 8).double()[3:])
    learned = loud(Embedding(7, 8, "learned", context=6, segments=2))
    table = learned.P.table
    assert_close(learned(SOURCE, 2), learned.E[SOURCE] + table[2:6] + learned.S[0])
    assert_close(learned(SOURCE, segments=SOURCE % 2), learned.E[SOURCE] + table[:4] + learned.S[SOURCE % 2])
    assert_close(loud(Embedding(7, 8, "none"))(SOURCE), loud(Embedding(7, 8, "none")).E[SOURCE])


def test_exact_embeddings():
    embedding = exact.exactify(Embedding(2, 2))
    embedding.E.data = exact("1 0; 0 1")
    assert exact.equal(embedding(torch.tensor([1, 0])), exact("0 sqrt(2) + 1; sqrt(2) + sin(1) cos(1)"))


def test_padding_is_never_looked_at():
    model = transformer()
    other = SOURCE.clone()
    other[1, 2:] = 5
    kept = model(SOURCE, TARGET, LENGTHS)
    assert_close(model(other, TARGET, LENGTHS), kept)
    assert not torch.allclose(model(other, TARGET)[1], kept[1])
    assert_close(model(SOURCE[1:, :2], TARGET[1:])[0], kept[1])  # as if it were not there


def test_the_target_does_not_see_ahead_and_sees_all_of_the_source():
    model = transformer()
    later, source = TARGET.clone(), SOURCE.clone()
    later[:, 2] = 7
    source[:, 3] = 5
    assert_close(model(SOURCE, later)[:, :2], model(SOURCE, TARGET)[:, :2])
    assert not torch.allclose(model(source, TARGET)[:, 0], model(SOURCE, TARGET)[:, 0])


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "relative", "rope", "alibi"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoding_with_and_without_a_cache(positions, norm):
    model = transformer(positions=positions, context=16, norm=norm)
    given = model.given(SOURCE[0])
    assert list(greedy(given, [0], 8)) == list(greedy(given, [0], 8, cache=False))
    draw = lambda cache: list(  # noqa: E731
        sample(given, [0], 8, T=2.0, generator=torch.Generator().manual_seed(0), cache=cache)
    )
    assert draw(True) == draw(False)
    with_cache, without = (beam(given, [0], 6, beams=3, alpha=0.7, stop=1, cache=cache) for cache in (True, False))
    assert [b.tokens for b in with_cache] == [b.tokens for b in without]
    assert_close(torch.tensor([b.score for b in with_cache]), torch.tensor([b.score for b in without]))


def test_greedy_decoding_is_the_argmax_of_the_whole_model():
    model, tokens = transformer(), [0]
    for _ in range(5):
        tokens.append(int(model(SOURCE[:1], torch.tensor([tokens]))[0, -1].argmax()))
    assert list(greedy(model.given(SOURCE[0]), [0], 5)) == tokens[1:]


@pytest.mark.parametrize("cache", [True, False])
def test_one_pass_in_training_and_one_for_each_token_in_generation(cache):
    model = transformer()
    with count_passes(model.decoder) as passes, count_passes(model.encoder) as encoded:
        model.loss(SOURCE, TARGET)
    assert (passes.count, encoded.count) == (1, 1)
    with count_passes(model.decoder) as passes, count_passes(model.encoder) as encoded:
        list(greedy(model.given(SOURCE[0]), [0], 7, cache=cache))
    assert (passes.count, encoded.count) == (7, 1)


def test_the_loss_scores_each_row_against_the_next_token():
    model = transformer()
    log_p = model(SOURCE, TARGET, LENGTHS).log_softmax(dim=-1)
    by_hand = -sum(log_p[b, t, TARGET[b, t + 1]] for b in range(2) for t in range(2)) / 4
    assert_close(model.loss(SOURCE, TARGET, LENGTHS), by_hand)
    first = -(log_p[0, 0, 5] + log_p[0, 1, 2] + log_p[1, 0, 8]) / 3
    assert_close(model.loss(SOURCE, TARGET, LENGTHS, ignore=1), first)


def test_it_learns_to_reverse():
    torch.manual_seed(0)
    model = EncoderDecoder(6, 6, width=32, heads=4, depth=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        source = torch.randint(1, 6, (32, 3))
        target = torch.cat([torch.zeros(32, 1, dtype=torch.long), source.flip(1)], dim=1)
        optimizer.zero_grad()
        model.loss(source, target).backward()
        optimizer.step()
    model.eval()
    asked = torch.randint(1, 6, (20, 3), generator=torch.Generator().manual_seed(1))
    right = sum(list(greedy(model.given(s), [0], 3)) == s.flip(0).tolist() for s in asked)
    assert right >= 18


def test_alibi_is_the_function_and_follows_the_model():
    assert_close(Alibi(4)(2, 5), alibi(4, 2, 5))
    assert Alibi(4).double()(2, 5).dtype == torch.float64
    assert not Alibi(4).state_dict()


def test_a_cache_keeps_the_selected_rows():
    model = transformer()
    cache, memory = Cache(2), model.encoder(SOURCE)
    with torch.no_grad():
        model.decode(TARGET[:, :2], memory, cache=cache)
        cache.select(torch.tensor([1, 1, 0]))
        found = model.decode(TARGET[[1, 1, 0], 2:], memory[[1, 1, 0]], cache=cache)
    assert cache.length == 3
    assert_close(found[:, -1], model(SOURCE, TARGET)[[1, 1, 0], -1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: Encoder(7, 8, 2, 1, positions="absolute"),
            DomainError,
            "The positions of a model are one of 'none', 'sinusoidal', 'learned', 'relative', 'rope', 'alibi', "
            "not 'absolute'.",
        ),
        (
            lambda: Encoder(7, 8, 2, 1, positions="learned"),
            DomainError,
            "Learned positions are a table: say by context=… for how many tokens.",
        ),
        (lambda: Encoder(7, 8, 2, 0), DomainError, "A stack of blocks has a depth of at least 1, not 0."),
        (
            lambda: Encoder(7, 9, 2, 1),
            ShapeError,
            "The heads share the width among them: 9 is not divisible by 2 heads.",
        ),
        (
            lambda: transformer()(SOURCE + 3, TARGET),
            DomainError,
            "Tokens are whole numbers from 0 to 6, but 9 came.",
        ),
        (
            lambda: transformer()(SOURCE, TARGET - 1),
            DomainError,
            "Tokens are whole numbers from 0 to 8, but -1 came.",
        ),
        (
            lambda: transformer()(SOURCE[:, :0], TARGET),
            ShapeError,
            "A model needs at least one token, but the tokens are [2, 0].",
        ),
        (
            lambda: transformer(context=3)(SOURCE, TARGET),
            DomainError,
            "This model takes at most 3 tokens, but 4 came: give it the last 3.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as found:
        call()
    assert str(found.value) == message
