"""What a statement reads and how it is written: options by their place, entries, paths, gradients of parameters."""

import ast
import math

import pytest
import torch
from torch import nn

import workings
from workings.trace.capture.capture import capture
from workings.trace.capture.operation_syntax import unusual_options
from workings.trace.code.look_up import MISSING, look_up
from workings.trace.code.statement import lookup_of
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import Apply, Call, Code, Leaf, Number, Sequence


def assigned(trace):
    return {s.name: s for s in trace.steps() if s.kind == "assign"}


def expression(source):
    return ast.parse(source, mode="eval").body


a, b, c, x, y, P = map(Leaf, "abcxyP")


@pytest.mark.parametrize(
    ("source", "formula"),
    [
        ("max(a, 0)", Call("max", (a, Number(0)))),
        ("min(a, b, 2)", Call("min", (a, b, Number(2)))),
        ("sum(x, 0)", Call("sum", (x, Number(0)))),
        ("torch.max(a, b)", Call("max", (a, b))),
        ("torch.max(x, 0)", Apply("max", (x,), (("dim", 0),))),
        ("x.amax((-2, -1))", Apply("amax", (x,), (("dim", Sequence((Number(-2), Number(-1)))),))),
        ("a // b", Apply("floor", (Apply("div", (a, b)),))),
        ("math.floor(x)", Apply("floor", (x,))),
        ("a % b", Apply("mod", (a, b))),
        ("'%d' % a", Code("'%d' % a")),
        ("P.where(c, a)", Apply("where", (c, P, a))),
        ("torch.where(c, P, a)", Apply("where", (c, P, a))),
        ("F.cross_entropy(x, y, w)", Apply("cross_entropy", (x, y), (("weight", Leaf("w")),))),
        ("x.softmax(-1, 2, 3)", Code("x.softmax(-1, 2, 3)")),
    ],
)
def test_formulas(source, formula):
    assert formula_of(expression(source)) == formula


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("x.sum(0, True)", {"dim": 0, "keepdim": True}),
        ("x.var(0, False)", {"dim": 0, "unbiased": False}),
        ("x.var(False)", {"unbiased": False}),
        ("torch.mean(x, 1, keepdim=True)", {"dim": 1, "keepdim": True}),
        ("torch.cat((a, b), 1)", {"dim": 1}),
        ("F.embedding(x, W, 0)", {"padding_idx": 0}),
        ("F.gelu(x, 'tanh')", {"approximate": Number("tanh")}),
    ],
)
def test_options_by_their_place(source, options):
    assert dict(formula_of(expression(source)).options) == options


@pytest.mark.parametrize(
    "source", ["x.sum(0, True)", "x.var(0, False)", "x.var(False)", "x.amax((-2, -1))", "x // 3", "x % 3"]
)
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
    assert evaluate(formula_of(expression(source)), {"x": x}).tolist() == expected[source]
    assert evaluate(formula_of(expression("n // 2")), {"n": 7}) == math.floor(7 / 2) == 3


def test_an_axis_that_is_given_by_name():
    def f(x, dim, axis=None):
        A = torch.softmax(x, dim)
        B = x.sum(dim=dim - 1)
        C = x.mean(dim if axis is None else axis)
        return A, B, C

    steps = assigned(capture(f, torch.ones(2, 2), -1))
    assert steps["A"].formula == Apply("softmax", (x,), (("dim", -1),))
    assert dict(steps["B"].formula.options) == {"dim": Code("dim - 1")}  # a name only
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
        u = w.data * 2
        return v, u

    steps = assigned(capture(f, w, replay=False))
    # 2 − 0.5·3 = 1/2
    assert steps["v"].operands["w.grad"].item() == 3
    assert steps["v"].result.item() == 0.5
    assert steps["u"].operands["w.data"].item() == 2


def test_a_gradient_that_is_not_there_is_not_asked_for():
    h = 2 * torch.ones(1, requires_grad=True)  # PyTorch would warn, and a warning is an error here
    assert look_up(lookup_of("h.grad"), {"h": h}, {}) is MISSING
    assert look_up(lookup_of("x.grad"), {"x": torch.ones(1)}, {}) is MISSING


def test_keywords_and_receivers_by_their_paths():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0, 2.0]))
            self.name = "net"

        def forward(self, x):
            a = self.w.cumsum(0)
            b = nn.functional.rms_norm(x, (2,), weight=self.w)
            c = x.fill_(len(self.name.strip()))
            return a, b, c

    steps = assigned(capture(Net(), torch.ones(2)))
    assert steps["a"].operands["self.w"].tolist() == [1, 2]
    assert steps["b"].operands["self.w"].tolist() == [1, 2]
    assert set(steps["c"].operands) == {"x"}  # tensors and numbers only


def test_operations_whose_signature_python_does_not_know():
    assert unusual_options(torch.Tensor.__pow__, {"a": 1}) == {"a": 1}
    assert unusual_options(torch.nn.functional.softmax, {"dim": None}) == {}


def test_powers_in_a_block_without_source():
    names = {"workings": workings, "x": torch.tensor([3.0])}
    exec(compile("with workings.trace() as work:\n    y = x ** 2", "<nowhere>", "exec"), names)
    assert names["y"].item() == 9
    (step,) = [s for s in names["work"].steps() if s.kind == "operation"]
    assert step.source == "t1 = x ** 2"


def test_a_block_knows_its_modules():
    layer = nn.Linear(1, 1)
    with workings.trace() as work:
        y = layer(torch.ones(1))
    assert y.shape == (1,)
    assert work.modules == {"layer": layer}
