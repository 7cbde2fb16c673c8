r"""Bayes' rule and the evidence of a latent with finitely many values, in exact fractions (`workings.course.discrete`).

p(z|x) = p(x|z) p(z) / p(x)              p(x) = Σ p(x|z) p(z)
log p(x) = ELBO + KL(q‖p(z|x))           ELBO = Σ q log(p(x,z)/q) = Σ q log p(x|z) − KL(q‖p(z)) ≤ log p(x)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.course.discrete import Bayes, bayes, derivation, evidence
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line, Numbers

_PRIOR = Annotated[str, "p(z), a probability for each value of z"]
_LIKELIHOOD = Annotated[str, "p(x|z) of what was observed, for each value of z"]


@study(rows=("J4",), thorough={"samples": 2_000_000})
def bayes_rule(
    prior: _PRIOR = "1/2 1/4 1/4",
    likelihood: _LIKELIHOOD = "1/2 1/4 3/4",
    samples: Annotated[int, Range(1_000, 10_000_000, "fewer decide nothing"), "most draws of (z, x)"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "not divided by the evidence", "prior left out"] = "",
) -> list[Part]:
    """The four terms of Bayes' rule: prior, likelihood, evidence, posterior.

    For class labels z is the label. A variational auto-encoder reads the same rule with its code in the place of the label:
    there the evidence is an integral, which the ELBO bounds.
    """
    g = torch.Generator().manual_seed(seed)
    p_z, p_x_z = exact(prior), exact(likelihood)
    right = bayes(p_z, p_x_z)
    found = _posterior(right, broken)
    odds = (found.posterior[0] * p_x_z * p_z, found.posterior * p_x_z[0] * p_z[0])
    values = [f"z = {i}" for i in range(len(p_z))]
    shown = {"prior": p_z, "likelihood": p_x_z, "posterior": found.posterior}
    return [
        equal("The posterior sums to 1", found.posterior.sum(), exact(1), "p(x) = Σ p(x|z) p(z)"),
        equal("Posterior odds are prior odds times the ratio of the likelihoods", *odds, "the evidence cancels"),
        _mixture(found),
        _share(right, found, samples, g),
        Table(
            "The terms, exactly",
            ["z", "prior", "likelihood", "joint", "posterior"],
            [
                [i, *(exact(one).text() for one in row)]
                for i, row in enumerate(zip(p_z, p_x_z, found.joint, found.posterior, strict=True))
            ],
            note=f"evidence p(x) = {exact(found.evidence).text()}",
        ),
        Bars("Seeing x moves belief from the prior to the posterior", values, _floats(shown), ylabel="probability"),
        Worked("Bayes' rule in exact fractions", show(bayes, p_z, p_x_z)),
    ]


def _posterior(right: Bayes, broken: str) -> Bayes:
    """The terms, with one of two mistakes made."""
    if broken == "not divided by the evidence":
        return right._replace(posterior=right.joint)
    if broken:
        total = right.likelihood.sum()
        return right._replace(joint=right.likelihood, evidence=total, posterior=right.likelihood / total)
    return right


def _mixture(found: Bayes) -> Claim:
    """The evidence is a mean, so it lies between the least and the largest likelihood."""
    low, high = found.likelihood.amin(), found.likelihood.amax()
    inside = bool((found.evidence >= low) & (found.evidence <= high))
    words = f"p(x) = {exact(found.evidence).text()}, likelihoods from {exact(low).text()} to {exact(high).text()}"
    sentence = "The evidence is a mean of the likelihoods: no smaller than the least, no larger than the largest"
    return proved(sentence, inside, words, "p(z) ≥ 0 sums to 1")


def _share(right: Bayes, found: Bayes, most: int, g: torch.Generator) -> Claim:
    """Draw z, then x; among the draws with the x that was seen, count the likeliest z."""
    p_z, p_x_z = exact(right.prior).float64(), exact(right.likelihood).float64()
    z = int(exact(found.posterior).float64().argmax())
    claimed = _float(found.posterior[z])

    def seen(n: int) -> Tensor:
        latent = torch.multinomial(p_z, n, replacement=True, generator=g)
        x = torch.rand(n, generator=g, dtype=torch.float64) < p_x_z[latent]
        return (latent[x] == z).double()

    sentence = "Of many draws with this x, the likeliest z has the share that its posterior says, within 0.03"
    wanted = Bounds(claimed - 0.03, claimed + 0.03)
    return measured(sentence, seen, wanted, what=f"share of z = {z}", most=most, bounds=(0, 1), reference="Bayes' rule")


@study(rows=("J5",), thorough={"tables": 20_000})
def evidence_bound(
    prior: _PRIOR = "1/2 1/4 1/4",
    likelihood: _LIKELIHOOD = "1/2 1/4 3/4",
    q: Annotated[str, "q(z), which stands in for the posterior"] = "1/4 1/4 1/2",
    tables: Annotated[int, Range(1, 100_000, "each is a check of its own"), "random tables to try the identity on"] = 500,
    seed: Seed = 0,
    broken: Literal["", "minus before the last KL", "KL to the posterior, not the prior", "q sums to ½"] = "",
) -> list[Part]:
    """The evidence is the ELBO plus KL(q‖posterior), so the ELBO is a lower bound.

    The slip that is made most often writes the last sign as a minus. It misses log p(x) by twice the KL.
    """
    g = torch.Generator().manual_seed(seed)
    p_z, p_x_z, q_z = exact(prior), exact(likelihood), exact(q)
    parts = evidence(p_z, p_x_z, q_z)
    log_p, elbo, gap, fit, to_prior = parts
    slipped = broken == "minus before the last KL"
    claimed, slip = (elbo - gap, elbo + gap) if slipped else (elbo + gap, elbo - gap)
    lines = derivation(p_z, p_x_z, q_z, slip=slipped)
    split = fit - (gap if broken == "KL to the posterior, not the prior" else to_prior)
    return [
        equal("log p(x) = ELBO + KL(q‖p(z|x))", claimed, log_p, "E_q log(p(x,z)/q · q/p(z|x))"),
        proved(
            "Every line of the derivation has the value log p(x)",
            all(line.holds for line in lines),
            "; ".join(f"{line.says} = {_float(line.value):.6f}" for line in lines if not line.holds)
            or f"all {len(lines)} lines are {exact(log_p).text()}",
            "p(x) = p(x,z) / p(z|x), and log a·b = log a + log b",
        ),
        equal("Written with a minus, the last line misses log p(x) by 2 KL", log_p - slip, 2 * gap, "ELBO = log p(x) − KL"),
        equal("ELBO = Σ q log p(x|z) − KL(q‖p(z))", split, elbo, "p(x,z) = p(x|z) p(z)"),
        _never_above(tables, broken == "q sums to ½", g),
        _holds_on_random_tables(tables, slipped, g),
        Table(
            "The evidence taken apart",
            ["term", "exactly", "value"],
            [
                [name, exact(value).text(), round(_float(value), 6)]
                for name, value in {
                    "log p(x)": log_p,
                    "ELBO": elbo,
                    "KL(q‖p(z|x))": gap,
                    "Σ q log p(x|z)": fit,
                    "KL(q‖p(z))": to_prior,
                    "ELBO + KL": elbo + gap,
                    "ELBO − KL (the slip)": elbo - gap,
                }.items()
            ],
        ),
        _along_q(*(table.float64() for table in (p_z, p_x_z, q_z))),
        Worked("The evidence in exact values", show(evidence, p_z, p_x_z, q_z)),
        Text(
            "The bound is tight only at q = p(z|x), where the KL is 0. A better q lowers that KL; a changed model may raise "
            "the evidence or lower the KL, and the ELBO alone does not say which."
        ),
    ]


def _random_tables(count: int, g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Priors, likelihoods and q of four values each, one row for each table."""
    p_z, q = (torch.randn(count, 4, generator=g, dtype=torch.float64).mul(1.5).softmax(dim=-1) for _ in range(2))
    return p_z, torch.rand(count, 4, generator=g, dtype=torch.float64), q


def _never_above(count: int, halved: bool, g: torch.Generator) -> Claim:
    p_z, p_x_z, q = _random_tables(count, g)
    q = q / 2 if halved else q
    log_p = (p_z * p_x_z).sum(-1).log()
    elbo = (q * torch.log(p_z * p_x_z / q)).sum(-1)
    above = float((elbo - log_p).amax())
    sentence = f"On {count:,} random tables the ELBO is never above log p(x)"
    return compared(sentence, above, Bounds(high=1e-12), "largest ELBO − log p(x)", "KL ≥ 0 (Gibbs)")


def _holds_on_random_tables(count: int, slipped: bool, g: torch.Generator) -> Claim:
    p_z, p_x_z, q = _random_tables(count, g)
    sign = -1 if slipped else 1

    def off(p_z: Tensor, p_x_z: Tensor, q: Tensor) -> float:
        log_p, elbo, gap, *_ = evidence(p_z, p_x_z, q)
        return abs(float(elbo + sign * gap - log_p))

    largest = max(off(*row) for row in zip(p_z, p_x_z, q, strict=True))
    sentence = f"log p(x) = ELBO + KL on {count:,} random tables, to rounding"
    return compared(sentence, largest, Bounds(high=1e-10), "largest difference", "log p(x) does not depend on z")


def _along_q(p_z: Tensor, p_x_z: Tensor, q: Tensor) -> Curves:
    """The two parts as q moves from where it is, through the posterior, and beyond as far as it stays a distribution."""
    posterior = bayes(p_z, p_x_z).posterior
    away = posterior - q
    most = min([2.0, *((q / -away)[away < 0] * 0.999).tolist()])
    t = torch.linspace(0, most, 60, dtype=torch.float64).tolist()
    found = [evidence(p_z, p_x_z, (q + s * away).clamp(min=0)) for s in t]

    def line(name: str, value: Callable[..., Tensor], dashed: bool = False) -> Line:
        return Line(name, [float(value(one)) for one in found], dashed=dashed)

    return Curves(
        "The ELBO touches log p(x) where q is the posterior",
        t,
        [
            line("log p(x)", lambda one: one.log_evidence, dashed=True),
            line("ELBO", lambda one: one.elbo),
            line("ELBO − KL (the slip)", lambda one: one.elbo - one.kl_to_posterior),
        ],
        xlabel="how far q has moved to the posterior",
        ylabel="nats",
        marks=[(1.0, "q = p(z|x)")],
    )


def _floats(tables: dict[str, Tensor]) -> dict[str, Numbers]:
    return {name: exact(table).float64().tolist() for name, table in tables.items()}


def _float(value: Tensor) -> float:
    return float(exact(value).float64())
