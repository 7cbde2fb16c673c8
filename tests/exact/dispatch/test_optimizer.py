"""Optimizers made before `exactify` go on; those of ordinary parameters are left alone."""

import copy

import pytest
import torch
from torch import nn

from workings import exact
from workings.errors import DomainError


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", ["Adam", "Adagrad", "RMSprop", "NAdam", "LBFGS"])
def test_an_optimizer_goes_on_after_exactify(name, steps):
    torch.manual_seed(0)
    start = nn.Linear(2, 1).double()
    weights = []
    for turn_exact in (False, True):
        net = copy.deepcopy(start)
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.125)

        def loss(net=net, optimizer=optimizer):
            optimizer.zero_grad()
            value = (net(torch.ones(1, 2, dtype=torch.float64)) ** 2).sum()
            value.backward()
            return value

        for _ in range(steps):
            optimizer.step(loss)
        if turn_exact:
            exact.exactify(net)
        optimizer.step(loss)
        weights.append(torch.tensor(net.weight.tolist()))
    torch.testing.assert_close(*weights, rtol=1e-6, atol=1e-6)


def test_optimizers_of_ordinary_parameters_stay_ordinary():
    exact.exactify(nn.Linear(1, 1))
    p = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([p])
    for _ in range(2):
        p.sum().backward()
        optimizer.step()
    assert type(optimizer.state[p]["exp_avg"]) is torch.Tensor


def test_a_fused_optimizer_is_refused():
    p = exact("1 2").requires_grad_()
    optimizer = torch.optim.Adam([p], fused=True)
    p.sum().backward()
    with pytest.raises(DomainError, match="made with fused=False"):
        optimizer.step()
