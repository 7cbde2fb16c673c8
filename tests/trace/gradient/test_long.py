"""A statement of many operations has a rule too: cut at its layers, or with its many lines folded inside."""

import torch
from torch import nn

import workings


class Through(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = self.inner(x)
        L = y.sum()
        return L


def gradient_of(net, x):
    x = x.clone().requires_grad_()
    net(x).backward()
    return x.grad


def test_a_long_way_is_cut_at_the_first_layers():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    net, x = Through(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)), torch.randn(1, 3, 4)
    work = workings.show(net, x, backward=True)
    step = work.step("∂L/∂x")
    assert step.note.startswith("rule checked") and torch.allclose(step.result, gradient_of(net, x), atol=1e-5)
    named = [text for text in step.operands if text.startswith("∂L/∂inner.layers.0.")]
    assert named and all(work.step(text).note.startswith("rule checked") for text in named)


def test_many_operations_without_layers_are_folded():
    net, x = Through(nn.Sequential(*[nn.Tanh(), nn.Softplus()] * 40)), torch.tensor([0.5, -1.0])
    work = workings.show(net, x, backward=True)
    step = work.step("∂L/∂x")
    assert step.note.startswith("rule checked") and torch.allclose(step.result, gradient_of(net, x))
    assert len(step.children) == 39 and all(child.kind == "gradient" for child in step.children)
    text = work.text()
    assert "… 39 lines lead to it (complete=True shows them)" in text and "∂L/∂z₂ =" not in text
    opened = work.text(complete=True)
    assert "∂L/∂z₂ = ∂L/∂y ⊙ σ(z₁)" in opened and "lines lead to it" not in opened
    assert opened.count("∂L/∂z") > 39
    assert work.html().count("<details") > workings.show(net, x).html().count("<details")


def test_more_than_a_reader_reads_stays_with_autograd_s_numbers():
    net, x = Through(nn.Sequential(*[nn.Tanh(), nn.Softplus()] * 400)), torch.tensor([0.5, -1.0])
    step = workings.show(net, x, backward=True).step("∂L/∂x")
    assert step.formula is None and step.note.startswith("the rule is not written out")


def test_a_way_through_another_statement_is_not_counted_twice():
    # y reads x twice: through its own layers, and through h, which another statement made
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.deep = nn.Sequential(*[part for _ in range(12) for part in (nn.Linear(2, 2), nn.Tanh(), nn.Softplus())])

        def forward(self, x):
            h = torch.sin(x)
            y = self.deep(x + h)
            L = y.sum()
            return L

    net, x = Two(), torch.tensor([[0.5, -1.0]])
    work = workings.show(net, x, backward=True)
    assert torch.allclose(work["∂L/∂x"], gradient_of(net, x), atol=1e-5)
    assert work.step("∂L/∂x from y").note.startswith("rule checked") and work.step("∂L/∂h").note.startswith("rule checked")
    assert torch.allclose(work["∂L/∂x from y"], work["∂L/∂h"])


def test_a_sum_of_many_terms_names_the_first_and_the_last():
    def f(x):
        ys = []
        for i in range(20):
            y = x * i
            ys.append(y)
        L = torch.stack(ys).sum()
        return L

    work = workings.show(f, torch.ones(2), backward=True)
    step = work.step("∂L/∂x")
    assert step.note == "20 terms" and step.result.tolist() == [190, 190]
    assert "∂L/∂x from y + … + ∂L/∂x from y#20" in work.text()
