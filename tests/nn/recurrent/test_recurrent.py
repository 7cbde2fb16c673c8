"""Recurrent layers: PyTorch's both ways, one step by hand, and the kernel against the equations."""

import pytest
import torch
from torch import nn

from workings import exact
from workings.errors import ShapeError, WorkingsError
from workings.nn import GRU, LSTM, RNN, gru, lstm, rnn, rnn_cell
from workings.show import show

PAIRS = [(RNN, nn.RNN, {}), (RNN, nn.RNN, {"nonlinearity": "relu"}), (LSTM, nn.LSTM, {}), (GRU, nn.GRU, {})]


def flat(state):
    return torch.cat(state) if isinstance(state, tuple) else state


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
def test_weights_are_copied_both_ways(ours, theirs, options, bias):
    torch.manual_seed(0)
    reference = theirs(3, 4, bias=bias, batch_first=True, **options).double()
    layer = ours.from_torch(reference)
    back = layer.to_torch()
    X = torch.randn(2, 5, 3, dtype=torch.float64)
    H, last = reference(X)
    for other in (layer, back):
        found, state = other(X)
        torch.testing.assert_close(found, H)
        torch.testing.assert_close(flat(state).reshape(-1), flat(last).reshape(-1))
    for parameter, original in zip(back.parameters(), reference.parameters(), strict=True):
        assert torch.equal(parameter, original) and parameter.data_ptr() != original.data_ptr()
    assert layer.W_x.data_ptr() not in (reference.weight_ih_l0.data_ptr(), back.weight_ih_l0.data_ptr())


def definition(layer):
    """The layer, computed by its equations."""
    if isinstance(layer, LSTM):
        return lambda X, h, c: lstm.__definition__(X, h, c, layer.weights)
    if isinstance(layer, GRU):
        return lambda X, h: gru.__definition__(X, h, layer.weights)
    return lambda X, h: rnn.__definition__(X, h, layer.weights, layer.g)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (2, 5, 4, 3)])
@pytest.mark.parametrize("make", [lambda: RNN(3, 2), lambda: RNN(3, 2, g="relu"), lambda: LSTM(3, 2), lambda: GRU(3, 2)])
def test_the_kernel_computes_the_equations(make, shape):
    torch.manual_seed(1)
    layer = make().double()
    X = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    states = [torch.randn(*shape[:-2], 2, dtype=torch.float64) for _ in range(2 if isinstance(layer, LSTM) else 1)]
    H, last = layer(X, tuple(states) if len(states) == 2 else states[0])
    written, written_last = definition(layer)(X, *states)
    assert H.shape == (*shape[:-1], 2)
    torch.testing.assert_close(H, written)
    torch.testing.assert_close(last, written_last)
    found = torch.autograd.grad(H.sum(), [X, *layer.parameters()], retain_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad(written.sum(), [X, *layer.parameters()]))


def test_any_activation():
    layer = RNN(2, 2, g="sigmoid").double()
    X = torch.randn(1, 2, dtype=torch.float64)
    H, _ = layer(X)
    torch.testing.assert_close(H[0], torch.sigmoid(layer.W_x @ X[0] + layer.b_x + layer.b_h))
    cube = rnn_cell(exact("2").reshape(1), exact("3").reshape(1), (exact([[1]]), exact([[1]]), None, None), lambda a: a**3)
    assert exact.equal(cube, exact("125").reshape(1))


def test_lstm_by_hand():
    # all weights 0: i = f = o = ½ and g = 0, so c = ½·2 = 1 and h = ½ tanh 1
    layer = exact.exactify(LSTM(1, 1).double())
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    H, (h, c) = layer(exact([[7]]), (exact("5").reshape(1), exact("2").reshape(1)))
    assert exact.equal(c, exact("1").reshape(1)) and exact.equal(h, exact("tanh(1)/2").reshape(1))
    assert exact.equal(H[-1], h)


def test_gru_by_hand():
    # all weights 0: z = ½ and n = 0, so h = ½·4 = 2, then 1
    layer = exact.exactify(GRU(1, 1).double())
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    H, h = layer(exact("7; 8"), exact("4").reshape(1))
    assert exact.equal(H, exact("2; 1")) and exact.equal(h, exact("1").reshape(1))


@pytest.mark.parametrize("make", [RNN, LSTM, GRU])
def test_exact_and_float_agree(make):
    torch.manual_seed(2)
    layer = make(2, 2).double()
    X = exact("1 2; -1 1/2")
    with torch.no_grad():
        floats, _ = layer(X.float64())
        found, _ = exact.exactify(layer)(X)
    torch.testing.assert_close(found.float64(), floats)


def test_messages():
    with pytest.raises(ShapeError) as error:
        RNN(3, 4)(torch.zeros(2, 5, 2))
    assert str(error.value) == (
        "rnn needs X as […, t, i] and W_x as [r, i]: i (width of the input) is 2 in X [2, 5, 2], but 3 in W_x [4, 3]."
    )
    with pytest.raises(WorkingsError) as error:
        GRU.from_torch(nn.GRU(3, 4, num_layers=2))
    assert str(error.value) == (
        "GRU is one layer in one direction: GRU(3, 4, num_layers=2) has num_layers=2, bidirectional=False, proj_size=0."
    )
    with pytest.raises(WorkingsError) as error:
        RNN(3, 4, g="sigmoid").to_torch()
    assert str(error.value) == "torch.nn.RNN has tanh and relu only; this RNN's activation is sigmoid."
    with pytest.raises(WorkingsError) as error:
        GRU.from_torch(nn.LSTM(3, 4))
    assert str(error.value) == "GRU takes the weights of a torch.nn.GRU, not of LSTM(3, 4)."


def test_shown():
    torch.manual_seed(3)
    work = show(LSTM(2, 1), torch.randn(2, 2))
    text = work.text(depth=4)
    assert "c = f ⊙ c + i ⊙ g" in text and "h = o ⊙ tanh(c)" in text
