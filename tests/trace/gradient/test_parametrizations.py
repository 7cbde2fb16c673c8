"""Weights that are computed from others: weight norm, spectral norm, parametrizations of the author's own."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

import workings

X = torch.tensor([[1.0, 2.0], [0.5, -1.0]])


class Net(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.lin = layer

    def forward(self, x):
        y = self.lin(x)
        L = (y**2).sum()
        return L


def layer(name):
    torch.manual_seed(0)
    if name == "convolution":
        return nn.Sequential(nn.Unflatten(1, (1, 2)), parametrizations.weight_norm(nn.Conv1d(1, 2, 1)), nn.Flatten())
    return getattr(parametrizations, name)(nn.Linear(2, 3 if name != "orthogonal" else 2))


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm", "orthogonal", "convolution"])
def test_the_gradients_are_those_of_the_parameters(name):
    net = Net(layer(name)).eval()
    work = workings.show(net, X, backward=True)
    x = X.clone().requires_grad_()
    net(x).backward()
    assert torch.allclose(work["∂L/∂x"], x.grad, atol=1e-5)
    for path, parameter in net.named_parameters():
        step = work.step(f"∂L/∂{path}")
        assert torch.allclose(step.result, parameter.grad, atol=1e-5) and step.note.startswith("rule checked"), path


def test_weight_norm_in_its_own_letters():
    text = workings.show(Net(layer("weight_norm")), X, backward=True).text(substitution="none")
    assert "∂L/∂x = ∂L/∂y lin.weight" in text and "∂L/∂lin.weight = (∂L/∂y)ᵀ x" in text
    assert "n = ‖lin.parametrizations.weight.original1‖_(axis 1)" in text


def test_spectral_norm_calls_its_result_the_weight():
    text = workings.show(Net(layer("spectral_norm")).eval(), X, backward=True).text(substitution="none")
    assert "∂L/∂x = ∂L/∂y lin.weight =" in text


def test_a_parametrization_of_the_author_s_own_opens():
    class Symmetric(nn.Module):
        def forward(self, W):
            S = W + W.T
            return S

    lin = nn.Linear(2, 2)
    parametrize.register_parametrization(lin, "weight", Symmetric())
    text = workings.show(Net(lin), X, backward=True).text(substitution="none")
    assert "S = W + Wᵀ" in text and "∂L/∂W = ∂L/∂S + (∂L/∂S)ᵀ" in text
