"""A step by its address: a name in the end, a gradient of one value, a parameter by its path."""

import pytest
import torch
from torch import nn

import workings
from workings import WorkingsError

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def again(x):
    A = x + 1
    A = A * 2
    B = A * A
    return (A + B).sum()


def test_a_gradient_is_that_of_the_value_it_names():
    work = workings.show(again, X, backward=True)
    # With A = 2(x + 1): ∂L/∂A#2 = 1 + 2A, of which 1 comes from the return; ∂L/∂(x + 1) is twice that.
    assert work["∂L/∂A#2"].tolist() == [[9, 13], [17, 21]]
    assert work["∂L/∂A"].tolist() == work["∂L/∂x"].tolist() == [[18, 26], [34, 42]]
    assert work["∂L/∂A#2 from output"].tolist() == [[1, 1], [1, 1]]


def test_an_argument_that_is_assigned_again_keeps_its_gradient():
    def f(x):
        x = x * 2
        return (x * x).sum()

    work = workings.show(f, X, backward=True)
    assert work["∂L/∂x"].tolist() == (8 * X).tolist() and work["∂L/∂x#2"].tolist() == (4 * X).tolist()
    assert work["x#1"].tolist() == X.tolist() and work["x#2"].tolist() == work["x"].tolist() == (2 * X).tolist()


def test_a_value_without_a_gradient_is_not_given_anothers():
    def f(x):
        y = x.detach()
        y = x * 2
        return y.sum()

    with pytest.raises(WorkingsError, match=r"^No step is called '∂L/∂y'\. Did you mean ∂L/∂y#2 or ∂L/∂x\?$"):
        workings.show(f, X, backward=True)["∂L/∂y"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        self.h = x * self.w
        return self.lin(self.h).sum()


@pytest.mark.parametrize("address", ["∂L/∂w", "∂L/∂self.w", "∂L/∂lin.weight", "∂L/∂self.lin.weight", "h", "self.h"])
def test_with_and_without_self(address):
    net = Net()
    work = workings.show(net, X, backward=True)
    net(X).backward()
    known = {"w": net.w.grad, "lin.weight": net.lin.weight.grad, "h": X}
    torch.testing.assert_close(work[address], known[address.removeprefix("∂L/∂").removeprefix("self.")])


def test_parameters_of_layers_by_their_paths():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
    work = workings.show(net, X, backward=True, depth=3)
    net(X).sum().backward()
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(work[f"∂L/∂{name}"], parameter.grad)
    assert work["2.∂L/∂weight"].shape == (2, 3)


def test_each_call_of_a_function_has_its_own_gradients():
    def double(x):
        y = x * 2
        return y

    def f(x):
        a = double(x)
        b = double(a)
        return (b * 3).sum()

    work = workings.show(f, X, backward=True)
    # ∂L/∂b = 3, so the second call's x has 6, the first call's 12.
    assert (work["double.∂L/∂x"][0, 0], work["double#2.∂L/∂x"][0, 0]) == (12, 6)


def test_a_parameter_that_several_calls_use_has_one_gradient():
    class Turns(nn.Module):
        def __init__(self):
            super().__init__()
            self.W = nn.Parameter(torch.eye(2))

        def step(self, h):
            return h @ self.W

        def forward(self, h):
            for _ in range(2):
                h = self.step(h)
            return h.sum()

    net = Turns()
    work = workings.show(net, X, backward=True)
    net(X).backward()
    torch.testing.assert_close(work["∂L/∂W"], net.W.grad)


def test_an_address_is_text():
    with pytest.raises(WorkingsError, match=r"^Ask for a step by its address, a string such as 'A', not by 0\.$"):
        workings.show(again, X)[0]
