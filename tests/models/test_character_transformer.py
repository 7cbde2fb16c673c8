"""The character Transformer: its equations, its kernel, its window, its first state."""

from math import log

import pytest
import torch
from torch.testing import assert_close

from workings.errors import DomainError, ShapeError
from workings.models.character_transformer import CharacterTransformer, queries_keys_values, row_of
from workings.models.decoding.search import beam
from workings.nn.norms.per_token import layer_norm
from workings.nn.transformer.positions import rope


def loud(**options):
    torch.manual_seed(0)
    model = CharacterTransformer(7, 8, 2, 2, **{"rows": 100, "window": 5, **options}).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.5)
    return model


def test_it_begins_with_equal_scores():
    # W = 0, so every score is 0 and the loss is log 7, whatever the text
    model = CharacterTransformer(7, 8, 2, 1)
    tokens = torch.randint(7, (2, 6))
    assert_close(model(tokens), torch.zeros(2, 6, 7))
    assert model.loss(tokens).item() == pytest.approx(log(7))


def test_the_embedding_is_of_the_character_the_pair_and_the_triple():
    # 7³ = 343 triples share 400 rows, so each has its own: 6·49 + 5·7 + 4 = 333
    model = loud(rows=400)
    x = model.E_1[4] + model.E_2[5 * 7 + 4] + model.E_3[333]
    assert_close(model.vectors(torch.tensor([[6, 5, 4]]), None)[0, 2], layer_norm(x))
    first = model.E_1[6] + model.E_2[6] + model.E_3[6]  # two of character 0 stand before the text
    assert_close(model.vectors(torch.tensor([[6]]), None)[0, 0], layer_norm(first))


def test_the_kernel_is_the_equations():
    X, W = torch.randn(2, 5, 8, dtype=torch.float64), torch.randn(24, 8, dtype=torch.float64)
    for ours, written in zip(queries_keys_values(X, W, 2, 3), queries_keys_values.__definition__(X, W, 2, 3), strict=True):
        assert_close(ours, written)
    Q = (X[0] @ W[:8].T).unflatten(-1, (2, 4)).transpose(0, 1)
    assert_close(queries_keys_values(X, W, 2, 0)[0][0], rope(layer_norm(Q)))


def test_the_gradient_of_the_kernel():
    X = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    W = torch.randn(12, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda X, W: queries_keys_values(X, W, 1, 2), (X, W))


def test_nothing_is_seen_of_what_comes_later_or_lies_too_far_back():
    model = loud()
    tokens = torch.randint(7, (1, 30))
    later, earlier = tokens.clone(), tokens.clone()
    later[0, 20] = (tokens[0, 20] + 1) % 7
    earlier[0, 0] = (tokens[0, 0] + 1) % 7
    assert_close(model(later)[:, :20], model(tokens)[:, :20])
    # two blocks of reach 5 see 2·4 places back, and the triple 2 more: place 0 is out of sight from place 11 on
    far = (model(earlier) - model(tokens)).abs().amax(dim=(0, 2))
    assert far[11:].max() < 1e-12 < far[10]


def test_in_parts_through_the_cache_as_at_once():
    model, tokens = loud(), torch.randint(7, (2, 23))
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(part, cache) for part in tokens.split([1, 4, 1, 9, 8], dim=1)]
    assert_close(torch.cat(parts, dim=1), model(tokens))


def test_beams_take_their_own_characters_along():
    model = loud()
    ours, plain = (beam(model, [1], 6, beams=3, cache=c) for c in (True, False))
    assert [b.tokens for b in ours] == [b.tokens for b in plain]


def test_rows_of_a_short_table():
    rows = row_of(torch.arange(1000), 1000, torch.zeros(64, 1))
    assert rows.min() >= 0 and rows.max() < 64 and len(rows.unique()) == 64
    # 2 · 2654435761 = 5308871522, less the prime 4294967291 is 1013904231, which leaves 39 when divided by 64
    assert rows[2] == 39 == row_of(2, 1000, torch.zeros(64, 1))


def test_messages():
    with pytest.raises(ShapeError) as caught:
        CharacterTransformer(5, 6, 2)
    assert str(caught.value) == "RoPE turns pairs, so each of the 2 heads needs an even part of the width; it is 6."
    with pytest.raises(DomainError) as refused:
        loud()(torch.tensor([[7]]))
    assert str(refused.value) == "Tokens are whole numbers from 0 to 6, but 7 came."
