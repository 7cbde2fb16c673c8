"""Modules are named by their paths, or as the author calls them."""

import torch
from torch import nn

from workings.trace.capture.capture import capture


class Base(nn.Module):
    def forward(self, x):
        h = x + 1
        return h


def test_modules_are_named_by_their_path():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    trace = capture(net, torch.ones(1, 2), depth=3)
    assert [s.name for s in trace.steps() if s.kind == "module"] == ["", "0", "1", "1.0", "1.1"]


def test_addresses():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Base(), Base()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    trace = capture(Net(), torch.ones(2))
    assert [s.address for s in trace.steps() if s.kind == "assign"] == ["turn 1.x", "blocks.0.h", "turn 2.x", "blocks.1.h"]


def test_a_module_keeps_a_forward_of_its_own():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.forward = self.other

        def other(self, x):
            return x + 1

    module = Own()
    capture(module, torch.ones(1))
    assert module(torch.ones(1)).item() == 2


def test_methods_of_self_are_calls():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.softmax = nn.Linear(2, 2)

        def forward(self, x):
            y = self.softmax(x)
            return y

    (step,) = [s for s in capture(Net(), torch.ones(1, 2)).steps() if s.name == "y"]
    assert type(step.formula).__name__ == "Call"


def test_a_shared_module_is_named_by_the_attribute_it_is_called_through():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = self.decode = Base()

        def forward(self, x):
            z = self.encode(x)
            return self.decode(z)

    trace = capture(Tied(), torch.ones(1))
    assert [s.address for s in trace.steps() if s.kind == "module"] == ["", "encode", "decode"]
    assert [s.address for s in trace.steps() if s.name == "h"] == ["encode.h", "decode.h"]


def test_a_module_that_is_called_twice_has_two_addresses():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = Base()

        def forward(self, x):
            return self.cell(self.cell(x))

    trace = capture(Twice(), torch.ones(1))
    assert [s.address for s in trace.steps() if s.kind == "module"] == ["", "cell", "cell#2"]
    assert [s.address for s in trace.steps() if s.name == "h"] == ["cell.h", "cell.h#2"]


def test_every_address_is_given_once():
    def twice(v):
        w = v * 2
        return w

    def f(x):
        y = twice(x) + twice(x)
        return y

    addresses = [s.address for s in capture(f, torch.ones(1)).steps() if s.address]
    assert addresses == ["f", "x", "y", "twice", "twice.v", "twice.w", "twice#2", "twice.v#2", "twice.w#2"]


def test_modules_in_a_plain_function_have_the_author_s_names():
    mlp, heads = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), [nn.Linear(2, 1)]

    class Holder:
        net = Base()

        def run(self, x):
            return self.net(x)

    def f(x):
        h = mlp(x)
        h = Holder().run(h)
        return heads[0](h)

    trace = capture(f, torch.ones(1, 2), depth=3)
    assert [s.name for s in trace.steps() if s.kind == "module"] == ["mlp", "mlp.0", "mlp.1", "net", "heads.0"]


def test_a_method_of_a_module_knows_the_paths():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(Base())

        def encode(self, x):
            return self.inner(x)

    trace = capture(Net().encode, torch.ones(1))
    assert [s.name for s in trace.steps() if s.kind == "module"] == ["inner", "inner.0"]


def test_hooks_of_modules_still_run():
    net, seen = Base(), []
    net.register_forward_hook(lambda module, args, output: seen.append(output.item()) or output * 10)
    trace = capture(net, torch.ones(1), replay=False)
    assert (trace.result.item(), seen) == (20, [2])
    assert [s.name for s in trace.steps() if s.kind == "assign"] == ["h"]


def test_a_forward_behind_a_library_s_decorators():
    class Net(nn.Module):
        @torch.no_grad()
        @torch.autocast("cpu", enabled=False)
        def forward(self, x, by=2):
            y = x * by
            return y

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def forward(self, x):
            z = self.net(x, by=3)
            return z

    for hooked in (False, True):
        outer = Outer()
        if hooked:
            outer.net.register_forward_hook(lambda module, args, out: None)
        trace = capture(outer, torch.ones(1, requires_grad=True))
        (net,) = [s for s in trace.steps() if s.kind == "module" and s.name == "net"]
        assert [s.name for s in net.children] == ["x", "by", "y", ""]
        assert trace.result.item() == 3
        assert not trace.result.requires_grad  # the decorator did its work
        assert trace.difference == 0
        assert "forward" not in outer.net.__dict__
