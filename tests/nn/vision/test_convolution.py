"""Convolution arithmetic: by hand, against torch for random settings, and a linear layer as a convolution."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from workings import exact
from workings.errors import ShapeError
from workings.nn import (
    average_pool,
    conv2d,
    conv_parameters,
    conv_shape,
    conv_size,
    conv_to_linear,
    discarded,
    linear_parameters,
    linear_to_conv,
    max_pool,
    parameter_count,
    pool_size,
    receptive_field,
    same_padding,
    spread,
)
from workings.show import show

sizes = {
    "N": st.integers(1, 20),
    "F": st.integers(1, 5),
    "S": st.integers(1, 4),
    "P": st.integers(0, 3),
    "dilation": st.integers(1, 3),
}


def test_sizes_by_hand():
    # 32 − 5 + 1 = 28; 28/4 = 7; 7 + 2 − 4 + 1 = 6; 6/2 = 3
    assert [conv_size(32, 5), pool_size(28, 4), conv_size(7, 4, P=1), pool_size(6, 2)] == [28, 7, 6, 3]
    # 128 − 3 + 1 = 126; ⌊123/3⌋ + 1 = 42
    assert conv_shape((128, 128), (3, 5), S=(1, 3)) == (126, 42)
    assert pool_size(7, 3, S=2) == 3


@settings(max_examples=60)
@given(**sizes)
def test_sizes_are_those_of_torch(N, F, S, P, dilation):
    assume(dilation * (F - 1) + 1 <= N + 2 * P)
    y = functional.conv1d(torch.zeros(1, 1, N), torch.zeros(1, 1, F), stride=S, padding=P, dilation=dilation)
    assert conv_size(N, F, S, P, dilation) == y.shape[-1]


@settings(max_examples=60)
@given(**sizes)
def test_discarded_entries_are_those_without_influence(N, F, S, P, dilation):
    assume(dilation * (F - 1) + 1 <= N + 2 * P and dilation * (F - 1) + 1 >= S)
    x = torch.zeros(1, 1, N, requires_grad=True)
    functional.conv1d(x, torch.ones(1, 1, F), stride=S, padding=P, dilation=dilation).sum().backward()
    read = x.grad.flatten().nonzero().flatten()
    last = int(read[-1]) + 1 if len(read) else 0
    if dilation == 1:
        assert discarded(N, F, S, P) == N - last
    assert discarded(N, F, S, P, dilation) <= N - last


def test_discarded_by_hand():
    # 128 − 4 = 124 = 41·3 + 1: the last column is never read; one column of padding would have been
    assert discarded(128, 4, S=3) == 1
    assert discarded(128, 5, S=3) == 0
    assert discarded(128, 4, S=3, P=1) == 0  # 126 = 42·3
    assert discarded(10, 3, S=4, P=1) == 0  # 9 = 2·4 + 1, and that one is padding


def test_messages_about_sizes():
    with pytest.raises(ShapeError) as error:
        conv_size(3, 6, P=1)
    assert str(error.value) == "A kernel of 6 has no place on N + 2P = 3 + 2·1 = 5 entries: pad more or shrink it."
    with pytest.raises(ShapeError) as error:
        conv_size(3, 2, S=0)
    assert str(error.value) == "⌊(N + 2P − F)/S⌋ + 1 needs N, F, S ≥ 1 and P ≥ 0: N = 3, F = 2, S = 0, P = 0."
    with pytest.raises(ShapeError) as error:
        same_padding(4)
    assert str(error.value) == (
        "The same size at stride 1 needs 2P = F − 1, so an odd kernel: F = 4 would need P = 3/2. Take 3 or 5."
    )
    assert all(conv_size(9, F, P=same_padding(F)) == 9 for F in (1, 3, 5, 7))


def test_parameters_by_hand():
    # 8·(25 + 1), 16·(128 + 1), 10·(144 + 1)
    assert [conv_parameters(8, 5, 1), conv_parameters(16, 4, 8), linear_parameters(144, 10)] == [208, 2064, 1450]
    assert conv_parameters(4, (2, 3), 5, bias=False) == 120 and linear_parameters(3, 2, bias=False) == 6


@pytest.mark.parametrize("bias", [True, False])
def test_parameters_are_those_of_the_modules(bias):
    assert conv_parameters(4, (2, 3), 5, bias) == parameter_count(nn.Conv2d(5, 4, (2, 3), bias=bias))
    assert linear_parameters(7, 3, bias) == parameter_count(nn.Linear(7, 3, bias=bias))


LAYERS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=4)


@settings(max_examples=40)
@given(layers=LAYERS)
def test_a_receptive_field_is_what_reaches_a_unit(layers):
    """The span of the inputs with a gradient, for one unit in the middle of a long input."""
    net = nn.Sequential(*(nn.Conv1d(1, 1, k, s, dilation=d, bias=False) for k, s, d in layers))
    for parameter in net.parameters():
        nn.init.ones_(parameter)
    r = receptive_field(layers)
    x = torch.zeros(1, 1, r + 20, requires_grad=True)
    net(x)[0, 0, 0].backward()
    span = x.grad.flatten().nonzero().flatten()
    assert r == int(span[-1]) + 1
    assert receptive_field(net) == r


def test_receptive_field_of_a_model():
    net = nn.Sequential(nn.Conv2d(1, 2, (3, 5)), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4, 2))
    # columns 5 + 1, rows 3 + 1
    assert (receptive_field(net), receptive_field(net, axis=-2)) == (6, 4)


@settings(max_examples=25)
@given(seed=st.integers(0, 99), S=st.integers(1, 3), P=st.integers(0, 2), bias=st.booleans())
def test_conv2d_is_the_kernel(seed, S, P, bias):
    torch.manual_seed(seed)
    X, W = torch.randn(2, 3, 6, 7, dtype=torch.float64), torch.randn(4, 3, 3, 2, dtype=torch.float64)
    b = torch.randn(4, dtype=torch.float64) if bias else None
    expected = functional.conv2d(X, W, b, S, P)
    torch.testing.assert_close(conv2d.__definition__(X, W, b, S, P), expected)
    torch.testing.assert_close(conv2d(X, W, b, S, P), expected)


def test_conv2d_by_hand_and_exact():
    # windows of [[1,2,3],[4,5,6],[7,8,9]] with kernel [[1,0],[0,−1]]: 1 − 5, 2 − 6, 4 − 8, 5 − 9, plus ½
    X, W, b = exact.arange(1, 10).reshape(1, 3, 3), exact("1 0; 0 -1").reshape(1, 1, 2, 2), exact("1/2").reshape(1)
    Y = conv2d(X, W, b)
    assert exact.equal(Y, exact("-7/2 -7/2; -7/2 -7/2").reshape(1, 2, 2))
    torch.testing.assert_close(conv2d(X.float64(), W.float64(), b.float64()), Y.float64())


@pytest.mark.parametrize("call", [conv2d, conv2d.__definition__])
def test_channels_must_agree(call):
    with pytest.raises(ShapeError) as error:
        call(torch.zeros(2, 3, 5, 5), torch.zeros(4, 1, 2, 2))
    assert str(error.value) == (
        "conv2d needs X as […, c, n, m] and W as [o, c, i, j]: c (channels in) is 3 in X [2, 3, 5, 5], but 1 in W "
        "[4, 1, 2, 2]."
    )


@pytest.mark.parametrize(("pool", "kernel"), [(average_pool, functional.avg_pool2d), (max_pool, functional.max_pool2d)])
@pytest.mark.parametrize(("F", "S"), [(2, None), ((2, 3), None), (3, 2), ((3, 2), (1, 3))])
def test_pooling_is_the_kernel(pool, kernel, F, S):
    X = torch.randn(2, 3, 7, 8, dtype=torch.float64)
    torch.testing.assert_close(pool.__definition__(X, F, S), kernel(X, F, S))
    torch.testing.assert_close(pool(X, F, S), kernel(X, F, S))


def test_pooling_by_hand():
    X = exact("1 2 5 0; 3 4 0 1").reshape(1, 2, 4)
    assert exact.equal(average_pool(X, 2), exact("5/2 3/2").reshape(1, 1, 2))
    assert exact.equal(max_pool(X, 2), exact("4 5").reshape(1, 1, 2))
    for pool in (average_pool, max_pool, average_pool.__definition__, max_pool.__definition__):
        with pytest.raises(ShapeError, match="A kernel of 3 has no place on N \\+ 2P = 2 \\+ 2·0 = 2 entries"):
            pool(X.float64(), 3)


def test_max_pooling_forgives_a_shift_within_the_window():
    X = torch.zeros(1, 4, 4)
    X[0, 0, 0] = 1
    shifted = X.roll(1, -1)
    assert torch.equal(max_pool(X, 2), max_pool(shifted, 2))
    assert torch.equal(average_pool(X, 2), average_pool(shifted, 2))
    assert not torch.equal(max_pool(X, 2), max_pool(X.roll(2, -1), 2))


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_is_a_convolution(bias):
    linear = nn.Linear(144, 10, bias=bias).double()
    conv = linear_to_conv(linear, 16, 3, 3)
    X = torch.randn(5, 16, 3, 3, dtype=torch.float64)
    assert repr(conv).startswith("Conv2d(16, 10, kernel_size=(3, 3)")
    assert parameter_count(conv) == (1450 if bias else 1440)
    assert conv(X).shape == (5, 10, 1, 1)
    torch.testing.assert_close(conv(X).flatten(1), linear(X.flatten(1)), rtol=0, atol=1e-14)
    back = conv_to_linear(conv)
    assert torch.equal(back.weight, linear.weight)
    assert back.bias is linear.bias is None or torch.equal(back.bias, linear.bias)
    assert conv(torch.zeros(1, 16, 5, 4, dtype=torch.float64)).shape == (1, 10, 3, 2)
    with torch.no_grad():
        conv.weight.zero_()
    assert linear.weight.abs().sum() > 0  # a copy, not a view


def test_a_linear_layer_is_a_convolution_exactly():
    linear = exact.exactify(nn.Linear(4, 2).double())
    X = exact("1 2; 3 4").reshape(1, 1, 2, 2)
    assert exact.equal(linear_to_conv(linear, 1, 2, 2)(X).flatten(1), linear(X.flatten(1)))


def test_averaging_after_a_small_kernel_is_a_constant_kernel():
    conv = nn.Conv2d(16, 10, 1).double()
    X = torch.randn(5, 16, 3, 3, dtype=torch.float64)
    pooled = nn.Sequential(conv, nn.AvgPool2d(3))(X)
    large = spread(conv, 3, 3)
    assert (parameter_count(conv), parameter_count(large)) == (170, 1450)
    torch.testing.assert_close(large(X), pooled)
    assert torch.equal(large.weight[:, :, 1, 2], conv.weight[:, :, 0, 0] / 9)


def test_messages_about_layers():
    with pytest.raises(ShapeError) as error:
        linear_to_conv(nn.Linear(120, 10), 16, 3, 3)
    assert str(error.value) == "Flatten gives 16·3·3 = 144 features, but the linear layer takes 120."
    for conv in (nn.Conv2d(1, 1, 3, padding=1), nn.Conv2d(2, 2, 3, groups=2), nn.Conv2d(1, 1, 3, dilation=2)):
        with pytest.raises(ShapeError) as error:
            conv_to_linear(conv)
        assert str(error.value) == f"A linear layer is a convolution without padding, dilation and groups; this is {conv}."
    with pytest.raises(ShapeError) as error:
        spread(nn.Conv2d(1, 1, 2), 3, 3)
    assert str(error.value) == "A mean over the map can be moved into a 1×1 kernel; this one is (2, 2)."


def test_the_arithmetic_is_shown():
    text = show(conv_size, 7, 4, P=1).text()
    assert "(32 + 2·0 − 5) / 1" in show(conv_size, 32, 5).text() and "= 6" in text
    assert "16·(4·4·8 + 1) = 2064" in show(conv_parameters, 16, 4, 8).text()
    assert "r = r + (F − 1)·j = 8 + (4 − 1)·4 = 20" in show(receptive_field, [(5, 1), (4, 4), (4, 1), (2, 2)]).text()
