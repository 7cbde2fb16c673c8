"""`exactify`: modules, ties, optimizers."""

import copy
import weakref

import pytest
import torch
from torch import nn

from workings import exact
from workings.errors import WorkingsError
from workings.exact import ExactTensor


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


FIX = "Drop that first, or take a copy: exactify(copy.deepcopy(module))."


def test_a_parameter_that_something_else_holds_is_refused_before_anything_changes():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    kept = weakref.ref(net[1].weight)
    with pytest.raises(WorkingsError) as error:
        exact.exactify(net)
    text = "exactify turns parameters exact in place, which 1.weight does not allow: a weak reference leads to it. "
    assert str(error.value) == text + FIX
    assert not any(isinstance(p, ExactTensor) for p in net.parameters())
    copied = exact.exactify(copy.deepcopy(net))
    assert all(isinstance(p, ExactTensor) for p in copied.parameters())
    assert kept() is net[1].weight


def test_a_view_of_a_parameter_is_named():
    layer = nn.Linear(2, 2)
    view = layer.weight.view(-1)
    with pytest.raises(WorkingsError, match=r"which weight does not allow: a view of it is in use, such as w.T or w.view"):
        exact.exactify(layer)
    del view
    assert isinstance(exact.exactify(layer).weight, ExactTensor)


def test_what_a_graph_or_a_hook_holds_turns_exact():
    layer = nn.Linear(2, 2)
    layer.weight.register_hook(lambda g: 2 * g)
    y = layer(torch.ones(1, 2))
    y.sum().backward()
    again = layer(torch.ones(1, 2))
    assert isinstance(exact.exactify(layer).weight.grad, ExactTensor)
    assert again.shape == (1, 2)


def test_a_recurrent_layer_which_refers_to_its_weights_itself():
    layer = nn.GRU(2, 1)
    assert isinstance(exact.exactify(layer).weight_ih_l0, ExactTensor)
    other = nn.GRU(2, 1)
    kept = weakref.ref(other.weight_ih_l0)  # Python has one such reference for all who ask
    with pytest.raises(WorkingsError, match=r"which GRU.weight_ih_l0 does not allow: something else holds on to it\. Drop"):
        exact.exactify(other)
    assert kept() is not None
