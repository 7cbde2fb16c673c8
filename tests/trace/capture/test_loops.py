"""Long loops, deep recursion and names that are asked for."""

import torch
from torch import nn

from workings.trace.capture.capture import capture


def recursive(x, n):
    if n == 0:
        return x
    return recursive(x * 2, n - 1)


def test_long_loops_and_deep_recursion_stay_bounded():
    def long(x):
        for _ in range(10_000):
            x = x + 1
        return x

    trace = capture(long, torch.zeros(1))
    assert sum(1 for _ in trace.steps()) < 200
    (folded,) = [s for s in trace.steps() if s.kind == "folded"]
    assert folded.note == "turns 51–9999 ran and are not shown"
    assert trace.result.item() == 10_000
    deep = capture(recursive, torch.ones(1), 300)
    assert any("calls deep" in s.note for s in deep.steps())


def test_a_while_loop_inside_folded_turns_is_its_own():
    def f(x):
        for _ in range(60):
            n = 0
            while n < 2:
                n = n + 1
            x = x + n
        return x

    trace = capture(f, torch.zeros(1))
    assert trace.result.item() == 120
    outer = next(s for s in trace.steps() if s.kind == "loop")
    assert [s.kind for s in outer.children] == ["turn"] * 50 + ["folded", "turn"]
    assert outer.children[-2].note == "turns 51–59 ran and are not shown"
    assert [s.name for s in outer.children[-1].children] == ["n", "while", "x"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        S = self.inner(x)
        A = helper(S)
        return A


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.wrapped = Wrapped()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        for _ in range(2):
            x = x + 0
        return self.wrapped(x)


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)


def helper(S):
    E = S.exp()
    A = E / E.sum()
    return A


def test_only_the_names_that_are_asked_for():
    trace = capture(Net(), torch.ones(1, 2), names={"E"})
    assert [s.name for s in trace.steps() if s.kind == "assign"] == ["E"] * 3
    assert [s.address for s in trace.steps() if s.kind == "assign"] == [
        f"{path}.helper.E" for path in ("blocks.0", "blocks.1", "wrapped.block")
    ]
    assert trace.difference == 0
    assert all(s.children for s in trace.steps() if s.kind in ("loop", "turn", "module", "call"))


def test_one_name_as_a_word():
    assert {s.name for s in capture(Net(), torch.ones(1, 2), names="A").steps() if s.kind == "assign"} == {"A"}


def test_effects_of_statements_that_were_not_asked_for_are_known(capsys):
    def f(x):
        y = x + 1
        print("once")
        return y

    trace = capture(f, torch.ones(1), names={"y"})
    assert capsys.readouterr().out == "once\n"
    assert trace.agreement.startswith(
        "not compared with an unmodified run, which would repeat a side effect: print('once') (line"
    )
