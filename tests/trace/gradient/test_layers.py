"""The backward pass of models: layers by their rules, parameters by their names, numbers where nothing is recorded."""

import pytest
import torch
from torch import nn

from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Apply, Leaf, leaves
from workings.trace.gradient.backward import backward
from workings.trace.gradient.loss import GradientError
from workings.trace.record import Trace
from workings.trace.step import Step


def worked(module, *args, depth=2, **kwargs):
    """The gradients of a captured module by their names; its parts are known by their paths."""
    trace = capture(module, *args, depth=depth, **kwargs)
    assert trace.error is None
    trace.modules = dict(module.named_modules())
    backward(trace)
    return trace, [step for step in trace.steps() if step.kind == "gradient"]


def by_name(found):
    return {step.name: step for step in found}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(3)
        self.lin = nn.Linear(3, 2)
        self.act = nn.GELU()

    def forward(self, x, y):
        n = self.norm(x)
        z = self.act(self.lin(n))
        L = nn.functional.mse_loss(z, y)
        return L


def test_layers_have_their_rules_and_parameters_their_names():
    torch.manual_seed(0)
    net = Net().double()
    x, y = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.randn(4, 2, dtype=torch.float64)
    _, found = worked(net, x, y)
    names = by_name(found)
    assert {f"∂L/∂{name}" for name, _ in net.named_parameters()} <= names.keys()
    theirs = torch.autograd.grad(net(x, y), [x, *net.parameters()])
    for name, gradient in zip(["x", *dict(net.named_parameters())], theirs, strict=True):
        torch.testing.assert_close(names[f"∂L/∂{name}"].result, gradient)
        assert names[f"∂L/∂{name}"].note.startswith("rule checked")


def test_a_linear_layer_reads_as_in_the_textbook():
    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)

        def forward(self, x):
            y = self.lin(x)
            L = y.square().sum()
            return L

    names = by_name(worked(One(), torch.randn(4, 3, requires_grad=True))[1])
    assert names["∂L/∂x"].formula == Apply("matmul", (Leaf("∂L/∂y"), Leaf("lin.weight")))


def test_unpacked_results_of_a_recurrent_layer():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(2, 3)

        def forward(self, x):
            out, (h, c) = self.lstm(x)
            L = (out[-1] * h[0]).sum() + c.sum()
            return L

    net = Recurrent()
    x = torch.randn(4, 2, requires_grad=True)
    trace, found = worked(net, x)
    names = by_name(found)
    assert {"∂L/∂out", "∂L/∂h", "∂L/∂c", "∂L/∂x"} <= names.keys()
    assert names["∂L/∂c"].note.startswith("rule checked")
    assert names["∂L/∂x"].note.startswith("rule checked") and "δ" in leaves(names["∂L/∂x"].formula)
    theirs = torch.autograd.grad(net(x), list(net.parameters()))
    for (name, _), gradient in zip(net.named_parameters(), theirs, strict=True):
        torch.testing.assert_close(names[f"∂L/∂{name}"].result, gradient)
        assert names[f"∂L/∂{name}"].note.startswith("rule checked")
    (statement,) = [step for step in trace.steps() if step.source.startswith("out, (h, c)")]
    assert "∂L/∂lstm.weight_ih_l0" in [child.name for child in statement.children]


# ---- where nothing is recorded


def unseen(result):
    """A trace of a call that was not opened."""
    return Trace(Step("root", children=[Step("module", "", "Model", live=result)]), result=result)


def test_the_loss_of_what_was_returned():
    class Output:
        def __init__(self, loss):
            self.loss = loss

    lin = nn.Linear(2, 1)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for result in (Output(lin(x).sum()), {"loss": lin(x).sum()}):
        trace = unseen(result)
        trace.modules = {"": lin}
        backward(trace)
        found = by_name([step for step in trace.steps() if step.kind == "gradient"])
        assert found.keys() == {"∂loss/∂weight", "∂loss/∂bias", "∂loss/∂input 1"}
        assert found["∂loss/∂weight"].result.tolist() == [[1, 2]]
        assert torch.equal(found["∂loss/∂input 1"].result, lin.weight.detach()[0])
        assert all(step.note.startswith("rule checked") for step in found.values())


def test_parameters_without_known_names_are_counted():
    lin = nn.Linear(2, 1)
    trace = unseen(lin(torch.ones(2)).sum())
    backward(trace)
    found = [step.name for step in trace.steps() if step.kind == "gradient"]
    assert sorted(found) == ["∂L/∂parameter 1", "∂L/∂parameter 2"]


def test_a_result_of_several_numbers_says_what_to_do():
    with pytest.raises(GradientError) as error:
        backward(unseen(nn.Linear(2, 3)(torch.ones(2))))
    assert str(error.value) == (
        "Backward needs one number, but the result has shape [3]. Sum it to one number L in the code, and differentiate L."
    )


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3])
def test_gpt2_from_the_library(depth):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=9, n_positions=8, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model, ids = transformers.GPT2LMHeadModel(config).eval(), torch.tensor([[1, 2, 3]])
    _, found = worked(model, depth=depth, input_ids=ids, labels=ids)
    loss = model(input_ids=ids, labels=ids).loss
    for (name, _), gradient in zip(
        model.named_parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        same = [s for s in found if s.result.shape == gradient.shape and torch.allclose(s.result, gradient, atol=1e-6)]
        assert same, name
    assert not any("gives other numbers" in step.note for step in found)
