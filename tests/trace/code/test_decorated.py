"""The author's functions behind decorators of libraries are opened wherever they are called."""

import contextlib
import functools

import pytest
import torch
from torch import nn

import workings
from workings.trace.capture.capture import capture
from workings.trace.capture.recorder import KEPT

X = torch.tensor([1.0, 2.0])


@torch.no_grad()
def ema(w):
    t = w * 2
    return t + 1


@torch.inference_mode()
def inferred(w):
    t = w * 2
    return t + 1


@torch.no_grad()
@torch.autocast("cpu", enabled=False)
def twice(w):
    t = w * 2
    return t + 1


@contextlib.contextmanager
def nothing():
    yield


@nothing()
def within(w):
    t = w * 2
    return t + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))

    @torch.no_grad()
    def update(self, x):
        m = self.mean * 0.5
        self.mean = m + x
        return self.inner(m)

    def forward(self, x):
        self.update(x)
        return x * self.mean


def parts(steps):
    return [s.name or s.kind for s in steps if s.kind in ("call", "assign", "return")]


@pytest.mark.parametrize("f", [ema, inferred, twice, within])
def test_a_function_inside_another(f):
    trace = capture(lambda x: f(x) * x, X)
    inside = [f.__name__, "t", "return"]
    assert parts(trace.steps()) == ["<lambda>", "return", *inside]
    assert (trace.result.tolist(), trace.difference) == ([3, 10], 0)
    with workings.trace() as work:
        y = f(X)
        z = y * X
    assert parts(work.steps()) == ["y", *inside, "z"]
    assert z.tolist() == [3, 10]


def test_the_decorators_do_their_work():
    x = X.clone().requires_grad_()
    trace = capture(lambda x: ema(x) + 0, x)
    assert not trace.result.requires_grad
    assert not next(s for s in trace.steps() if s.name == "t").live.requires_grad


def test_a_method_of_a_module():
    net, other = Net(), Net()
    trace = capture(net, X)
    assert parts(trace.steps()) == ["Net.update", "m", "self.mean", "return", "return"]
    assert [s.name for s in trace.steps() if s.kind == "module"] == ["", "inner"]
    assert trace.agreement == "matches the unmodified run (largest difference 0)"
    assert net.mean.tolist() == [1, 2]  # 0 · 0.5 + x, once
    with workings.trace() as work:
        out = other.update(X)
    assert parts(work.steps()) == ["out", "Net.update", "m", "self.mean", "return"]
    assert out.shape == (2,)


def test_one_that_lies_deeper_is_seen_to_change_something():
    held = []

    @torch.no_grad()
    def keeps(x):
        held.append(x)
        return x

    trace = capture(lambda x: keeps(x) * 2, X, depth=1)
    assert parts(trace.steps()) == ["<lambda>", "return"]
    assert trace.agreement == "matches the unmodified run (largest difference 0)"
    assert len(held) == 1


@functools.lru_cache
def scale(n):
    m = n * 2
    return m + 1


class Table:
    @functools.cache  # noqa: B019
    def entry(self, n):
        return n + 1


def test_values_that_are_kept():
    scale.cache_clear()
    table = Table()

    def f(x):
        s = scale(3)
        t = scale(3) + table.entry(1)
        return x * s * t

    calls = [s for s in capture(f, X).steps() if s.kind == "call"][1:]
    assert [(s.name, s.result, s.note) for s in calls] == [("scale", 7, ""), ("scale", 7, KEPT), ("Table.entry", 2, "")]
    assert scale.cache_info().misses == 1
    assert [s.name for s in capture(scale, 4).steps() if s.kind == "assign"] == ["m"]
    scale.cache_clear()
    with workings.trace() as work:
        a = scale(3)
        b = scale(3)
    assert parts(work.steps()) == ["a", "scale", "m", "return", "b"]  # the second did not run
    assert (a, b) == (7, 7)
