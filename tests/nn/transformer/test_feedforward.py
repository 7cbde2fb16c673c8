"""The feed-forward network: by hand, against two convolutions of width 1, and its gated form."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn, tensor
from torch.testing import assert_close

from workings import exact, show
from workings.errors import DomainError, ShapeError
from workings.nn.transformer.feedforward import FeedForward, feed_forward, swiglu


def seeded(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network(d=3, h=5, seed=0):
    return [seeded(*shape, seed=seed + i) for i, shape in enumerate([(d, h), (h,), (h, d), (d,)])]


def test_by_hand():
    # X W₁ + b₁ = (1·2 + 3·1 + 1, 1·3 − 3·1 − 1) = (6, −1), ReLU gives (6, 0), so Y = 6 · (1, 2) + (0, 1)
    Y = feed_forward(exact("1 3"), exact("2 3; 1 -1"), exact("1 -1"), exact("1 2; 5 5"), exact("0 1"))
    assert exact.equal(Y, exact("6 13"))


def test_swiglu_by_hand():
    # X = 2: gate silu(2 · 1) = 2 / (1 + e⁻²), through 2 · 3, out by 5
    one = exact("1").reshape(1, 1)
    Y = swiglu(exact([2]), one, 3 * one, 5 * one)
    assert exact.equal(Y, exact(["60/(1 + exp(-2))"]))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_the_kernel_equals_the_equations(activation):
    X, weights = seeded(2, 4, 3), network()
    found = feed_forward(X, *weights, activation)
    assert_close(found, feed_forward.__definition__(X, *weights, activation))
    phi = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": nn.GELU("tanh"), "silu": F.silu}[activation]
    assert_close(found, phi(X @ weights[0] + weights[1]) @ weights[2] + weights[3])


def test_the_gated_kernel_equals_the_equations():
    X, W_1, W_3, W_2 = seeded(2, 4, 3), seeded(3, 5), seeded(3, 5, seed=1), seeded(5, 3, seed=2)
    found = swiglu(X, W_1, W_3, W_2)
    assert_close(found, swiglu.__definition__(X, W_1, W_3, W_2))
    assert_close(found, (F.silu(X @ W_1) * (X @ W_3)) @ W_2)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_exact_and_float_agree(activation):
    given = [exact(x) for x in ("1 3; 2 -5", "2 3; 1 -1", "1 1", "1 2; 0 1", "0 1")]
    floats = [x.float64() for x in given]
    assert_close(feed_forward(*floats, activation), feed_forward(*given, activation).float64())


def test_it_is_two_convolutions_of_width_1():
    X, (W_1, b_1, W_2, b_2) = seeded(2, 7, 3), network()
    H = F.conv1d(X.mT, W_1.mT[..., None], b_1).relu()
    assert_close(feed_forward(X, W_1, b_1, W_2, b_2), F.conv1d(H, W_2.mT[..., None], b_2).mT)


@given(st.permutations(range(6)))
def test_every_token_goes_through_on_its_own(order):
    X, weights = seeded(6, 3), network()
    assert_close(feed_forward(X[order], *weights), feed_forward(X, *weights)[order])
    assert_close(feed_forward(X[2], *weights), feed_forward(X, *weights)[2])


def test_the_gradient():
    given = [x.requires_grad_() for x in (seeded(2, 3), *network())]
    assert torch.autograd.gradcheck(lambda *x: feed_forward(*x, "gelu"), given)


def test_the_module_has_2_099_712_parameters_at_the_papers_size():
    network = FeedForward(512)
    assert network.W_1.shape == (512, 2048)
    assert sum(p.numel() for p in network.parameters()) == 2_099_712
    assert sum(p.numel() for p in FeedForward(8, 16, "swiglu").parameters()) == 3 * 8 * 16


def test_the_modules_compute_their_functions():
    X = seeded(4, 3).float()
    plain, gated = FeedForward(3, 5, "gelu"), FeedForward(3, 5, "swiglu")
    assert_close(plain(X), feed_forward(X, plain.W_1, plain.b_1, plain.W_2, plain.b_2, "gelu"))
    assert_close(gated(X), swiglu(X, gated.W_1, gated.W_3, gated.W_2))


def test_weights_begin_as_those_of_linear_layers():
    torch.manual_seed(0)
    network = FeedForward(64, 256)
    for ours, fan_in in ((network.W_1, 64), (network.b_1, 64), (network.W_2, 256), (network.b_2, 256)):
        assert 0.9 < ours.abs().max() * fan_in**0.5 <= 1
        assert abs(ours.mean()) * fan_in**0.5 < 0.2


def test_it_is_shown_as_the_textbook_writes_it():
    text = show(feed_forward, exact([[1, 3]]), *(exact(x) for x in ("2 3; 1 -1", "1 1", "1 0; 0 1", "0 1"))).text()
    assert "H = φ(X W_1 + b_1)" in text and "Y = H W_2 + b_2" in text
    assert "matches the unmodified run" in text


def test_without_biases_by_hand():
    # X W₁ = (1·2 + 3·1, 1·3 − 3·1) = (5, 0), so Y = 5 · (1, 2)
    Y = feed_forward(exact("1 3"), exact("2 3; 1 -1"), None, exact("1 2; 5 5"), None)
    assert exact.equal(Y, exact("5 10"))


def test_without_biases_it_is_the_one_with_biases_of_0():
    X, (W_1, b_1, W_2, b_2) = seeded(2, 4, 3), network()
    assert_close(feed_forward(X, W_1, None, W_2, None), feed_forward(X, W_1, 0 * b_1, W_2, 0 * b_2))
    assert_close(feed_forward(X, W_1, None, W_2, b_2), feed_forward(X, W_1, 0 * b_1, W_2, b_2))
    assert_close(feed_forward(X, W_1, b_1, W_2, None), feed_forward(X, W_1, b_1, W_2, 0 * b_2))
    assert_close(feed_forward(X, W_1, None, W_2, None), feed_forward.__definition__(X, W_1, None, W_2, None))
    assert {name for name, _ in FeedForward(3, bias=False).named_parameters()} == {"W_1", "W_2"}


def test_without_biases_the_gradient():
    X, W_1, _, W_2, _ = [x.requires_grad_() for x in (seeded(2, 3), *network())]
    assert torch.autograd.gradcheck(lambda X, W_1, W_2: feed_forward(X, W_1, None, W_2, None, "gelu"), (X, W_1, W_2))


def test_without_biases_it_is_shown_without_them():
    text = show(feed_forward, exact([[1, 3]]), exact("2 3; 1 -1"), None, exact("1 0; 0 1"), None).text()
    assert "H = φ(X W_1) =" in text and "Y = H W_2 =" in text and "b_" not in text and "None" not in text
    assert "matches the unmodified run" in text


def test_weights_that_do_not_fit():
    W_1, b_1, W_2, b_2 = network()
    with pytest.raises(ShapeError) as error:
        feed_forward(seeded(2, 4), W_1, b_1, W_2, b_2)
    assert str(error.value) == (
        "feed_forward needs X as […, d] and W_1 as [d, h]: d (width of a token) is 4 in X [2, 4], but 3 in W_1 [3, 5]."
    )
    with pytest.raises(ShapeError, match=r"h \(hidden width\) is 5 in W_1 \[3, 5\], but 3 in W_2 \[3, 5\]\.$"):
        feed_forward(seeded(2, 3), W_1, b_1, W_2.mT, b_2)


def test_an_unknown_activation_or_width():
    with pytest.raises(DomainError) as error:
        FeedForward(4, activation="tanh")
    assert str(error.value) == (
        "The activation of a feed-forward network is one of 'relu', 'gelu', 'gelu_tanh', 'silu' or 'swiglu', not 'tanh'."
    )
    with pytest.raises(DomainError) as error:
        FeedForward(4, hidden=0)
    assert str(error.value) == "A feed-forward network needs widths of at least 1, not 4 and 0."
    assert feed_forward(tensor([1.0]), *[tensor([[1.0]]), tensor([0.0])] * 2).item() == 1
