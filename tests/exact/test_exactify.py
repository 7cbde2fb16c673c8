"""`exactify`: modules, ties, optimizers."""

import copy

import pytest
import torch
from torch import nn

from workings import exact


def test_ties_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(3, 2)
            self.head = nn.Linear(2, 3, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, i):
            return self.head(self.embed(i))

    model = exact.exactify(Tied().double())
    assert model.head.weight is model.embed.weight
    assert len(list(model.parameters())) == 1
    model(torch.tensor([0, 2])).sum().backward()
    assert isinstance(model.head.weight.grad, exact.ExactTensor)


def test_an_optimizer_made_before_keeps_working():
    torch.manual_seed(0)
    model = nn.Linear(2, 1).double()
    twin = copy.deepcopy(model)
    optimizer, twin_optimizer = (torch.optim.Adam(m.parameters(), lr=0.1) for m in (model, twin))
    exact.exactify(model)
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    for _ in range(3):
        for m, o, data in ((model, optimizer, exact(x)), (twin, twin_optimizer, x)):
            o.zero_grad()
            m(data).square().sum().backward()
            o.step()
    torch.testing.assert_close(model.weight.detach().float64(), twin.weight.detach(), rtol=1e-12, atol=1e-12)


def test_values_as_they_are_or_recovered():
    layer = nn.Linear(1, 1)
    with torch.no_grad():
        layer.weight.fill_(0.1)
        layer.bias.fill_(0.5)
    assert exact.exactify(copy.deepcopy(layer), recover=True).weight.text() == "[1/10]"
    assert exact.exactify(layer).weight.item() == pytest.approx(0.10000000149011612, abs=0)


def test_buffers_and_integers():
    norm = exact.exactify(nn.BatchNorm1d(2).double())
    assert isinstance(norm.running_mean, exact.ExactTensor)
    assert not isinstance(norm.num_batches_tracked, exact.ExactTensor)
    norm(exact("1 2; 3 5"))
    # momentum 1/10: running mean (2, 7/2)/10; running variance 9/10 + (n/(n−1) variance)/10
    assert norm.running_mean.text() == "[1/5  7/20]"
    assert norm.running_var.text() == "[11/10  27/20]"


def test_exactify_twice_changes_nothing():
    layer = exact.exactify(exact.exactify(nn.Linear(2, 2)))
    assert isinstance(layer.weight, exact.ExactTensor)
    assert isinstance(layer.weight, nn.Parameter)
