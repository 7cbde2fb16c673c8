"""What moves when a key or a query moves: formulas against attention itself."""

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from workings import exact
from workings.course.perturbation import (
    key_noise,
    key_noise_mean,
    key_scaling,
    key_scaling_change,
    parts,
    query_noise,
    with_column,
)
from workings.course.selection import normal_mean

Q, K, V = exact([[1]]), exact([["log(3)", 0]]), exact([[1, 0]])


def randoms():
    g = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((6, 4), (6, 5), (3, 5), (6,))]


def output(Q, K, V, beta=1):
    return parts(Q, K, V, beta)[2]


def test_zero_mean_noise_moves_the_mean():
    # h = 3/4; key log 3 ± log 2 gives 6/7 and 3/5, whose mean is 51/70, not 3/4
    assert exact.equal(output(Q, K, V), exact([["3/4"]]))
    plus = output(Q, with_column(K, 0, K[:, 0] + exact("log(2)")), V)
    minus = output(Q, with_column(K, 0, K[:, 0] - exact("log(2)")), V)
    assert exact.equal(torch.cat((plus, minus, (plus + minus) / 2), 1), exact([["6/7", "3/5", "51/70"]]))
    assert exact.equal((plus + minus) / 2 - exact("3/4"), exact([["-3/140"]]))


def test_gaussian_noise_to_second_order():
    # a = 3/4, σ² = 1/4: ½ · ¼ · ¾ · ¼ · (−½) = −3/256 ≈ −0.0117188
    predicted = key_noise_mean(Q, K, V, 0, exact("1/2"))
    assert exact.equal(predicted, exact(["-3/256"]))

    def weight(ε):
        return torch.sigmoid(torch.log(torch.tensor(3.0, dtype=torch.float64)) + ε)

    mean = normal_mean(weight, 0.25)
    assert_close(mean, torch.tensor(0.739126, dtype=torch.float64), atol=1e-6, rtol=0)
    small = (normal_mean(weight, 1e-4) - 0.75) / key_noise_mean(Q, K, V, 0, 0.01).float64()
    assert small.item() == pytest.approx(1, abs=1e-3)


def test_noise_on_a_key_to_first_order():
    # β a (v − h) εq = ¾ · ¼ · log 2
    assert exact.equal(key_noise(Q, K, V, 0, exact(["log(2)"])), exact([["3/16*log(2)"]]))


@pytest.mark.parametrize("beta", [1, 0.7])
def test_first_orders_are_derivatives(beta):
    Q, K, V, ε = randoms()
    zero, one = torch.zeros_like(ε), torch.ones((), dtype=torch.float64)
    moved = jacobian(lambda e: output(Q, with_column(K, 2, K[:, 2] + e), V, beta), zero) @ ε
    assert_close(key_noise(Q, K, V, 2, ε, beta), moved)
    moved = jacobian(lambda e: output(with_column(Q, 1, Q[:, 1] + e), K, V, beta), zero) @ ε
    assert_close(query_noise(Q, K, V, 1, ε, beta), moved[:, 1])
    moved = jacobian(lambda a: output(Q, with_column(K, 2, a * K[:, 2]), V, beta), one)
    assert_close(key_scaling_change(Q, K, V, 2, 1.5, beta), moved / 2)


def test_a_query_moves_its_own_output_and_a_key_moves_all():
    Q, K, V, ε = randoms()
    before, weights = output(Q, K, V), parts(Q, K, V)[1]
    query = parts(with_column(Q, 1, Q[:, 1] + ε), K, V)
    assert (query[2] != before).any(0).tolist() == [False, True, False, False]
    assert (query[1] != weights).any(0).tolist() == [False, True, False, False]
    key = parts(Q, with_column(K, 1, K[:, 1] + ε), V)
    assert (key[2] != before).any(0).all()
    assert (key[1] != weights).all()  # every row, through the renormalisation


def test_scaling_a_key():
    # scores (1, −1, 0) become (2, −2, 0): the weight rises, falls and stays
    Q, K, V = exact([[1, -1, 0]]), exact([[1, 0]]), exact([[1, 0]])
    before, after = parts(Q, K, V)[1], parts(Q, with_column(K, 0, 2 * K[:, 0]), V)[1]
    assert exact.equal(before, exact("e/(1+e) 1/(1+e) 1/2; 1/(1+e) e/(1+e) 1/2"))
    assert exact.equal(after, exact("e^2/(1+e^2) 1/(1+e^2) 1/2; 1/(1+e^2) e^2/(1+e^2) 1/2"))
    assert exact.equal(key_scaling(Q, K, V, 0, 2), V @ after)
    change = key_scaling(Q, K, V, 0, 2) - output(Q, K, V)
    assert_close(change.float64(), torch.tensor([[0.149738, -0.149738, 0]], dtype=torch.float64), atol=1e-6, rtol=0)
    first = key_scaling_change(Q, K, V, 0, 2)
    assert exact.equal(first, exact([["e/(1+e)^2", "-e/(1+e)^2", "0"]]))
    assert_close(first.float64(), torch.tensor([[0.196612, -0.196612, 0]], dtype=torch.float64), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("alpha", "beta"), [(1.7, 1), (3.0, 0.4)])
def test_scaling_exactly(alpha, beta):
    Q, K, V, _ = randoms()
    after = output(Q, with_column(K, 3, alpha * K[:, 3]), V, beta)
    assert_close(key_scaling(Q, K, V, 3, alpha, beta), after)
