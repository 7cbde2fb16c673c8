"""Update rules: two steps by hand, many steps against torch.optim, and when descent is stable."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workings import exact
from workings.errors import DomainError
from workings.nn.update import (
    adam,
    adamw,
    critical_rate,
    momentum,
    momentum_accumulated,
    multiplier,
    nesterov,
    sgd,
    stable,
    trajectory,
)
from workings.show import show


def same(a, text):
    return bool(exact.equal(a, exact(text)))


def test_two_steps_of_sgd_by_hand():
    # 1 − 0.1·0.4 = 0.96, then 0.96 + 0.1·0.2 = 0.98
    theta = sgd(exact("1"), exact("2/5"), exact("1/10"))
    assert same(theta, "24/25")
    assert same(sgd(theta, exact("-1/5"), exact("1/10")), "49/50")


def test_two_steps_of_momentum_by_hand():
    # v = −0.04, θ = 0.96; then v = 0.9·(−0.04) + 0.02 = −0.036 + 0.02 = −0.016, θ = 0.944
    eta, alpha = exact("1/10"), exact("9/10")
    theta, v = momentum(exact("1"), exact("0"), exact("2/5"), eta, alpha)
    assert same(theta, "24/25") and same(v, "-1/25")
    assert same(alpha * v, "-9/250") and same(-eta * exact("-1/5"), "1/50")
    theta, v = momentum(theta, v, exact("-1/5"), eta, alpha)
    assert same(v, "-2/125") and same(theta, "118/125")


@settings(max_examples=15)
@given(g=st.lists(st.fractions(-3, 3, max_denominator=9), min_size=1, max_size=5))
def test_both_forms_of_momentum_take_the_same_steps_at_a_constant_rate(g):
    eta, alpha = exact("1/7"), exact("2/3")
    (a, v), (b, u) = (exact("1"), exact("0")), (exact("1"), exact("0"))
    for step in g:
        a, v = momentum(a, v, exact(str(step)), eta, alpha)
        b, u = momentum_accumulated(b, u, exact(str(step)), eta, alpha)
    assert exact.equal(a, b) and exact.equal(v, -eta * u)


def test_the_forms_part_when_the_rate_changes():
    # after g = 1 at η = 1, a step with g = 0 at η = ½: the first still moves by α·1, the second by ½·α.
    zero, one = torch.tensor(0.0), torch.tensor(1.0)
    a, _ = momentum(*momentum(zero, zero, one, 1, 0.5), zero, 0.5, 0.5)
    b, _ = momentum_accumulated(*momentum_accumulated(zero, zero, one, 1, 0.5), zero, 0.5, 0.5)
    assert (a.item(), b.item()) == (-1.5, -1.25)


def loss(w):
    return ((w**2).sum() - 1) ** 2 + torch.sin(w).sum()


def run(rule, state, steps, start):
    """`steps` steps of one of our rules on `loss`."""
    w = start.clone()
    for t in range(1, steps + 1):
        w = w.detach().requires_grad_()
        (g,) = torch.autograd.grad(loss(w), w)
        w, *state = rule(w.detach(), *state, g, t)
    return w


RULES = {
    "sgd": (lambda w, g, t: (sgd(w, g, 0.05),), 0, lambda w: torch.optim.SGD(w, lr=0.05)),
    "momentum": (
        lambda w, v, g, t: momentum(w, v, g, 0.05, 0.9),
        1,
        lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
    ),
    "accumulated": (
        lambda w, v, g, t: momentum_accumulated(w, v, g, 0.05, 0.9),
        1,
        lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
    ),
    "nesterov": (
        lambda w, v, g, t: nesterov(w, v, g, 0.05, 0.9),
        1,
        lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9, nesterov=True),
    ),
    "adam": (
        lambda w, m, v, g, t: adam(w, m, v, g, t, 0.1, (0.8, 0.95), 1e-6),
        2,
        lambda w: torch.optim.Adam(w, lr=0.1, betas=(0.8, 0.95), eps=1e-6),
    ),
    "adam by default": (adam, 2, torch.optim.Adam),
    "adamw": (
        lambda w, m, v, g, t: adamw(w, m, v, g, t, 0.1, (0.8, 0.95), 1e-6, 0.3),
        2,
        lambda w: torch.optim.AdamW(w, lr=0.1, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.3),
    ),
    "adamw by default": (adamw, 2, torch.optim.AdamW),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_the_optimizer_over_many_steps(name):
    rule, state, make = RULES[name]
    start = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
    w = start.clone().requires_grad_()
    optimizer = make([w])
    for _ in range(40):
        optimizer.zero_grad()
        loss(w).backward()
        optimizer.step()
    assert not torch.allclose(w.detach(), start, atol=1e-3)
    found = run(rule, [torch.zeros_like(start)] * state, 40, start)
    torch.testing.assert_close(found, w.detach(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["sgd", "momentum", "accumulated", "nesterov"])
def test_a_rule_is_the_optimizer_exactly(name):
    rule, state, make = RULES[name]
    w = exact("1 -1/2").requires_grad_()
    optimizer, ours, states = make([w]), w.detach().clone(), [exact("0 0")] * state
    for t in range(1, 4):
        optimizer.zero_grad()
        (w**3).sum().backward()
        ours, *states = rule(ours, *states, 3 * ours**2, t)
        optimizer.step()
    assert exact.equal(ours, w.detach())


def test_adam_by_hand():
    # t = 1: m̂ = g and v̂ = g², so the step is η g/(|g| + ε): η = 1, g = 3, ε = 1 gives 3/4.
    theta, m, v = adam(exact("0"), exact("0"), exact("0"), exact("3"), 1, 1, (exact("9/10"), exact("99/100")), 1)
    assert same(theta, "-3/4") and same(m, "3/10") and same(v, "9/100")


def test_adamw_decays_before_the_step():
    # (1 − 1·½)·2 = 1, then the step of 3/4 above
    beta = (exact("9/10"), exact("99/100"))
    theta, _, _ = adamw(exact("2"), exact("0"), exact("0"), exact("3"), 1, 1, beta, 1, exact("1/2"))
    assert same(theta, "1/4")


def test_adam_counts_from_one():
    zero = torch.zeros(())
    with pytest.raises(DomainError) as error:
        adam(zero, zero, zero, zero, 0)
    assert str(error.value) == "Adam divides by 1 − βᵗ, which is 0 for t = 0: count the steps from t = 1; this is t = 0."


def test_steps_on_the_parabola_by_hand():
    # L = 8(w − ½)²: gradient 16w − 8 = −3.2 at 0.3, so w = 0.3 + 3.2η and the error is multiplied by 1 − 16η.
    def gradient(w):
        return 16 * w - 8

    w = exact("3/10")
    assert same(trajectory(gradient, w, exact("1/10"), 5), "0.3 0.62 0.428 0.5432 0.47408 0.515552")
    assert same(trajectory(gradient, w, exact("1"), 5), "0.3 3.5 -44.5 675.5 -10124.5 151875.5")
    assert same(trajectory(gradient, w, exact("3"), 1), "0.3 9.9")


def test_stability_by_hand():
    assert [str(multiplier(exact(eta), 16).fraction()) for eta in ("1/10", "1", "3")] == ["-3/5", "-15", "-47"]
    assert critical_rate(16) == 1 / 8
    assert [stable(eta, 16) for eta in (0.1, 0.125, 1, 3, 0, -0.1)] == [True, False, False, False, False, False]
    assert not stable(0.1, -16) and not stable(0.01, 16, alpha=1)


@given(eta=st.floats(0.01, 5), curvature=st.floats(0.1, 5), alpha=st.floats(0, 0.95))
def test_stable_means_that_the_iteration_contracts(eta, curvature, alpha):
    """The step is linear in (θ, v): its eigenvalues decide."""
    assume(abs(eta / critical_rate(curvature, alpha) - 1) > 1e-6)
    step = torch.tensor(
        [[1 - eta * curvature, alpha], [-eta * curvature, alpha]], dtype=torch.float64
    )  # v ← αv − ηλθ, θ ← θ + v
    assert stable(eta, curvature, alpha) == bool(torch.linalg.eigvals(step).abs().max() < 1)


def test_the_shown_update_reads_like_the_textbook():
    text = show(momentum, exact("24/25"), exact("-1/25"), exact("-1/5"), exact("1/10"), exact("9/10")).text()
    assert "v = α·v − η·g = (9/10)·(−1/25) − (1/10)·(−1/5) = −2/125 = −0.016" in text
    assert "θ = θ + v = 24/25 + (−2/125) = 118/125 = 0.944" in text
    assert "r = 1 − η·λ = 1 − (1/10)·16 = −3/5 = −0.6" in show(multiplier, exact("1/10"), 16).text()
