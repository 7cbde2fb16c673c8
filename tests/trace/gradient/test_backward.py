"""The backward pass as steps: autograd's numbers, our rules, each compared with the other."""

import math
from dataclasses import replace

import pytest
import torch

from tests.formulas import at, naming
from workings import exact
from workings.trace.capture.capture import capture
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Call, Leaf, Number, Sequence, leaves
from workings.trace.gradient.backward import backward
from workings.trace.gradient.loss import GradientError
from workings.trace.operations import OPERATIONS
from workings.trace.record import Trace
from workings.trace.step import Step

CHECKED = "rule checked: largest difference 0"


def op(name, *args, **options):
    parts = tuple(Leaf(x) if isinstance(x, str) else Number(x) if isinstance(x, (int, float)) else x for x in args)
    return Apply(name, parts, tuple(options.items()))


class Work:
    """A trace written by hand: inputs, then statements computed from their formulas."""

    def __init__(self, **inputs):
        self.lives = dict(inputs)
        self.trace = Trace(Step("root", children=[Step("input", k, result=_copy(v), live=v) for k, v in inputs.items()]))

    def let(self, name, formula, live=None, kind="assign"):
        read = {text: self.lives[text] for text in leaves(formula)}
        live = evaluate(formula, read) if live is None else live
        step = Step(
            kind, name, formula=formula, operands={k: _copy(v) for k, v in read.items()}, result=_copy(live), live=live
        )
        step.syntax = naming(name) if name else step.syntax
        self.trace.root.children.append(step)
        self.lives[name] = live
        return step

    def backward(self, loss=None):
        backward(self.trace, loss)
        return self


def _copy(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def gradients_of(root):
    """Name → step of every gradient in a trace; the last of a name counts."""
    return {step.name: step for step in root.walk() if step.kind == "gradient"}


def number(value):
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


# ---- worked by hand


def attention(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    L = Z.sum()
    return L


def test_two_by_two_attention_exactly():
    # ∂L/∂Z = 1, so both rows of ∂L/∂A = 1 Vᵀ are (2, 1); with row (½, ½) of A, A ⊙ (∂L/∂A − 3/2) = (¼, −¼).
    Q, K, V = (exact(text).requires_grad_() for text in ("1 0; 0 1", "1 1; 1 0", "2 0; 0 1"))
    trace = capture(attention, Q, K, V)
    backward(trace)
    found = gradients_of(trace.root)
    assert {step.note for step in found.values()} == {CHECKED}
    assert found["∂L/∂A"].result.text() == "⎡2  1⎤\n⎣2  1⎦"
    assert found["∂L/∂S"].result[0].text() == "[1/4  −1/4]"
    theirs = torch.autograd.grad(attention(Q, K, V), (Q, K, V))
    for name, gradient in zip("QKV", theirs, strict=True):
        assert exact.equal(found[f"∂L/∂{name}"].result, gradient) == (True, "proved")
    assert found["∂L/∂A"].formula == op("matmul", "∂L/∂Z", op("transpose", "V"))
    assert set(found["∂L/∂A"].operands) == {"∂L/∂Z", "V"}


def test_gradients_stand_under_the_statement_that_used_the_value():
    trace = capture(attention, *(normal(2, 2, seed=i) for i in range(3)))
    backward(trace)
    filed = {step.name: [child.name for child in step.children] for step in trace.steps() if step.kind == "assign"}
    assert filed == {
        "d": [],
        "S": ["∂L/∂Q", "∂L/∂K"],
        "A": ["∂L/∂S"],
        "Z": ["∂L/∂A", "∂L/∂V"],
        "L": ["∂L/∂Z"],
    }
    assert [s.address for s in trace.steps() if s.kind == "gradient"][:2] == ["∂L/∂Q", "∂L/∂K"]


def test_two_step_recurrent_net_with_a_letter():
    # h₁ = 2, h₂ = 2w + ½, y = 2h₂, L = ½(y − 3)²: ∂L/∂w = 16w − 8, all of it from the second turn, since h₀ = 0.
    def net(w):
        h = exact(0)
        for drive in (exact(2), exact("1/2")):
            h = w * h + drive
        y = 2 * h
        L = (y - 3) ** 2 / 2
        return L

    trace = capture(net, exact.symbols("w").requires_grad_())
    backward(trace)
    found = gradients_of(trace.root)
    assert {name: step.result.text() for name, step in found.items()} == {
        "∂L/∂y": "4w − 2",
        "∂L/∂h#3": "8w − 4",
        "∂L/∂h#2": "8w² − 4w",
        "∂L/∂w from h#3": "16w − 8",
        "∂L/∂w from h#2": "0",
        "∂L/∂w": "16w − 8",
    }
    assert found["∂L/∂w"].formula == op("add", "∂L/∂w from h#2", "∂L/∂w from h#3")
    assert found["∂L/∂w from h#3"].note == CHECKED
    assert found["∂L/∂w from h#3"].formula == op("mul", "∂L/∂h#3", "h#2")


def test_softmax_cross_entropy_is_prediction_minus_target():
    z = exact("0 ln(2) 0").reshape(1, 3).requires_grad_()
    work = Work(z=z, y=torch.tensor([1]))
    work.let("L", op("cross_entropy", "z", "y"))
    step = gradients_of(work.backward().trace.root)["∂L/∂z"]
    assert step.result.text() == "[1/4  −1/2  1/4]"
    assert step.formula == op("sub", op("softmax", "z", dim=-1), op("onehot", "y", classes=3))
    assert step.note == CHECKED
    assert work.trace.notes == ["no gradient of y: whole numbers do not vary"]


# ---- contributions


def test_contributions_are_shown_adding_up():
    # L = q² + 3q at q = 5: 10 from S and 3 from T.
    work = Work(q=number(5))
    work.let("S", op("square", "q"))
    work.let("T", op("mul", 3, "q"))
    work.let("L", op("add", "S", "T"))
    found = gradients_of(work.backward().trace.root)
    assert float(found["∂L/∂q from S"].result) == 10 and float(found["∂L/∂q from T"].result) == 3
    total = found["∂L/∂q"]
    assert float(total.result) == 13
    assert total.formula == op("add", "∂L/∂q from S", "∂L/∂q from T")
    assert [float(value) for value in total.operands.values()] == [10, 3]
    assert total in work.trace.root.children[1].children  # under S, the first use: there the sum is complete


def test_a_statement_is_not_credited_with_what_flows_through_its_other_operands():
    # A = q², L = A q = q³: ∂L/∂q is 2·q·q = 8 through A, and A = 4 directly, at q = 2.
    work = Work(q=number(2))
    work.let("A", op("square", "q"))
    work.let("L", op("mul", "A", "q"))
    found = gradients_of(work.backward().trace.root)
    assert float(found["∂L/∂q from L"].result) == 4
    assert float(found["∂L/∂q from A"].result) == 8
    assert {step.note for step in found.values()} == {CHECKED, ""}


def test_one_tensor_under_two_names_is_one_value():
    x = number(3)
    work = Work(x=x, y=x)
    work.let("L", op("mul", "x", "y"))
    found = gradients_of(work.backward().trace.root)
    assert {name: float(step.result) for name, step in found.items()} == {"∂L/∂x": 6}
    assert found["∂L/∂x"].note == CHECKED


def test_names_are_told_apart_by_their_tensors():
    # x = 2: x = x + 1 = 3, x = x² = 9. ∂L/∂x is 1 for the last, 6 for the middle and 6 for the first.
    work = Work(x=number(2))
    first = work.let("x", op("add", "x", 1))
    second = work.let("x", op("square", "x"))
    work.let("L", op("mul", "x", 1))
    work.backward()
    assert [float(step.children[0].result) for step in (first, second)] == [6, 6]
    assert [step.children[0].name for step in (first, second)] == ["∂L/∂x", "∂L/∂x#2"]
    assert float(first.children[0].operands["∂L/∂x#2"]) == 6
    assert float(second.children[0].operands["∂L/∂x#3"]) == 1


def test_uses_that_were_not_recorded_are_named():
    work = Work(q=number(5))
    work.let("S", op("square", "q"))
    work.let("L", Leaf("S"), live=work.lives["S"] + 7 * work.lives["q"])
    total = gradients_of(work.backward().trace.root)["∂L/∂q"]
    assert float(total.result) == 17
    assert {name: float(value) for name, value in total.operands.items()} == {"∂L/∂q from S": 10, "∂L/∂q from elsewhere": 7}
    assert total.note == "elsewhere: uses of q that are not among these statements"


# ---- where there is no rule


def test_a_call_shows_the_numbers_and_says_so():
    work = Work(x=number(2))
    work.let("y", Call("self.f", (Leaf("x"),)), live=work.lives["x"].i0())
    work.let("L", op("square", "y"))
    step = gradients_of(work.backward().trace.root)["∂L/∂x"]
    assert float(step.result) == pytest.approx(
        float((2 * torch.special.i0(number(2)) * torch.special.i1(number(2))).detach())
    )
    assert step.formula is None and list(step.operands) == ["∂L/∂y"]
    assert step.note == "the rule is not written out: there is no rule for self.f(…): it has no formula here"


def test_a_call_that_was_recorded_points_inside():
    def inner(x):
        u = x * x
        return u + 1

    def outer(x):
        y = inner(x)
        L = y * 3 + x
        return L

    trace = capture(outer, number(2))
    backward(trace)
    found = gradients_of(trace.root)
    assert (found["∂L/∂x from y"].formula, found["∂L/∂x from y"].note) == (Leaf("∂L/∂inner.x"), CHECKED)
    assert (float(found["∂L/∂u"].result), found["∂L/∂u"].note) == (3, CHECKED)
    assert found["∂L/∂u"].operands.keys() == {"∂L/∂y"}  # what the call returns is what the caller calls y


def test_several_results_of_one_statement():
    x = normal(4)
    halves = x.chunk(2)
    work = Work(x=x)
    work.let("a, b", Call("split_up", (Leaf("x"), Number(2))), live=halves)
    work.lives |= {"a": halves[0], "b": halves[1]}
    work.let("L", op("sum", op("mul", "a", "b")))
    found = gradients_of(work.backward().trace.root)
    assert torch.equal(found["∂L/∂x"].result, torch.cat([halves[1], halves[0]]).detach())
    assert set(found["∂L/∂x"].operands) == {"∂L/∂a", "∂L/∂b"}
    assert found["∂L/∂x"].formula == op("cat", Sequence((Leaf("∂L/∂a"), Leaf("∂L/∂b"))), dim=0)


def test_a_wrong_rule_is_found_out(monkeypatch):
    monkeypatch.setitem(OPERATIONS, "sin", replace(OPERATIONS["sin"], gradient=lambda node: (node.G,)))
    work = Work(x=number(2))
    work.let("L", op("sin", "x"))
    step = gradients_of(work.backward().trace.root)["∂L/∂x"]
    assert float(step.result) == pytest.approx(math.cos(2))
    assert step.formula is None  # a false equation is not printed
    assert step.note == (
        "the rule is not written out: the one that was tried gives other numbers than autograd (largest difference 1.4)"
    )


def test_where_the_formula_is_not_what_ran_the_rule_is_of_what_ran():
    x = normal(2, 3, 3)
    work = Work(x=x)
    work.let("y", op("transpose", "x"), live=x.transpose(0, 1))
    work.let("L", op("sum", op("square", "y")))
    step = gradients_of(work.backward().trace.root)["∂L/∂x"]
    assert step.formula == op("reshape", "∂L/∂y", by=Call("permute", (Number(1), Number(0), Number(2))))
    assert torch.equal(step.result, 2 * x.detach()) and step.note == CHECKED


def test_a_rule_that_cannot_be_computed_says_why():
    x = normal(3)
    work = Work(x=x)
    work.let("y", op("index", "x", at=at("pick(x)")), live=torch.special.i0(x[0]))
    work.let("L", op("square", "y"))
    step = gradients_of(work.backward().trace.root)["∂L/∂x"]
    assert step.note == "the rule is not written out: 'pick(…)' cannot be computed again: its value was not recorded"


# ---- the loss


def test_values_without_gradient_are_named_with_the_reason():
    work = Work(x=number(2), k=number(3), c=torch.tensor(4.0, dtype=torch.float64), mask=torch.tensor(True))
    work.let("u", op("square", "k"))
    work.let("L", op("mul", "x", "c"))
    assert work.backward().trace.notes == [
        "no gradient of k, u: L does not depend on it",
        "no gradient of c: it does not require one",
        "no gradient of mask: not a real number that could vary",
    ]


def test_the_loss_keeps_its_name():
    work = Work(x=number(2))
    work.let("loss", op("square", "x"))
    assert "∂loss/∂x" in gradients_of(work.backward().trace.root)


def test_an_earlier_result_can_be_the_loss():
    work = Work(x=number(2))
    work.let("a", op("square", "x"))
    work.let("b", op("exp", "a"))
    found = gradients_of(work.backward("a").trace.root)
    assert {name: float(step.result) for name, step in found.items()} == {"∂a/∂x": 4}


def test_a_second_pass_replaces_the_first():
    work = Work(x=number(2))
    work.let("L", op("square", "x"))
    work.backward().backward()
    assert sum(step.kind == "gradient" for step in work.trace.steps()) == 1


@pytest.mark.parametrize(
    ("inputs", "lines", "loss", "message"),
    [
        (
            {"x": normal(2, 3)},
            [("Z", op("square", "x"))],
            None,
            "Backward needs one number, but Z has shape [2, 3]. Sum it, for example L = Z.sum(), and differentiate L.",
        ),
        (
            {"x": number(2)},
            [("total", op("square", "x"))],
            "totl",
            "Backward was asked for 'totl', but no statement assigns a tensor of that name. Did you mean total?",
        ),
        (
            {"x": torch.tensor(2.0)},
            [("L", op("square", "x"))],
            None,
            "The gradient of L needs a tensor that requires one, and L depends on none. "
            "Pass one with requires_grad=True, outside torch.no_grad().",
        ),
        ({"x": number(2)}, [], None, "Backward needs a loss, but no statement was recorded that made a tensor."),
    ],
)
def test_a_loss_that_cannot_be_differentiated(inputs, lines, loss, message):
    work = Work(**inputs)
    for name, formula in lines:
        work.let(name, formula)
    with pytest.raises(GradientError) as error:
        work.backward(loss)
    assert str(error.value) == message


def test_a_graph_that_was_freed_says_what_to_do():
    work = Work(x=number(2))
    work.let("L", op("exp", op("square", "x")))
    work.lives["L"].backward()
    with pytest.raises(
        GradientError, match=r"backward\(\) in the code has freed it. Leave backward\(\) out, or write L.backward"
    ):
        work.backward()


# ---- larger code


def test_a_multilayer_net_in_float32_is_checked_throughout():
    def net(x, W1, b1, W2, y):
        h = torch.relu(x @ W1.T + b1)
        u = h - h.mean(dim=-1, keepdim=True)
        z = torch.nn.functional.linear(u, W2)
        p = z.log_softmax(dim=-1)
        L = -(p * y).sum() / 8
        return L

    shapes = ((8, 5), (7, 5), (7,), (4, 7), (8, 4))
    values = [normal(*shape, seed=i).detach().float().requires_grad_(i < 4) for i, shape in enumerate(shapes)]
    trace = capture(net, *values)
    backward(trace)
    found = gradients_of(trace.root)
    assert found.keys() >= {f"∂L/∂{name}" for name in ("x", "W1", "b1", "h", "u", "W2", "z", "p")}
    assert all(step.note.startswith("rule checked") for step in found.values())
    theirs = torch.autograd.grad(net(*values), values[:4])
    for name, gradient in zip(("x", "W1", "b1", "W2"), theirs, strict=True):
        torch.testing.assert_close(found[f"∂L/∂{name}"].result, gradient)


def test_parameters_are_found_by_the_recorded_tensors():
    W = torch.nn.Parameter(torch.eye(2))
    x = torch.ones(1, 2)
    step = Step("assign", "L", formula=op("sum", op("matmul", "x", "self.W")), operands={"x": x, "self.W": W.detach()})
    step.lives = {"x": x, "self.W": W}
    step.live = (x @ W).sum()
    step.result = step.live.detach()
    trace = Trace(Step("root", children=[Step("call", "forward", children=[step])]))
    backward(trace)
    assert gradients_of(trace.root)["∂L/∂self.W"].result.tolist() == [[1, 1], [1, 1]]
