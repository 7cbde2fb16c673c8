r"""Bayes' rule and the evidence decomposition, on a latent with finitely many values.

    p(z|x) = p(x|z) p(z) / p(x)                    posterior = likelihood · prior / evidence
    p(x) = Σ p(x|z) p(z)

    log p(x) = ELBO + KL(q‖p(z|x))
    ELBO = Σ q log(p(x,z)/q) = Σ q log p(x|z) − KL(q‖p(z))

Axes: k values of the latent.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError, UndecidedError
from workings.exact.tensor.equality import equal
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.nn.fits import check_inside, check_shapes

Table = Float[Tensor, " k"]
Scalar = Float[Tensor, ""]


class Bayes(NamedTuple):
    """The terms of Bayes' rule."""

    prior: Table
    likelihood: Table
    joint: Table
    evidence: Scalar
    posterior: Table


class Evidence(NamedTuple):
    """log p(x) taken apart."""

    log_evidence: Scalar
    elbo: Scalar
    kl_to_posterior: Scalar
    log_likelihood: Scalar
    """The mean of log p(x|z) under q."""
    kl_to_prior: Scalar


class Line(NamedTuple):
    """A line of a derivation: what it says, its value here, and whether that is still log p(x)."""

    says: str
    value: Scalar
    holds: bool


def bayes(prior: Table, likelihood: Table) -> Bayes:
    r"""All the terms of Bayes' rule, for one observation x.

    $$p(z \mid x) = \frac{p(x \mid z)\, p(z)}{p(x)} \qquad p(x) = \sum_z p(x \mid z)\, p(z)$$

    >>> bayes(torch.tensor([0.5, 0.5]), torch.tensor([0.3, 0.1])).posterior
    tensor([0.7500, 0.2500])
    """
    _check_distribution("prior", prior)
    check_shapes(bayes, prior, likelihood)
    check_inside("A likelihood p(x|z) is never negative", likelihood, lambda p: ~(p >= 0))
    p_z, p_x_z = prior, likelihood
    p_xz = p_x_z * p_z
    p_x = p_xz.sum()
    _check_possible(p_x)
    p_z_x = p_xz / p_x
    return Bayes(p_z, p_x_z, p_xz, p_x, p_z_x)


def evidence(prior: Table, likelihood: Table, q: Table) -> Evidence:
    r"""The evidence, its lower bound under `q`, and the gap between them.

    $$\log p(x) = \sum_z q \log \frac{p(x, z)}{q} + \mathrm{KL}(q \,\|\, p(z \mid x))$$

    >>> half = torch.tensor([0.5, 0.5])
    >>> parts = evidence(half, torch.tensor([0.3, 0.1]), half)
    >>> parts.log_evidence - parts.elbo, parts.kl_to_posterior
    (tensor(0.1438), tensor(0.1438))
    """
    p_z, p_x_z, p_xz, p_x, p_z_x = bayes(prior, likelihood)
    _check_distribution("q", q)
    check_shapes(evidence, prior, likelihood, q)
    log_p = torch.log(p_x)
    ELBO = mean_log(q, p_xz / q)
    KL = mean_log(q, q / p_z_x)
    R = mean_log(q, p_x_z)
    D = mean_log(q, q / p_z)
    return Evidence(log_p, ELBO, KL, R, D)


def derivation(prior: Table, likelihood: Table, q: Table, slip: bool = False) -> list[Line]:
    """The proof that log p(x) = ELBO + KL, each line with its value; `slip` writes the last plus as a minus.

    >>> half = torch.tensor([0.5, 0.5])
    >>> for line in derivation(half, torch.tensor([0.3, 0.1]), half, slip=True):
    ...     print(f"{line.value:.4f}  {line.says}{'' if line.holds else '  wrong'}")
    -1.6094  log p(x)
    -1.6094  E_q log p(x)
    -1.6094  E_q log(p(x,z) / p(z|x))
    -1.6094  E_q log(p(x,z)/q · q/p(z|x))
    -1.6094  E_q log(p(x,z)/q) + E_q log(q/p(z|x))
    -1.8971  ELBO − KL(q‖p(z|x))  wrong
    """
    _, _, p_xz, p_x, p_z_x = bayes(prior, likelihood)
    log_p, elbo, gap, _, _ = evidence(prior, likelihood, q)
    lines = {
        "log p(x)": log_p,
        "E_q log p(x)": mean_log(q, p_x.expand_as(q)),
        "E_q log(p(x,z) / p(z|x))": mean_log(q, p_xz / p_z_x),
        "E_q log(p(x,z)/q · q/p(z|x))": mean_log(q, p_xz / q * (q / p_z_x)),
        "E_q log(p(x,z)/q) + E_q log(q/p(z|x))": mean_log(q, p_xz / q) + mean_log(q, q / p_z_x),
        f"ELBO {'−' if slip else '+'} KL(q‖p(z|x))": elbo - gap if slip else elbo + gap,
    }
    return [Line(says, value, same(value, log_p)) for says, value in lines.items()]


def mean_log(q: Table, r: Table) -> Scalar:
    r"""The mean of log r under `q`; what `q` never takes does not count.

    $$\mathbb E_q \log r = \sum_z q \log r$$

    >>> mean_log(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    tensor(0.)
    """
    q, r = taken(q, r)
    E = (q * torch.log(r)).sum()
    return E


def taken(q: Table, r: Table) -> tuple[Float[Tensor, " taken"], Float[Tensor, " taken"]]:
    """The values that `q` takes; letters are taken to be positive."""
    try:
        some = q != 0
    except UndecidedError:
        return q, r
    return q[some], r[some]


def same(a: Tensor, b: Tensor) -> bool:
    """Equal: proved for exact values, to rounding for floats."""
    return bool(equal(a, b)) if isinstance(a, ExactTensor) else torch.allclose(a, b)


def _check_distribution(name: str, p: Tensor) -> None:
    """Refuse what is not a vector of probabilities that sum to 1; letters are taken at their word."""
    if p.dim() != 1 or not p.numel():
        raise ShapeError(f"The {name} needs one probability for each value of z, so one axis; it is {[*p.shape]}.")
    try:
        negative, total = bool((p < 0).any()), p.sum()
        whole = bool(total == 1) if isinstance(p, ExactTensor) else bool((total - 1).abs() < 1e-5)
    except UndecidedError:
        return
    if negative or not whole:
        raise DomainError(f"The {name} needs probabilities ≥ 0 that sum to 1; {p.tolist()} sums to {total.item():g}.")


def _check_possible(p_x: Scalar) -> None:
    """Refuse an evidence that is not above 0: then nothing can be said about z."""
    try:
        impossible = not bool(p_x > 0)
    except UndecidedError:
        return
    if impossible:
        raise DomainError(f"p(z|x) divides by the evidence p(x), which needs to be above 0; here it is {p_x.item():g}.")
