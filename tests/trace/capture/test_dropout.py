"""Attention that forgets some weights by chance says which: the mask stands in its formula, with its numbers."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings.trace.formula.tree import Apply, Call


def weights(Q, K, **options):
    return F.scaled_dot_product_attention(Q, K, torch.eye(K.shape[-2]).expand(*K.shape[:-1], -1), **options)


class Attention(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, q, k, v):
        z = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate if self.training else 0, is_causal=True)
        return z


def given(*shape):
    torch.manual_seed(0)
    return tuple(torch.randn(*shape) for _ in range(3))


def test_the_mask_is_the_one_that_was_drawn():
    q, k, v = given(1, 2, 5, 4)
    step = workings.show(Attention(0.5), q, k, v).step("z")
    m = step.operands["m"]
    assert set(m.unique().tolist()) == {0.0, 2.0}
    assert torch.allclose((weights(q, k, is_causal=True) * m) @ v, step.result, atol=1e-6)
    assert step.formula.op == "attention_with_dropout"


def test_without_training_nothing_is_forgotten():
    step = workings.show(Attention(0.5).eval(), *given(3, 4)).step("z")
    assert step.formula.op == "scaled_dot_product_attention" and "m" not in step.operands


@pytest.mark.parametrize("mask", [None, torch.eye(3, dtype=torch.bool), torch.tensor([[0.0, 1.0, -2.0]] * 3)])
def test_the_gradients_go_through_the_weights_that_were_kept(mask):
    def f(q, k, v):
        z = F.scaled_dot_product_attention(q, k, v, mask, 0.25, scale=0.5)
        L = (z**2).sum()
        return L

    work = workings.show(f, *given(3, 4), backward=True)
    text = work.text(substitution="none")
    assert "⊙ m) v" in text and "∂L/∂v = (A ⊙ m)ᵀ ∂L/∂z" in text
    for name in "qkv":
        assert work.step(f"∂L/∂{name}").note.startswith("rule checked")


def test_in_a_block():
    q, k, v = given(3, 4)
    with workings.trace() as work:
        z = F.scaled_dot_product_attention(q, k, v, None, 0.5)
    step = work.step("z")
    assert torch.allclose((weights(q, k) * step.operands["m"]) @ v, z, atol=1e-6)


def test_two_in_one_statement_stay_calls():
    # the second draws from where the first left the random numbers, so its mask is not the one that would be drawn again
    def f(q, k, v):
        z = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5) + F.scaled_dot_product_attention(k, q, v, dropout_p=0.5)
        return z

    formula = workings.show(f, *given(3, 4)).step("z").formula
    assert isinstance(formula, Apply) and all(isinstance(part, Call) for part in formula.args)


def test_the_scale_and_the_mask_by_their_places():
    def f(q, k, v):
        z = F.scaled_dot_product_attention(q, k, v, None, 0.0, False, scale=0.5)
        return z

    assert "z = softmax(0.5·q kᵀ) v" in workings.show(f, *given(3, 4)).text()


def test_a_mask_that_is_none_is_not_there():
    def f(q, k, v, mask=None):
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        L = z.sum()
        return L

    text = workings.show(f, *given(3, 4), backward=True).text(substitution="none")
    assert "z = softmax(q kᵀ / √d) v" in text and "∂L/∂v = Aᵀ ∂L/∂z" in text
