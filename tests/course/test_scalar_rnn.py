"""One recurrent unit: the parabola in letters, and back-propagation through time against autograd."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.course.scalar_rnn import ScalarRNN, bptt, linear_rnn, linear_rnn_loss
from workings.errors import ShapeError, WorkingsError
from workings.nn.activations import SLOPES
from workings.nn.update import sgd
from workings.show import show


def example(w_h):
    return linear_rnn_loss(exact("2 1/2"), exact("0"), w_h, w_x=1, b=0, v=2, c=0, target=3)


def test_the_loss_is_a_parabola_in_the_weight():
    # h₁ = 2, h₂ = 2w + ½, y = 4w + 1, L = ½(4w − 2)² = 8(w − ½)²
    w = exact("w_sr1").requires_grad_()
    L = example(w)
    assert exact.equal(L, exact("8*(w_sr1 - 1/2)^2"))
    (g,) = torch.autograd.grad(L, w, create_graph=True)
    assert exact.equal(g, exact("16*w_sr1 - 8"))
    (curvature,) = torch.autograd.grad(g, w)
    assert exact.equal(curvature, exact("16"))
    y = linear_rnn(exact("2 1/2"), exact("0"), w, 1, 0, 2, 0)
    assert exact.equal(y, exact("4*w_sr1 + 1"))


@pytest.mark.parametrize(("eta", "new", "after"), [("1/10", "31/50", "72/625"), ("1", "7/2", "72")])
def test_one_step(eta, new, after):
    w = exact("3/10").requires_grad_()
    L = example(w)
    L.backward()
    assert exact.equal(L, exact("8/25")) and exact.equal(w.grad, exact("-16/5"))
    stepped = sgd(w.detach(), w.grad, exact(eta))
    assert exact.equal(stepped, exact(new)) and exact.equal(example(stepped), exact(after))


def test_all_the_letters():
    # one step: y = v (w h + x u + b) + c
    names = "u_1 h_0 w_sr2 k_sr b_sr v_sr c_sr".split()
    u, h, w_h, w_x, b, v, c = (exact(name) for name in names)
    y = linear_rnn(u.reshape(1), h, w_h, w_x, b, v, c)
    assert exact.equal(y, exact("v_sr*(w_sr2*h_0 + k_sr*u_1 + b_sr) + c_sr"))


def test_two_steps_with_tanh():
    w, a, x = (torch.tensor(v, dtype=torch.float64) for v in (0.7, 0.4, [1.3, -0.5]))
    found = bptt(w, a, x, y=0.2)
    assert found.h.tolist() == pytest.approx([0, 0.4777, 0.133587], abs=5e-6)
    assert found.w.item() == pytest.approx(-0.0311595, abs=5e-8)
    assert found.a.item() == pytest.approx(-0.0131983, abs=5e-8)
    assert sgd(w, found.w, 0.1).item() == pytest.approx(0.703116, abs=5e-7)
    # (h₂ − y) g′(z₂) h₁, because h₀ = 0 leaves the other term out
    z_2 = found.z[1]
    by_hand = (found.h[2] - 0.2) * (1 - torch.tanh(z_2) ** 2) * found.h[1]
    torch.testing.assert_close(found.w, by_hand)
    torch.testing.assert_close(found.L, (found.h[2] - 0.2) ** 2 / 2)


@pytest.mark.parametrize("name", SLOPES)
@settings(max_examples=20)
@given(
    w=st.floats(-1.5, 1.5), a=st.floats(-1.5, 1.5), x=st.lists(st.floats(-2, 2), min_size=1, max_size=6), h=st.floats(-1, 1)
)
def test_what_autograd_finds(name, w, a, x, h):
    model = ScalarRNN(torch.tensor(w, dtype=torch.float64), torch.tensor(a, dtype=torch.float64), name)
    x, h = torch.tensor(x, dtype=torch.float64), torch.tensor(h, dtype=torch.float64)
    loss = (model(x, h) - 0.3) ** 2 / 2
    loss.backward()
    found = bptt(model.w.detach(), model.a.detach(), x, 0.3, name, h)
    torch.testing.assert_close(found.L, loss.detach())
    torch.testing.assert_close(found.w, model.w.grad)
    torch.testing.assert_close(found.a, model.a.grad)


def test_in_letters():
    # identity: h₁ = a x₁, h₂ = w a x₁ + a x₂; δ₂ = h₂ − y, δ₁ = w δ₂
    found = bptt(exact("w_sr3"), exact("a_sr3"), exact("x_1 x_2"), exact("y_sr3"), "identity")
    e = "(w_sr3*a_sr3*x_1 + a_sr3*x_2 - y_sr3)"
    assert exact.equal(found.delta, exact([f"w_sr3*{e}", e]))
    assert exact.equal(found.w, exact(f"{e}*a_sr3*x_1"))
    assert exact.equal(found.a, exact(f"{e}*(w_sr3*x_1 + x_2)"))


def test_exact_and_float_agree():
    w, a, x = exact("0.7"), exact("0.4"), exact("1.3 -0.5 0.2")
    ours, floats = bptt(w, a, x, 0.2), bptt(w.float64(), a.float64(), x.float64(), 0.2)
    torch.testing.assert_close(ours.w_terms.float64(), floats.w_terms)
    torch.testing.assert_close(ScalarRNN(w, a)(x).detach().float64(), floats.h[-1])


def test_messages():
    with pytest.raises(ShapeError) as error:
        bptt(torch.tensor(1.0), torch.tensor(1.0), torch.zeros(0), 0)
    assert str(error.value) == "bptt needs x as [t] with t ≥ 1 (time), but x is [0]."
    with pytest.raises(WorkingsError, match="No activation is called 'softplus'"):
        ScalarRNN(g="softplus")


def test_shown():
    u, zero, w = exact("2 1/2"), exact("0"), exact("w_sr1").requires_grad_()
    text = show(linear_rnn_loss, u, zero, w, 1, 0, 2, 0, 3, backward=True).text()
    assert "L = (y − target)² / 2 = (4w_sr1 + 1 − 3)² / 2 = 8(w_sr1 − 1/2)²" in text
    assert "16w_sr1 − 8" in text
    text = show(bptt, exact("1/2"), exact("1"), exact("1 1"), exact("1/2"), "identity").text()
    assert "δ = e·slope(z)" in text and "matches the unmodified run" in text
