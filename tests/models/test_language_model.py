"""The decoder-only language model: its equations, cache, positions or none, decoding, and learning to dedupe and sort."""

from itertools import permutations

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.course.counts import count_passes
from workings.course.dedupe_task import START, STOP, encode, example, is_right, prompts
from workings.models.decoding.search import beam, greedy, sample
from workings.models.language_model import LanguageModel

POSITIONS = ["none", "sinusoidal", "learned", "relative", "rope", "alibi"]
MODERN = {"kind": "rms", "activation": "swiglu", "qk_norm": True, "tied": False}
TOKENS = torch.tensor([[1, 5, 2, 7, 7, 0, 3], [3, 3, 1, 8, 2, 6, 4]])


def loud(seed=0, **options):
    """A model whose weights are large enough for every part to matter."""
    torch.manual_seed(seed)
    model = LanguageModel(9, width=8, heads=2, **{"depth": 2, "context": 24, **options}).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.4)
    return model


def test_the_model_is_its_equations():
    model = loud()
    X = model.embedding.E[TOKENS] + model.embedding.P.table[:7]
    for block in model.blocks:
        X = block(X, causal=True)
    assert_close(model(TOKENS), model.norm(X) @ model.embedding.E.mT)


def test_an_output_layer_of_its_own():
    model = loud(tied=False)
    assert_close(model(TOKENS), model.hidden(TOKENS) @ model.W.mT)
    tied = sum(p.numel() for p in loud().parameters())
    assert sum(p.numel() for p in model.parameters()) == tied + 9 * 8


@pytest.mark.parametrize("options", [{}, {"norm": "post"}, MODERN])
def test_without_biases_it_is_the_one_with_biases_of_0(options):
    bare, full = loud(bias=False, **options), loud(**options)
    with torch.no_grad():
        for p in full.parameters():
            p.zero_()
    left = full.load_state_dict(bare.state_dict(), strict=False)
    assert not left.unexpected_keys and left.missing_keys
    assert {name.rpartition(".")[2] for name in left.missing_keys} <= {"b_QKV", "b_O", "b_1", "b_2", "beta"}
    assert_close(bare(TOKENS), full(TOKENS))
    assert list(greedy(bare, [1], 12)) == list(greedy(full, [1], 12)) == list(greedy(bare, [1], 12, cache=False))


def test_without_biases_it_has_as_many_parameters_as_nanogpts():
    # 65·128 and 64·128 for tokens and positions; 4 blocks of 12·128² with two norms of 128, and a last norm
    model = LanguageModel(65, 128, 4, 4, context=64, bias=False)
    assert sum(p.numel() for p in model.parameters()) == 129 * 128 + 4 * (12 * 128**2 + 2 * 128) + 128 == 804_096


def test_a_tied_zero_row_always_has_logit_zero():
    model = loud()
    model.embedding.E.data[4] = 0
    assert model(TOKENS)[..., 4].eq(0).all()


@pytest.mark.parametrize("options", [{}, MODERN, {"norm": "post"}])
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_cache_gives_what_the_whole_sequence_gives(positions, options):
    model = loud(positions=positions, **options)
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(part, cache) for part in TOKENS.split([3, 1, 1, 2], dim=1)]
    assert_close(torch.cat(parts, dim=1), model(TOKENS))
    assert cache.length == 7


@pytest.mark.parametrize("positions", POSITIONS)
def test_no_token_sees_the_future(positions):
    model, other = loud(positions=positions), TOKENS.clone()
    other[:, 4:] = 8
    assert_close(model(other)[:, :4], model(TOKENS)[:, :4])
    assert not torch.allclose(model(other)[:, 4], model(TOKENS)[:, 4])


@pytest.mark.parametrize("positions", POSITIONS)
def test_decoding_with_and_without_a_cache(positions):
    model = loud(positions=positions)
    assert list(greedy(model, [1, 2], 30)) == list(greedy(model, [1, 2], 30, cache=False))  # beyond the context
    draw = lambda cache: list(  # noqa: E731
        sample(model, [1, 2], 30, top_k=5, top_p=0.9, generator=torch.Generator().manual_seed(3), cache=cache)
    )
    assert draw(True) == draw(False)
    with_cache, without = (beam(model, [1], 6, beams=3, alpha=0.5, stop=0, cache=cache) for cache in (True, False))
    assert [b.tokens for b in with_cache] == [b.tokens for b in without]


def test_beam_scores_are_the_models_log_probabilities():
    model = loud()
    for found in beam(model, [1, 2], 4, beams=4, stop=0):
        log_p = model(torch.tensor([[1, 2, *found.tokens]]))[0, 1:-1].log_softmax(dim=-1)
        assert abs(sum(log_p[range(len(found.tokens)), found.tokens]).item() - found.log_p) < 1e-9


def test_one_pass_in_training_and_one_for_each_token_in_generation():
    model = loud()
    with count_passes(model) as passes:
        model.loss(TOKENS)
    assert passes.count == 1
    with count_passes(model) as passes:
        list(greedy(model, [1], 6))
    assert passes.count == 6


def test_the_loss_scores_each_row_against_the_next_token():
    model = loud()
    log_p = model(TOKENS).log_softmax(dim=-1)
    by_hand = -sum(log_p[b, t, TOKENS[b, t + 1]] for b in range(2) for t in range(6)) / 12
    assert_close(model.loss(TOKENS), by_hand)
    some = [(b, t) for b in range(2) for t in range(6) if TOKENS[b, t + 1] != 7]
    assert_close(model.loss(TOKENS, ignore=7), -sum(log_p[b, t, TOKENS[b, t + 1]] for b, t in some) / len(some))


def test_exact_and_float_agree():
    torch.manual_seed(0)
    model = LanguageModel(3, 2, 1, 1, positions="sinusoidal", hidden=2, activation="relu", norm="post", eps=0.0).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randint(-2, 3, p.shape) + torch.eye(p.shape[-1])[0])
        tokens = torch.tensor([[0, 2]])
        floats = model(tokens)
    assert_close(exact.exactify(model)(tokens).float64(), floats)


# without positions


def at_the_end(model, order):
    return model(torch.tensor([[*order, 8]]))[0, -1]


def test_one_layer_without_positions_is_blind_to_order_and_two_are_not_quite():
    orders = list(permutations([1, 2, 2, 5]))
    one, two = loud(positions="none", depth=1), loud(positions="none", depth=2)
    for order in orders:
        assert_close(at_the_end(one, order), at_the_end(one, orders[0]), atol=1e-12, rtol=0)
    apart = max((at_the_end(two, order) - at_the_end(two, orders[0])).abs().max().item() for order in orders)
    assert apart > 1e-3
    with_positions = loud(depth=1)
    assert (at_the_end(with_positions, orders[0]) - at_the_end(with_positions, orders[-1])).abs().max() > 1e-3


@pytest.mark.parametrize("positions", POSITIONS[1:])
def test_with_positions_one_layer_sees_the_order(positions):
    model = loud(positions=positions, depth=1)
    assert (at_the_end(model, [1, 2, 5]) - at_the_end(model, [5, 2, 1])).abs().max() > 1e-4


@pytest.mark.parametrize("positions", ["relative", "rope", "alibi"])
def test_relative_positions_do_not_see_where_the_sequence_begins(positions):
    model = loud(positions=positions)
    X = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    A = model.blocks[0].weights(X, causal=True)
    shifted = model.blocks[0].weights(torch.cat([X[:, :2] * 0, X], dim=1), causal=True)[..., 2:, 2:]
    assert_close(shifted / shifted.sum(dim=-1, keepdim=True), A)  # the same among these tokens


# beginnings


def test_weights_begin_small_and_those_into_the_residual_smaller():
    torch.manual_seed(0)
    model = LanguageModel(50, width=64, heads=4, depth=8, context=16, tied=False)
    block = model.blocks[3]
    assert abs(block.attention.W_QKV.std().item() - 0.02) < 0.001
    assert abs(block.attention.W_O.std().item() - 0.005) < 0.0005  # 0.02 / √16
    assert abs(block.ffn.W_2.std().item() - 0.005) < 0.0005
    assert block.ffn.b_1.eq(0).all() and block.norm_1.gamma.eq(1).all()
    assert abs(model.embedding.E.std().item() - 0.02) < 0.002 and abs(model.W.std().item() - 0.02) < 0.002
    loss = model.loss(torch.randint(0, 50, (4, 16)))
    assert abs(loss.item() - 3.912) < 0.05  # log 50: it knows nothing yet


# the task of the dedupe model, learned


def batch(texts):
    """Examples side by side, filled up at the end with STOP; only the answers count."""
    rows = [example(text).tolist() for text in texts]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [STOP] * (longest - len(row)) for row in rows])
    targets = torch.full_like(tokens, -100)
    for i, row in enumerate(rows):
        start = row.index(START)
        targets[i, start : len(row) - 1] = torch.tensor(row[start + 1 :])
    return tokens, targets


@pytest.mark.slow
def test_a_small_model_without_positions_learns_to_dedupe_and_sort():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = LanguageModel(6, width=32, heads=4, depth=2, positions="none")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        tokens, targets = batch(list(prompts(64, longest=6, generator=generator)))
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    asked = list(prompts(40, longest=6, generator=torch.Generator().manual_seed(1)))
    right = sum(is_right(p, list(greedy(model, [*encode(list(p)), START], 6, stop=STOP))) for p in asked)
    assert right >= 38
