"""Worked examples with known exact answers, through ordinary PyTorch code."""

import math

import pytest
import torch
from torch.func import jacrev

from workings import exact


def attention(Q, K, V):
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = S.softmax(dim=-1)
    return S, A, A @ V


def proved(x, text):
    """x equals this text, entry by entry, with a proof."""
    return exact.equal(x.detach(), exact(text)) == (True, "proved")


def test_attention_of_a_two_by_two_example():
    # d = 2: S = QKᵀ/√2 has entries 1/√2 except S₂₂ = 0, so row 2 of A is (e^{1/√2}, 1)/(1 + e^{1/√2}).
    S, A, Z = attention(exact.eye(2), exact("1 1; 1 0"), exact("2 0; 0 1"))
    a = "e^(1/sqrt(2))"
    assert S.text() == "⎡1/√2  1/√2⎤\n⎣1/√2     0⎦"
    assert proved(A, f"1/2, 1/2; {a}/(1+{a}), 1/(1+{a})")
    assert proved(Z, f"1, 1/2; 2{a}/(1+{a}), 1/(1+{a})")
    assert A[1, 0].text() == "e^(1/√2)/(1 + e^(1/√2))"
    assert Z[1, 0].text() == "2e^(1/√2)/(1 + e^(1/√2))"
    assert Z.decimals(6) == [["1", "0.5"], ["1.33952", "0.330238"]]
    assert {note.kind for note in A.assumptions} == {"recovered"}


def test_fused_attention_is_the_same():
    Q, K, V = exact.eye(2), exact("1 1; 1 0"), exact("2 0; 0 1")
    fused = torch.nn.functional.scaled_dot_product_attention(Q, K, V)
    assert exact.equal(fused, attention(Q, K, V)[2])


def test_recurrent_net_with_a_letter():
    # h₁ = 2, h₂ = 2w + ½, y = 2h₂ = 4w + 1, L = ½(y − 3)² = 8(w − ½)², dL/dw = 16w − 8, −3.2 at 0.3.
    w = exact.symbols("w").requires_grad_()
    h = exact(0)
    for drive in (exact(2), exact("1/2")):
        h = w * h + drive
    L = (2 * h - 3) ** 2 / 2
    L.backward()
    assert L.text() == "8(w − 1/2)²"
    assert w.grad.text() == "16w − 8"
    assert w.grad.substitute(w="3/10").text() == "−16/5"


def test_softmax_cross_entropy_with_letters():
    # ∂CE/∂θ = ŷ − y
    theta = exact.symbols("t", shape=3).requires_grad_()
    loss = torch.nn.functional.cross_entropy(theta[None], torch.tensor([1]))
    loss.backward()
    y = exact("0 1 0")
    assert exact.equal(theta.grad, theta.detach().softmax(0) - y) == (True, "proved")


def test_batch_norm_standard_deviation():
    # Entry (0, 0) of four samples: 1, 4, 2, 9; mean 4, population variance (9 + 0 + 4 + 25)/4 = 9.5.
    x = exact("1 4 2 9")
    sigma = x.var(correction=0).sqrt()
    assert sigma.text() == "√9.5"
    assert proved((x - x.mean()) / sigma, "-3/sqrt(9.5), 0, -2/sqrt(9.5), 5/sqrt(9.5)")


def test_momentum_two_steps():
    # v: −0.04, −0.016; θ: 0.96, 0.944 = 118/125
    theta = exact("1", requires_grad=True)
    optimizer = torch.optim.SGD([theta], lr=0.1, momentum=0.9)
    for g in ("2/5", "-1/5"):
        theta.grad = exact(g)
        optimizer.step()
    assert theta.text() == "118/125"
    assert {note.kind for note in theta.assumptions} == {"recovered"}


def test_argmax_attention_shares_ties_and_has_zero_gradient():
    scores = exact("5 -2 5 0", requires_grad=True)
    best = (scores == scores.max()).to(scores.dtype)
    weights = exact(best, recover=True) / exact(best, recover=True).sum() + 0 * scores
    assert weights.text() == "[1/2  0  1/2  0]"
    weights.sum().backward()
    assert scores.grad.text() == "[0  0  0  0]"


def test_one_adam_step_without_epsilon():
    # m̂/√v̂ = g/|g| = sign g, so the first step from 1 is exactly lr = 1/10 against the gradient.
    theta = exact("1", requires_grad=True)
    optimizer = torch.optim.Adam([theta], lr=0.1, eps=0)
    (3 * theta).backward()
    optimizer.step()
    assert theta.text() == "9/10"
    assert {note.kind for note in theta.assumptions} == {"recovered"}


def test_softmax_jacobian():
    z = exact("0 1 2")
    p = z.softmax(0)
    J = jacrev(lambda t: t.softmax(0))(z)
    assert exact.equal(J, torch.diag(p) - torch.outer(p, p)) == (True, "proved")


def test_key_noise_moves_the_mean():
    # keys (log 3, 0), noise ±log 2: h = 3/4, h₊ = 6/7, h₋ = 3/5, mean 51/70.
    def h(shift):
        return (exact("log(3) 0") + exact([shift, 0])).softmax(0)[0]

    assert h("0").text() == "3/4"
    assert [h("log(2)").text(), h("-log(2)").text()] == ["6/7", "3/5"]
    assert ((h("log(2)") + h("-log(2)")) / 2).text() == "51/70"


def test_sinusoidal_positions():
    position = exact([[0], [1], [2]])
    frequency = 10000 ** (-exact("0 1/2"))
    assert torch.sin(position * frequency).text() == "⎡     0           0⎤\n⎢sin(1)  sin(1/100)⎥\n⎣sin(2)   sin(1/50)⎦"


def test_perplexity_does_not_depend_on_the_base():
    p = exact("1/2 1/4 1/8")
    by_base = [2 ** (-p.log2().mean()), (-p.log().mean()).exp(), 10 ** (-p.log10().mean())]
    assert [exact.equal(x, exact("4")).equal for x in by_base] == [True] * 3


@pytest.mark.parametrize("n", [2, 5])
def test_sdpa_rows_sum_to_one(n):
    K = exact.arange(n * 2).reshape(n, 2)
    A = (K @ K.mT / 2**0.5).softmax(-1)
    assert exact.equal(A.sum(-1), exact.ones(n))
