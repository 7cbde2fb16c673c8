"""Of several numbers, the one that a training step would differentiate."""

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import workings

X, W = torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([0.5, 1.0])


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(3, 2)

    def forward(self, x):
        d = ((x[:, None] - self.codes.weight) ** 2).sum(-1)
        q = self.codes(d.argmin(1))
        loss = F.mse_loss(q, x.detach()) + F.mse_loss(q.detach(), x) / 4
        p = F.softmax(-d, -1).mean(0)
        perplexity = torch.exp(-(p * p.log()).sum())
        return q, perplexity, loss


def test_a_loss_is_not_a_perplexity():
    torch.manual_seed(0)
    work = workings.show(Quantizer(), X, backward=True)
    assert "differentiated: loss; loss='perplexity' chooses another number" in work.notes
    assert work.step("∂loss/∂q").note.startswith("rule checked")
    assert "∂perplexity" not in work.text()


def parts(x, w):
    recon_loss = ((x @ w) ** 2).mean()
    kl_loss = (w**2).sum()
    total = recon_loss + kl_loss
    return recon_loss, kl_loss, total


def parts_without_a_name(x, w):
    recon_loss = ((x @ w) ** 2).mean()
    kl_loss = (w**2).sum()
    return recon_loss, kl_loss, recon_loss + kl_loss


def exponential(x, w):
    nll = ((x @ w) ** 2).mean()
    return torch.exp(nll), nll


def keyed(x, w):
    a = ((x @ w) ** 2).mean()
    b = torch.exp(a)
    return {"ppl": b, "train_loss": a}


@dataclass
class Output:
    ppl: Tensor
    loss: Tensor


def output(x, w):
    a = ((x @ w) ** 2).mean()
    b = torch.exp(a)
    return Output(b, a)


def only_a_float(x, w):
    y = x @ w
    loss = (y**2).mean()
    return y, loss.item()


def without_any_name(x, w):
    y = x @ w
    return (y**2).mean(), y.mean()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (parts, "total"),
        (parts_without_a_name, "L"),
        (exponential, "nll"),
        (keyed, "a"),
        (output, "a"),
        (only_a_float, "loss"),
        (without_any_name, "L"),
    ],
)
def test_which_number_is_differentiated(function, name):
    work = workings.show(function, X, W, backward=True)
    assert any(note.startswith(f"differentiated: {name}; ") for note in work.notes), work.notes
    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
    numbers = {
        "total": lambda: ((x @ w) ** 2).mean() + (w**2).sum(),
        "L": lambda: ((x @ w) ** 2).mean() + ((w**2).sum() if function is parts_without_a_name else 0),
    }
    numbers.get(name, lambda: ((x @ w) ** 2).mean())().backward()
    assert torch.allclose(work[f"∂{name}/∂w"], w.grad)


def test_another_one_can_be_chosen():
    work = workings.show(exponential, X, W, backward=True, loss="nll")
    assert not [note for note in work.notes if note.startswith("differentiated")]
    assert "∂nll/∂w" in work.text()
