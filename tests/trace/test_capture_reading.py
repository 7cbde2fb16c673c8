"""What a statement reads and how it is written: options by their place, entries, paths, gradients of parameters."""

import math

import pytest
import torch
from torch import nn

from workings.show.notation import text_formula
from workings.trace.block import Block
from workings.trace.build import formula_of
from workings.trace.capture import capture
from workings.trace.evaluate import evaluate
from workings.trace.operations import formula_of_text, given
from workings.trace.record import Trace
from workings.trace.step import Step


def assigned(trace):
    return {s.name: s for s in trace.steps() if s.kind == "assign"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("max(a, 0)", "max(a, 0)"),
        ("min(a, b, 2)", "min(a, b, 2)"),
        ("sum(xs, 0)", "sum(xs, 0)"),
        ("torch.max(a, b)", "max(a, b)"),
        ("torch.max(x, 0)", "max(x, axis 0)"),
        ("a // b", "floor(a / b)"),
        ("math.floor(x)", "floor(x)"),
        ("a % b", "mod(a, b)"),
        ("'%d' % n", "'%d' % n"),
        ("x.amax((-2, -1))", "max(x, axes −2, −1)"),
        ("P.where(c > 0, P_1)", "P where c > 0, else P₁"),
        ("torch.where(c > 0, P, P_1)", "P where c > 0, else P₁"),
        ("F.cross_entropy(x, y, w)", "CE(x, y, weight=w)"),
        ("x.softmax(-1, 2, 3)", "x.softmax(-1, 2, 3)"),
    ],
)
def test_notation(source, text):
    assert text_formula(formula_of_text(source)) == text


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("x.sum(0, True)", {"dim": 0, "keepdim": True}),
        ("x.var(0, False)", {"dim": 0, "unbiased": False}),
        ("x.var(False)", {"unbiased": False}),
        ("torch.mean(x, 1, keepdim=True)", {"dim": 1, "keepdim": True}),
        ("torch.cat((a, b), 1)", {"dim": 1}),
        ("F.embedding(x, W, 0)", {"padding_idx": 0}),
        ("F.gelu(x, 'tanh')", {"approximate": "'tanh'"}),
    ],
)
def test_options_by_their_place(source, options):
    assert dict(formula_of_text(source).options) == options


@pytest.mark.parametrize("source", ["x.sum(0, True)", "x.var(0, False)", "x.var(False)", "x.amax((-2, -1))", "x // 3", "x % 3"])
def test_what_is_read_is_what_is_computed(source):
    x = torch.tensor([[1.0, 5.0], [7.0, -9.0]])
    # sums 8, −4; variances 9, 49 and 38; the largest is 7; floors of thirds 0 1 2 −3; remainders 1 2 1 0
    expected = {
        "x.sum(0, True)": [[8, -4]],
        "x.var(0, False)": [9, 49],
        "x.var(False)": 38,
        "x.amax((-2, -1))": 7,
        "x // 3": [[0, 1], [2, -3]],
        "x % 3": [[1, 2], [1, 0]],
    }
    assert evaluate(formula_of_text(source), {"x": x}).tolist() == expected[source]
    assert evaluate(formula_of_text("n // 2"), {"n": 7}) == math.floor(7 / 2) == 3


def test_an_axis_that_is_given_by_name():
    def f(x, dim, axis=None):
        A = torch.softmax(x, dim)
        B = x.sum(dim=dim - 1)
        C = x.mean(dim if axis is None else axis)
        return A, B, C

    steps = assigned(capture(f, torch.ones(2, 2), -1))
    assert text_formula(steps["A"].formula) == "softmax(x)"
    assert dict(steps["B"].formula.options) == {"dim": "dim - 1"}  # a name only
    assert dict(steps["C"].formula.options) == {"dim": -1}


def test_entries_at_named_places():
    def f(x, hs):
        for t in range(1, 2):
            a = 2 * x[t]
            b = x[t - 1] + hs[t]
            c = x[t:] * 2
        return a, b, c

    steps = assigned(capture(f, torch.tensor([3.0, 4.0]), [torch.tensor(5.0), torch.tensor(6.0)]))
    assert steps["a"].operands["x[t]"].item() == 4
    assert steps["b"].operands["x[t - 1]"].item() == 3
    assert steps["b"].operands["hs[t]"].item() == 6
    assert "x[t:]" not in steps["c"].operands


def test_the_gradient_of_a_parameter_is_read():
    w = torch.tensor([2.0], requires_grad=True)
    (3 * w).sum().backward()

    def f(w):
        v = w - 0.5 * w.grad
        h = w * 1
        u = w.data * 2
        n = torch.ones(1) * 2 if h.grad is None else h  # of a value in the middle PyTorch would warn
        return v, u, n

    steps = assigned(capture(f, w, replay=False) if False else _quiet(f, w))
    # 2 − 0.5·3 = 1/2
    assert steps["v"].operands["w.grad"].item() == 3
    assert steps["v"].result.item() == 0.5
    assert steps["u"].operands["w.data"].item() == 2
    assert "h.grad" not in steps["n"].operands


def _quiet(f, w):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the function's own
        return capture(f, w, replay=False)


def test_keywords_and_receivers_by_their_paths():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0, 2.0]))
            self.name = "net"

        def forward(self, x):
            a = self.w.cumsum(0)
            b = nn.functional.rms_norm(x, (2,), weight=self.w)
            c = print(self.name) or x
            return a, b, c

    steps = assigned(capture(Net(), torch.ones(2)))
    assert steps["a"].operands["self.w"].tolist() == [1, 2]
    assert steps["b"].operands["self.w"].tolist() == [1, 2]
    assert "self.name" not in steps["c"].operands


def test_operations_whose_signature_python_does_not_know():
    assert given(torch.Tensor.__pow__, {"a": 1}) == {"a": 1}
    assert given(torch.nn.functional.softmax, {"dim": None}) == {}


def test_a_block_knows_its_modules():
    trace = Trace(Step("root"))
    block = Block(trace)
    layer = nn.Linear(1, 1)
    import sys

    block.begin(sys._getframe())
    block.end(None)
    assert trace.modules == {}
    assert formula_of is not None
    assert layer.in_features == 1
