"""Hooks are named as what they are: those of tensors change a gradient on its way, those of modules what goes in and out."""

import torch
from torch import nn

import workings

X = torch.tensor([[1.0, 2.0]])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        h = self.a(x)
        y = self.b(h)
        L = y.sum()
        return L


def gradients(net, x):
    x = x.clone().requires_grad_()
    net.zero_grad()
    net(x).backward()
    return {"x": x.grad, **{name: p.grad for name, p in net.named_parameters()}}


def assert_right(work, net, x):
    for name, gradient in gradients(net, x).items():
        assert torch.allclose(work[f"∂L/∂{name}"], gradient), name


def test_a_hook_of_a_tensor_stands_between_its_uses_and_what_made_it():
    def f(x, w):
        h = x * w
        h.register_hook(lambda g: g * 10)
        L = (h**2).sum()
        return L

    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    work = workings.show(f, x, w, backward=True)
    # h = (3, 8): 2h = (6, 16) arrives, (60, 160) goes on: ∂L/∂x = (180, 640)
    assert work["∂L/∂h from its uses"].tolist() == [6, 16] and work["∂L/∂h"].tolist() == [60, 160]
    assert work["∂L/∂x"].tolist() == [180, 640]
    text = work.text()
    assert "∂L/∂h = ∂L/∂h from its uses·10 = [6, 16]·10 = [60  160]" in text
    assert "changed by its hook; rule checked: largest difference 0" in text and "elsewhere" not in text
    assert work.text().count("rule checked") == 4


def test_a_hook_runs_once_and_stays():
    seen = []

    def note(gradient):
        seen.append(gradient.clone())
        return -gradient

    h = torch.tensor([1.0, 2.0], requires_grad=True)
    h.register_hook(note)

    def f(h):
        y = h * h
        z = y + h
        L = z.sum()
        return L

    work = workings.show(f, h, backward=True)
    assert len(seen) == 1 and work["∂L/∂h"].tolist() == [-3, -5]
    assert "∂L/∂h = note(∂L/∂h from its uses)" in work.text() and "changed by its hook note" in work.text()
    f(h).backward()
    assert len(seen) == 2 and h.grad.tolist() == [-3, -5]


def test_a_hook_that_only_looks_changes_no_line():
    def f(x):
        h = x * 2
        h.register_hook(print_nothing)
        L = h.sum()
        return L

    text = workings.show(f, torch.ones(2), backward=True).text()
    assert "from its uses" not in text and "∂L/∂h = ones(2)" in text


def print_nothing(gradient):
    return None


def test_a_hook_of_a_parameter():
    net = Net()
    net.a.weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
    work = workings.show(net, X, backward=True)
    assert_right(work, net, X)
    assert work["∂L/∂a.weight"].abs().max() <= 0.1
    assert "changed by its hook" in work.text() and "elsewhere" not in work.text()


def double(module, args, output):
    doubled = output * 2
    return doubled


def shift(module, args):
    return (args[0] + 1,)


def test_forward_hooks_of_modules_are_shown_by_their_kind():
    net = Net()
    net.a.register_forward_hook(double)
    net.b.register_forward_pre_hook(shift)
    work = workings.show(net, X, backward=True)
    assert_right(work, net, X)
    lines = [line.strip() for line in work.text(substitution="none").splitlines()]
    assert "double: forward hook of a" in lines and "shift: forward pre-hook of b" in lines
    assert any(line.startswith("doubled = output·2") for line in lines)
    assert not [line for line in lines if "not written out" in line]
    assert "forward hook of a" in work.html()


def test_hooks_of_the_author_s_own_modules():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()
            self.net.register_forward_hook(double)

        def forward(self, x):
            L = self.net(x)
            return L

    text = workings.show(Outer(), X).text()
    assert "double: forward hook of net" in text and "doubled = output·2" in text


def test_a_backward_hook_of_a_module_is_named():
    def triple(module, given, received):
        return (given[0] * 3,)

    net = Net()
    net.b.register_full_backward_hook(triple)
    work = workings.show(net, X, backward=True)
    assert_right(work, net, X)
    assert "the rule is not written out: the backward hook triple of b changes it" in work.text()


def test_a_backward_hook_that_only_looks_leaves_the_rule():
    net = Net()
    net.b.register_full_backward_hook(lambda module, given, received: None)
    work = workings.show(net, X, backward=True)
    assert work.step("∂L/∂h").note.startswith("rule checked")
    assert_right(work, net, X)
