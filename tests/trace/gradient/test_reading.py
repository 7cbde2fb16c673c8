"""Calls as the rules read them: by PyTorch's names, with arguments wherever they stand."""

import ast

import pytest
import torch
import torch.nn.functional as F

from tests.formulas import at, expression, naming
from workings.trace.capture.capture import capture
from workings.trace.code.statement import syntax_of
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.targets import target_of, unpack
from workings.trace.formula.tree import Apply, Leaf, Number
from workings.trace.gradient.backward import backward
from workings.trace.gradient.reading import changed_name, entry, reading
from workings.trace.step import Step

x, W, b = Leaf("x"), Leaf("W"), Leaf("b")


def read(source, name="y"):
    return reading(Step("assign", name, f"{name} = {source}", formula_of(expression(source)), syntax=naming(name)))


@pytest.mark.parametrize(
    ("source", "formula"),
    [
        ("x.cumsum(0)", Apply("cumsum", (x, Number(0)))),
        ("torch.addmm(b, x, W)", Apply("add", (b, Apply("matmul", (x, W))))),
        ("b.addmv(W, x)", Apply("add", (b, Apply("matmul", (W, x))))),
        ("torch.maximum(x, b)", Apply("max", (x, b))),
        ("torch.max(x, dim=1).values", Apply("max", (x,), (("dim", 1),))),
        ("x.sort(descending=True)[0]", Apply("sort", (x,), (("descending", True),))),
        ("torch.einsum('ij,jk->ik', x, W)", Apply("einsum", (x, W), (("text", "ij,jk->ik"),))),
        ("F.layer_norm(x, s, bias=b)", Apply("layer_norm", (x, Leaf("s"), Number(None), b))),
        ("x.add(b, alpha=2)", Apply("add", (x, Apply("mul", (Number(2), b))))),
        ("F.relu(x, inplace=True)", Apply("relu", (x,))),
        ("(x + b).cumsum(dim=0)", Apply("cumsum", (Apply("add", (x, b)),), (("dim", 0),))),
    ],
)
def test_calls(source, formula):
    assert read(source) == formula


def test_an_entry_is_put():
    assert read("b", "x[0, :]") == Apply("put", (x, b), (("at", at("0, :")),))
    assert entry(Step("assign", "self.h[t]", syntax=naming("self.h[t]"))) == ("self.h", at("t"))
    assert entry(Step("assign", "x", syntax=naming("x"))) is None


@pytest.mark.parametrize(
    ("source", "name"), [("h.mul_(2)", "h"), ("h.mul_(2).add_(1)", "h"), ("self.h.zero_()", "self.h"), ("h.mul(2)", "")]
)
def test_what_a_method_changes(source, name):
    assert changed_name(Step("expression", "", source, syntax=syntax_of(ast.Expr(expression(source))))) == name


def test_targets():
    target = target_of(expression("(a, *rest, z)"))
    assert [name for name, *_ in unpack(target, "", (1, 2, 3, 4), (1, 2, 3, 4))] == ["a", "rest[0]", "rest[1]", "z"]
    assert [name for name, *_ in unpack(None, "m", torch.ones(2, 2).max(0), None)] == ["m.values", "m.indices"]
    assert [name for name, *_ in unpack(None, "out", {"loss": 1}, None)] == ["out['loss']"]
    assert unpack(None, "hs", [1, 2], [1]) == [("hs[0]", 1, 1)]  # what was appended later was not there


# ---- through the tracer


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 3))


CODES = torch.tensor([1, 2])
CALLS = [
    (lambda x: x.prod(), (normal(3),)),
    (lambda x: torch.prod(x, dim=1).sum(), (normal(3, 2),)),
    (lambda x: x.flip(0).tril().norm(), (normal(3, 3),)),
    (lambda x: (x.std(dim=-1) * x.norm(dim=-1)).sum(), (normal(3, 3),)),
    (lambda x, y: torch.minimum(x, y).clamp(-0.5, 0.5).sum(), (normal(4), normal(4, seed=1))),
    (lambda x: F.gelu(x, approximate="tanh").sum() + F.softplus(x).logsumexp(0), (normal(4),)),
    (lambda x: F.leaky_relu(x, 0.2).sum() * F.elu(x).mean(), (normal(4),)),
    (lambda x, W, b: torch.baddbmm(b, x, W).square().sum(), (normal(2, 2, 3), normal(2, 3, 4), normal(2, 2, 4))),
    (lambda x, w, b: F.layer_norm(x, x.shape[-1:], weight=w, bias=b, eps=0.1).square().sum(), tuple(map(normal, (4, 4, 4)))),
    (lambda x, w: F.rms_norm(x, (4,), w).pow(3).sum(), (normal(2, 4), normal(4))),
    (
        lambda x, K, b: F.conv2d(x, K, b, stride=2, padding=1).square().sum(),
        (normal(1, 2, 4, 4), normal(3, 2, 3, 3), normal(3)),
    ),
    (lambda x: (F.max_pool2d(x, 2) * F.avg_pool2d(x, 2)).sum(), (normal(1, 2, 4, 4),)),
    (lambda x, y: F.cosine_similarity(x, y, dim=-1).square().sum(), (normal(2, 3), normal(2, 3, seed=1))),
    (lambda x, y: (F.normalize(x, dim=-1) * y).sum(), (normal(2, 3), normal(2, 3, seed=1))),
    (lambda x, i: x.gather(1, i).square().sum(), (normal(2, 3), torch.tensor([[0, 2], [1, 1]]))),
    (lambda x: x.repeat(2, 3).roll(1, 0).cumsum(1).square().sum(), (normal(2, 2),)),
    (lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.1), (normal(2, 4), CODES)),
    (lambda x, t: F.nll_loss(F.log_softmax(x, dim=-1), t), (normal(2, 4), CODES)),
    (lambda x, t: F.binary_cross_entropy_with_logits(x, t), (normal(4), normal(4, seed=1).sigmoid())),
    (lambda q, k, v: F.scaled_dot_product_attention(q, k, v).square().sum(), (normal(2, 3), normal(4, 3), normal(4, 2))),
    (lambda x, z: torch.lerp(x, z, 0.3).square().sum() + torch.outer(x, z).sum(), (normal(3), normal(3, seed=1))),
]


@pytest.mark.parametrize(("function", "args"), CALLS, ids=map(str, range(len(CALLS))))
def test_rules_of_calls_agree_with_autograd(function, args):
    given = [arg.clone().requires_grad_() if arg.is_floating_point() else arg for arg in args]
    trace = capture(function, *given)
    assert trace.error is None
    backward(trace)
    found = {step.name: step for step in trace.steps() if step.kind == "gradient"}
    names = function.__code__.co_varnames
    for name, arg in zip(names, given, strict=False):
        if arg.requires_grad:
            (theirs,) = torch.autograd.grad(function(*given), arg)
            torch.testing.assert_close(found[f"∂L/∂{name}"].result, theirs)
            assert found[f"∂L/∂{name}"].note.startswith("rule checked"), found[f"∂L/∂{name}"].note
