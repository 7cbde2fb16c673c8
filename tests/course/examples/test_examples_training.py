"""Worked examples: recurrent units, update rules, normalisation, penalties."""

import torch

from tests.course.examples.golden import Given, example
from workings import exact
from workings.course import (
    bptt,
    infinity_gradient,
    infinity_penalty,
    linear_rnn,
    linear_rnn_loss,
    logistic_gradient,
    penalised_step,
    recursive_gradient,
    regime,
    state_gradient,
    states,
    temporal_gradient,
    three_level_gradient,
    two_level_gradient,
)
from workings.nn import (
    BatchNorm,
    batch_norm,
    batch_norm_test,
    batch_statistics,
    critical_rate,
    momentum,
    multiplier,
    sgd,
    stable,
    trajectory,
)

# ---- the linear recurrent unit: w_x u + b is given as one number, the drive


def loss(given, w):
    return linear_rnn_loss(given.drive, given.h_0, w, 1, 0, given["v"], given["c"], given["target"])


def slope(given, w):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(loss(given, w), w)[0]


def curvature(given):
    """The second derivative of the loss, which is the same everywhere: a difference of two slopes."""
    one = given.tensor(1)
    return slope(given, one) - slope(given, 0 * one)


@example("rnn-loss", numbers=["exact"])
def test_rnn_loss(given):
    w = exact("w_h")
    _, h_1, h_2 = states(w, given.drive, given.h_0)
    y = linear_rnn(given.drive, given.h_0, w, 1, 0, given["v"], given["c"])
    return {"h1": h_1, "h2": h_2, "y": y, "L": loss(given, w)}


@example("gradient")
def test_gradient(given):
    letters = Given(given.inputs, "exact")
    return {"dL_dw": slope(letters, exact("w_h")), "at": slope(given, given.w_h)}


def step(given):
    w, eta = given.w_h, given.eta
    new = sgd(w, slope(given, w), eta)
    path = trajectory(lambda w: slope(given, w), w, eta, 5)
    return {
        "w_new": new,
        "loss_before": loss(given, w),
        "loss_after": loss(given, new),
        "error_multiplier_per_step": multiplier(eta, curvature(given)),
        "first_six_iterates": path,
    }


@example("step-eta-1_10")
def test_step_eta_1_10(given):
    return step(given)


@example("step-eta-1")
def test_step_eta_1(given):
    return step(given)


@example("stability")
def test_stability(given):
    λ = curvature(given)
    return {
        "critical_rate": critical_rate(λ),
        "multipliers": torch.stack([multiplier(eta, λ) for eta in given.etas]),
        "stable": [stable(eta, λ) for eta in given.etas],
        "minimiser": sgd(given.w_h, slope(given, given.w_h), 1 / λ),  # on a parabola this step lands on it
    }


@example("temporal-derivative")
def test_temporal_derivative(given):
    w = given.w
    h = states(w, given.drive, given.h_0)
    return {
        "recursion": recursive_gradient(w, h),
        "two_levels": two_level_gradient(w, h),
        "three_levels": three_level_gradient(w, h),
        "sum": temporal_gradient(w, h),
    }


@example("explode-vanish")
def test_explode_vanish(given):
    return {
        "w_pow_T": torch.stack([state_gradient(w, given["T"]) for w in given.w]),
        "regime": [regime(w) for w in given.w],
    }


@example("rnn-sgd")
def test_rnn_sgd(given):
    found = bptt(given.w, given.a, given.x, given.y, given["g"])
    _, h_1, h_2 = found.h
    return {"h1": h_1, "h2": h_2, "dL_dw": found.w, "dL_da": found.a, "w_new": sgd(given.w, found.w, given.eta)}


# ---- update rules


@example("sgd")
def test_sgd(given):
    theta_1 = sgd(given.theta0, given.g[0], given.eta)
    return {"theta1": theta_1, "theta2": sgd(theta_1, given.g[1], given.eta)}


@example("explanation")
def test_explanation(given):
    def v(eta, alpha):
        return momentum(given.theta_1, given.v_1, given.g[1], eta, alpha)[1]

    return {"alpha_v1": v(0, given.alpha), "minus_eta_g2": v(given.eta, 0), "v2": v(given.eta, given.alpha)}


@example("inf-norm")
def test_inf_norm(given):
    w, x, y, λ = given.w, given.x, given["y"], given.tensor(given["lambda"])
    return {
        "gradient": logistic_gradient(w, x, y) + infinity_gradient(w, λ),
        "w_new": penalised_step(w, x, y, λ, given.eta),
    }


@example("cases")
def test_cases(given):
    return {"norm_squared": infinity_penalty(given.w, 2), "gradient": infinity_gradient(given.w, 2)}


# ---- normalisation


@example("bn-mean")
def test_bn_mean(given):
    return {"mu_as_printed": batch_statistics(given.H_as_printed)[0], "mu_repaired": batch_statistics(given.H)[0]}


@example("bn-std")
def test_bn_std(given):
    printed, repaired = batch_statistics(given.H_as_printed)[1], batch_statistics(given.H)[1]
    return {
        "var_as_printed": printed,
        "var_repaired": repaired,
        "sigma_as_printed": printed.sqrt(),
        "sigma_repaired": repaired.sqrt(),
    }


def normalised(given):
    i = given["sample"] - 1
    return {"H_norm": batch_norm(given.H)[i], "H_norm_if_H2_as_printed": batch_norm(given.H_as_printed)[i]}


@example("bn-normalised-H1")
def test_bn_normalised_H1(given):
    return normalised(given)


@example("bn-normalised-H3")
def test_bn_normalised_H3(given):
    return normalised(given)


@example("bn-normalised-H4")
def test_bn_normalised_H4(given):
    return normalised(given)


def at_test_time(given):
    return {
        "H_norm": batch_norm_test(given.H_test, *batch_statistics(given.H)),
        "H_norm_if_H2_as_printed": batch_norm_test(given.H_test, *batch_statistics(given.H_as_printed)),
    }


@example("bn-test-H1")
def test_bn_test_H1(given):
    return at_test_time(given)


@example("bn-test-H2")
def test_bn_test_H2(given):
    return at_test_time(given)


@example("torch-running-variance")
def test_torch_running_variance(given):
    H, H_test = given.H.flatten(1), given.H_test.flatten()
    mu, var = batch_statistics(H)
    _, sample = batch_statistics(H, "sample")
    theirs = torch.nn.BatchNorm1d(6, eps=1e-12, momentum=1.0, affine=False).double()
    theirs(exact(given["H"]).float64().flatten(1))
    ours = BatchNorm(6, eps=1e-12, momentum=1.0, variance="sample", affine=False).double()
    ours(exact(given["H"]).float64().flatten(1))
    assert torch.allclose(theirs.running_var, ours.var)
    assert torch.allclose(theirs.eval()(H_test.double()[None]), ours.eval()(H_test.double()[None]))
    out, right = batch_norm_test(H_test, mu, sample), batch_norm_test(H_test, mu, var)
    return {
        "population_variance": var,
        "torch_running_var": sample,
        "torch_eval_output": out[None],
        "ratio_to_common_slip": (out / right)[0],
    }
