"""Entries of lists, tuples and dicts: each has its own gradient, whatever stands in the brackets."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from workings import exact
from workings.trace.capture.capture import capture
from workings.trace.formula.magnitude import largest_term
from workings.trace.formula.tree import Apply, Leaf, Number, Sequence, leaves
from workings.trace.gradient.backward import backward
from workings.trace.operations import OPERATIONS
from workings.trace.tensors.difference import is_rounding


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed + 11)).requires_grad_()


def gradients(function, *args):
    trace = capture(function, *args)
    assert trace.error is None
    backward(trace)
    return {step.name: step for step in trace.steps() if step.kind == "gradient"}


def all_checked(found):
    """Every line has a rule that agrees with autograd, or is a sum of such lines with nothing left over."""
    return all(step.note.startswith("rule checked") or (step.formula and not step.note) for step in found.values())


def appended(x, W):
    h = [x]
    for t in range(2):
        h.append(torch.tanh(W @ h[t]))
    return h[2].sum()


def cached(x, W):
    h = {}
    h["a"] = W @ x
    h["b"] = torch.tanh(h["a"])
    return h["b"].sum()


def by_step(x, W):
    hs = {-1: torch.zeros(2, dtype=x.dtype)}
    for t in range(2):
        hs[t] = torch.tanh(W @ x[t] + W @ hs[t - 1])
    return hs[1].sum()


def filled(x, W):
    h = [x, None]
    for t in range(1):
        h[t + 1] = torch.tanh(W @ h[t])
    return h[1].sum()


def chosen(x, W):
    h = {}
    for k in ("a", "b"):
        h[k] = torch.tanh(W @ (h["a"] if k == "b" else x))
    return h["b"].sum()


def replaced(x, W):
    h = [x, x * 2]
    h[1] += h[0]
    h[0] = W @ h[1]
    h[-1] = h[-1] * 2
    return (h[0] * h[1]).sum()


def sliced(x, W):
    h = [x]
    for t in range(3):
        h.append(torch.tanh(W @ h[-1] + h[t - 1]))
    return torch.stack(h[1:]).sum()


def in_a_list(x, W):
    h = [x.clone(), W]
    h[0][0] = 3.0
    return (h[0] @ h[1]).sum()


def in_a_loop(x, W):
    for layer in [{"w": W, "b": (x,)}]:
        x = x @ layer["w"] + layer["b"][0]
    return x.sum()


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (appended, ["h[1]", "h[2]", "W from h[1]", "W from h[2]"]),
        (cached, ["h['a']", "h['b']"]),
        (by_step, ["hs[0]", "hs[1]", "W from hs[0]"]),
        (filled, ["h[1]"]),
        (chosen, ["h['a']", "h['b']", "W from h['a']"]),
        (replaced, ["h[1]", "h[1]#2", "h[1]#3", "h[0]#2"]),
        (sliced, ["h[1]", "h[2]", "h[3]", "W from h[3]"]),
        (in_a_list, ["h[0]", "h[0]#2"]),
        (in_a_loop, []),
    ],
)
def test_every_entry_has_its_rule(function, named):
    x, W = normal(2, 2), normal(2, 2, seed=1)
    found = gradients(function, x, W)
    assert all_checked(found)
    assert {f"∂L/∂{name}" for name in (*named, "x", "W")} <= set(found)
    for name, theirs in zip("xW", torch.autograd.grad(function(x, W), (x, W)), strict=True):
        torch.testing.assert_close(found[f"∂L/∂{name}"].result, theirs)


def test_entries_of_what_is_given():
    def listed(x, ws):
        for i in range(2):
            x = x @ ws[i]
        return x.sum()

    def nested(x, params):
        for i in range(2):
            x = x @ params["w"][i] + params["b"][i]
        return x.sum()

    x, W, V, b, c = (normal(2, 2, seed=i) for i in range(5))
    found = gradients(listed, x, [W, V])
    assert all_checked(found) and found["∂L/∂ws[1]"].formula == Apply(
        "matmul", (Apply("transpose", (Leaf("x#2"),)), Leaf("∂L/∂x#3"))
    )
    torch.testing.assert_close(found["∂L/∂ws[0]"].result, torch.autograd.grad(listed(x, [W, V]), W)[0])
    params = {"w": [W, V], "b": (b, c)}
    found = gradients(nested, x, params)
    assert all_checked(found)
    for name, tensor in {"params['w'][0]": W, "params['w'][1]": V, "params['b'][0]": b, "params['b'][1]": c}.items():
        torch.testing.assert_close(found[f"∂L/∂{name}"].result, torch.autograd.grad(nested(x, params), tensor)[0])


def test_parameters_and_layers_in_lists():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.ws = nn.ParameterList([torch.tensor([[1.0, 2.0], [0.5, 1.0]]), torch.eye(2)])
            self.named = nn.ParameterDict({"v": torch.ones(2)})
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

        def forward(self, x):
            for i in range(2):
                x = torch.tanh(self.layers[i](x @ self.ws[i]))
            for layer in self.layers:
                x = layer(x) * self.named["v"]
            return x.sum()

    torch.manual_seed(0)
    model = Listed()
    found = gradients(model, normal(3, 2, dtype=torch.float32))
    assert all_checked(found)
    assert {"∂L/∂self.ws[0]", "∂L/∂self.ws[1]", "∂L/∂self.named['v']", "∂L/∂layers.1.weight", "∂L/∂layers.0.bias"} <= {
        *found
    }


def test_exact_entries():
    def memo(x, w):
        h = {0: x}
        for n in range(2):
            h[n + 1] = w * h[n]
        return h[2].sum()

    x, w = exact("1 2").requires_grad_(), exact("w_entries").requires_grad_()
    found = gradients(memo, x, w)
    assert all_checked(found) and {"∂L/∂h[1]", "∂L/∂h[2]"} <= {*found}
    assert exact.equal(found["∂L/∂w"].result, 6 * w.detach())  # L = w² (1 + 2), so ∂L/∂w = 2 w · 3


# ---- a part of a tensor, and a tensor in parts


def test_a_change_in_place_before_another():
    def f(x):
        y = x.clone()
        y[y < 0] *= 0.1
        y[0] = 1
        return (y * y).sum()

    x = torch.tensor([[-0.1, 0.2], [0.3, -0.4]], dtype=torch.float64, requires_grad=True)
    found = gradients(f, x)
    assert all_checked(found)
    # y#2 = [-0.01 0.2; 0.3 -0.04], y#3 = [1 1; 0.3 -0.04]: ∂L/∂y#3 = 2 y#3, and row 0 of y#2 was overwritten
    torch.testing.assert_close(found["∂L/∂y#2"].result, torch.tensor([[0, 0], [0.6, -0.08]], dtype=torch.float64))
    torch.testing.assert_close(found["∂L/∂y"].result, torch.tensor([[0, 0], [0.6, -0.008]], dtype=torch.float64))


def test_the_rest_of_a_tensor_that_is_taken_apart():
    def f(x):
        a, *rest, z = x
        return (a * rest[0]).sum() + (rest[1] * z).sum()

    found = gradients(f, normal(4, 2))
    assert all_checked(found)
    rows = Sequence(tuple(Leaf(f"∂L/∂{name}") for name in ("a", "rest[0]", "rest[1]", "z")))
    assert found["∂L/∂x"].formula == Apply("stack", (rows,), (("dim", 0),))


# ---- operands by name, unknown parts


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.sum(input=F.softmax(input=x, dim=1) * x),
        lambda x: F.layer_norm(input=x, normalized_shape=(2,)).square().sum(),
        lambda x: F.linear(input=x, weight=x, bias=x[0]).square().sum(),
        lambda x: F.cross_entropy(input=x, target=torch.tensor([0, 1])),
        lambda x: torch.matmul(input=x, other=torch.exp(input=x)).sum(),
        lambda x: torch.cumsum(input=x, dim=0).square().sum(),
        lambda x: torch.stack(tensors=[x, 2 * x], dim=0).square().sum(),
        lambda x: F.mse_loss(input=x, target=torch.zeros_like(x)),
        lambda x: F.smooth_l1_loss(x, target=torch.ones_like(x)),
        lambda x: torch.where(torch.tensor([True, False]), x, 2 * x).square().sum(),
        lambda x: torch.take_along_dim(x, torch.tensor([[0], [1]]), 1).square().sum(),
        lambda x: torch.take_along_dim(x, torch.tensor([[0], [1]]), dim=1).square().sum(),
    ],
)
def test_operands_by_name_and_constants(function):
    x = normal(2, 2)
    found = gradients(function, x)
    assert found and all_checked(found)
    torch.testing.assert_close(found["∂L/∂x"].result, torch.autograd.grad(function(x), x)[0])


def test_an_unknown_part_leaves_the_others_their_rules():
    def f(z, u, x):
        return (z * u).sum() + torch.linalg.svdvals(x).sum()

    found = gradients(f, normal(2, 2), normal(2, 2, seed=1), normal(2, 2, seed=2))
    assert found["∂L/∂z"].formula == Leaf("u") and found["∂L/∂z"].note.startswith("rule checked")
    assert found["∂L/∂x"].note == "the rule is not written out: svdvals(…) cannot be computed again: it has no formula here"


# ---- what is rounding

OTHER_NUMBERS = "the rule is not written out: the one that was tried gives other numbers than autograd"


def test_a_small_false_rule_is_not_rounding():
    small = torch.tensor([9e-6, 9e-6])
    assert not is_rounding(6e-6, small, computed_with=[torch.ones(2)])
    assert is_rounding(1e-12, small, computed_with=[torch.ones(2)])
    assert not is_rounding(0.5, torch.ones(2, dtype=torch.bfloat16))  # three digits, so half a one is a difference
    for bad in (float("nan"), float("inf"), float("-inf")):  # has no size that rounding could be measured by
        assert not is_rounding(1e-5, torch.tensor([bad, 1e-6])) and is_rounding(1e-5, torch.tensor([bad, 1.0]))


@pytest.mark.parametrize(("dtype", "off"), [(torch.float64, 1e-11), (torch.float32, 2e-4), (torch.bfloat16, 0.15)])
def test_a_rule_that_is_off_by_more_than_rounding_is_told(monkeypatch, dtype, off):
    """Of sixteen digits thirteen must be right, of seven four, of three one."""
    right = OPERATIONS["mul"].gradient

    def wrong(node):
        return tuple(None if part is None else Apply("div", (part, Number(1 - off))) for part in right(node))

    def f(x, y):
        L = (x * y).sum()
        return L

    x, y = (torch.tensor(row, dtype=dtype, requires_grad=True) for row in ([1.0, 2.0], [3.0, 5.0]))
    assert all_checked(gradients(f, x, y))
    monkeypatch.setitem(OPERATIONS, "mul", replace(OPERATIONS["mul"], gradient=wrong))
    assert gradients(f, x, y)["∂L/∂x"].note.startswith(OTHER_NUMBERS)


def test_the_terms_of_a_rule():
    A, G = torch.tensor([0.5, 0.5]), torch.tensor([1.0, 1.0])
    rule = Apply("mul", (Leaf("A"), Apply("sub", (Leaf("G"), Apply("rowsum", (Apply("mul", (Leaf("A"), Leaf("G"))),))))))
    assert largest_term(rule, {"A": A, "G": G}).tolist() == [1, 1]  # 0.5 (1 + (0.5 + 0.5)), where the rule itself gives 0
    product = Apply("mul", (Leaf("big"), Apply("neg", (Leaf("small"),))))
    assert largest_term(product, {"big": torch.tensor(4.0), "small": torch.tensor(0.25)}).item() == 1
    lettered = Apply("mul", (Leaf("d"), Number(-2)))
    assert largest_term(lettered, {"G": G}, {"d": Apply("sub", (Leaf("G"), Leaf("G")))}).tolist() == [4, 4]


def test_a_rule_is_measured_by_its_own_terms(monkeypatch):
    """A rule that forgets a part is told, however small the gradient is beside the operands."""

    def f(x, W):
        h = W @ (x * 1e-4)
        return h.sum()

    x, W = normal(2, 2, dtype=torch.float32), normal(2, 2, seed=1, dtype=torch.float32)
    assert all_checked(gradients(f, x, W))
    right = OPERATIONS["matmul"].gradient

    def wrong(node):
        return tuple(None if part is None else Apply("mul", (part, Number(0.5))) for part in right(node))

    monkeypatch.setitem(OPERATIONS, "matmul", replace(OPERATIONS["matmul"], gradient=wrong))
    assert gradients(f, x, W)["∂L/∂W"].note.startswith(OTHER_NUMBERS)


def test_a_call_that_is_read_beside_an_unknown_part():
    def f(z, x):
        return z.cumsum(0).sum() + torch.linalg.svdvals(x).sum()

    found = gradients(f, normal(2, 2), normal(2, 2, seed=2))
    assert found["∂L/∂z"].note.startswith("rule checked")


def test_a_factor_that_reads_the_value_too_has_its_own_part():
    """x stands in the function too, so ∂L/∂y times the function's value is not the gradient of x."""
    x = normal(2, 2)

    def inner():
        return torch.linalg.svdvals(x)

    def f(x):
        y = x * inner()
        return y.sum()

    found = gradients(f, x)
    assert "∂L/∂inner.x" in leaves(found["∂L/∂x"].formula) and found["∂L/∂x"].note.startswith("rule checked")
    torch.testing.assert_close(found["∂L/∂x"].result, torch.autograd.grad(f(x), x)[0])
