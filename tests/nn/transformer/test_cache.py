"""The cache of keys and values."""

import pytest
import torch

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import attention


@pytest.mark.parametrize("steps", [[1] * 40, [5, 1, 1, 30, 2], [17]])
def test_it_holds_what_came(steps):
    cache, K, V = KeyValueCache(room=4), torch.randn(2, 3, sum(steps), 5), torch.randn(2, 3, sum(steps), 2)
    for k, v in zip(K.split(steps, -2), V.split(steps, -2), strict=True):
        keys, values = cache.append(k, v)
    assert len(cache) == sum(steps)
    assert keys.equal(K) and values.equal(V)
    assert cache.keys.equal(K) and cache.values.equal(V)


def test_room_doubles_so_that_few_rows_move():
    cache, moved = KeyValueCache(room=1), 0
    for _ in range(1000):
        before = cache.rows
        cache.append(torch.zeros(1, 1), torch.zeros(1, 1))
        moved += len(cache) - 1 if cache.rows is not before else 0
    assert moved < 2000


def test_crop_forgets():
    cache = KeyValueCache()
    cache.append(torch.tensor([[1.0], [2.0], [3.0]]), torch.zeros(3, 1))
    cache.crop(1)
    assert cache.append(torch.tensor([[9.0]]), torch.zeros(1, 1))[0].tolist() == [[1], [9]]


def test_exact_steps_equal_the_whole():
    Q, K, V = exact("1 0; 0 1; 1 1"), exact("1 1; 1 0; 0 2"), exact("2 0; 0 1; 1 1")
    cache, steps = KeyValueCache(room=1), []
    for i in range(3):
        keys, values = cache.append(K[i : i + 1], V[i : i + 1])
        steps.append(attention(Q[i : i + 1], keys, values, causal=True))
    assert exact.equal(torch.cat(steps), attention(Q, K, V, causal=True))


def test_nothing_yet():
    with pytest.raises(DomainError) as error:
        _ = KeyValueCache().keys
    assert str(error.value) == "The cache holds nothing yet: append keys and values first."


def test_another_batch():
    cache = KeyValueCache()
    cache.append(torch.zeros(2, 1, 3), torch.zeros(2, 1, 4))
    with pytest.raises(ShapeError) as error:
        cache.append(torch.zeros(1, 1, 3), torch.zeros(1, 1, 4))
    assert str(error.value) == "[K; K_new] needs the same batch and width: the cache holds [2, 1, 3], but [1, 1, 3] came."
    with pytest.raises(ShapeError, match=r"\[V; V_new\] .* holds \[2, 1, 4\], but \[2, 1, 5\] came"):
        cache.append(torch.zeros(2, 1, 3), torch.zeros(2, 1, 5))
    assert len(cache) == 1


def test_no_gradient_through_it():
    with pytest.raises(DomainError) as error:
        KeyValueCache().append(torch.zeros(1, 1, requires_grad=True), torch.zeros(1, 1))
    assert str(error.value) == "A cache overwrites its rows, so no gradient can pass: decode inside torch.no_grad()."


def test_a_crop_beyond_the_end_forgets_nothing():
    cache = KeyValueCache()
    cache.append(torch.ones(2, 3), torch.ones(2, 1))
    cache.crop(5)
    assert len(cache) == 2 and cache.keys.shape == (2, 3)
