"""The gradient of recurrent layers: of an LSTM's fused kernel, and of the cells that PyTorch runs one by one."""

import pytest
import torch
from torch import nn

import workings
from workings.trace.operations.recurrent import ROWS


def lines(layer, *shape):
    """The gradients of a net around a layer, against autograd."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            out, _ = self.layer(x)
            L = (out * out).sum()
            return L

    torch.manual_seed(0)
    net, x = Net(), torch.randn(*shape, requires_grad=True)
    found = {step.name: step for step in workings.show(net, x, backward=True).steps() if step.kind == "gradient"}
    theirs = torch.autograd.grad(net(x), [x, *net.parameters()])
    for name, gradient in zip(["x", *dict(net.named_parameters())], theirs, strict=True):
        torch.testing.assert_close(found[f"∂L/∂{name}"].result, gradient)
    return found


@pytest.mark.parametrize(
    "options", [{}, {"bias": False}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True}], ids=str
)
def test_an_lstm_has_the_rules_of_backpropagation_through_time(options):
    found = lines(nn.LSTM(2, 3, **options), 4, 2, 2)
    assert not {name: step.note for name, step in found.items() if step.note and not step.note.startswith("rule checked")}


@pytest.mark.parametrize("layer", [nn.GRU(2, 3), nn.RNN(2, 3), nn.RNN(2, 3, nonlinearity="relu", bias=False)], ids=str)
def test_other_layers_have_a_rule_for_each_parameter(layer):
    found = lines(layer, 9, 2, 2)
    own = [step for name, step in found.items() if "weight" in name or "bias" in name]
    assert own and all(step.note.startswith("rule checked") for step in own), [step.note for step in own]


def test_one_step_by_hand():
    # All weights 0, c = 1: i = f = o = 1/2, g = 0, c' = 1/2, h' = tanh(1/2)/2. With ∂L/∂h' = 1 and t = tanh(1/2):
    # ∂L/∂c' = (1 − t²)/2, so δ_i = 0, δ_f = ∂L/∂c'·1·1/4, δ_g = ∂L/∂c'·1/2, δ_o = t·1/4.
    compute = {row.name: row.compute for row in ROWS}["lstm_deltas"]
    one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    W = torch.zeros(4, 1)
    t = torch.tensor(0.5).tanh()
    to_c = (1 - t**2) / 2
    found = compute(one[None], zero, zero, one[None], W, W, None, None, zero, one)
    torch.testing.assert_close(found.flatten(), torch.stack([torch.zeros(()), to_c / 4, to_c / 2, t / 4]))
