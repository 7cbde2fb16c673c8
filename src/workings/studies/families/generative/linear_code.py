r"""Auto-encoders without hidden layers, and what a Gaussian code costs.

x̂ = D(E x + e) + d,  L = 1/N Σ ‖x̂ − x‖²      the best code of width k spans the first k principal components, and
                                              L = Σ_{i>k} λ_i (Bourlard & Kamp 1988; Baldi & Hornik 1989)
KL(N(μ, σ²)‖N(0, 1)) = ½ (μ² + σ² − 1 − log σ²)
z = μ + σ ε                                   carries the gradient to μ and σ
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.models.autoencoder import AutoEncoder, principal_angle
from workings.nn.objectives.variational import gaussian_kl, log_gaussian, reparameterised
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.certified import certified, normal_mean
from workings.studies.decide.proof import compared
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Histogram, Line
from workings.studies.running.progress import progress


@study(rows=("J1",), thorough={"steps": 1_000})
def linear_autoencoder(
    inputs: Annotated[int, Range(3, 32, "a code needs something to leave out"), "width of x"] = 8,
    code: Annotated[int, Range(1, 16, "narrower than x"), "width of the code"] = 3,
    examples: Annotated[int, Range(50, 5_000, "more only cost time")] = 300,
    steps: Annotated[int, Range(50, 5_000, "fewer do not reach the minimum"), "steps of L-BFGS"] = 120,
    seed: Seed = 0,
    broken: Literal["", "no biases, data not centred", "the widest code is one too narrow"] = "",
) -> list[Part]:
    """A linear auto-encoder finds the plane of the principal components, and a code as wide as its input copies it.

    The plane is that of the components; the axes of the code inside it are arbitrary, for E and D may be changed by any
    invertible matrix and its inverse.
    """
    code = min(code, inputs - 1)
    X, λ, components = _examples(inputs, examples, seed)
    biased = broken != "no biases, data not centred"
    left_out = [float(λ[k:].sum()) for k in range(inputs + 1)]
    widths = sorted({1, code, inputs - 1})
    found = {k: _fitted(X, k, steps, biased) for k in progress(widths, "widths of the code")}
    widest = inputs - 1 if broken == "the widest code is one too narrow" else inputs
    found[inputs] = _fitted(X, widest, steps, biased)
    angle = principal_angle(found[code][1], components[:, :code])
    ratio = found[code][0] / left_out[code]
    return [
        compared(
            "The error is the variance that the first k components leave out, Σ_{i>k} λ_i, within 0.1 %",
            ratio,
            Bounds(0.999, 1.001),
            "error / Σ_{i>k} λ_i",
            "Eckart & Young 1936; Baldi & Hornik 1989",
        ),
        compared(
            "The decoder's columns span the plane of the first k principal components, within 0.02 radians",
            angle,
            Bounds(high=0.02),
            "largest angle",
            "Bourlard & Kamp 1988",
        ),
        compared(
            "A code as wide as x copies it: less than 0.01 % of the variance is lost",
            found[inputs][0] / left_out[0],
            Bounds(high=1e-4),
            "share of the variance lost",
            "D E = 1 has solutions once the code is as wide as x",
        ),
        Table(
            "Error by the width of the code",
            ["k", "error of the auto-encoder", "Σ_{i>k} λ_i", "share of the variance kept"],
            [[k, found[k][0], left_out[k], 1 - found[k][0] / left_out[0]] for k in found],
        ),
        Curves(
            "The error of a linear auto-encoder is what principal components leave out",
            [*range(inputs + 1)],
            [
                Line("principal components: Σ λ_i beyond k", left_out, dashed=True),
                Line("auto-encoder", [found[k][0] if k in found else float("nan") for k in range(inputs + 1)], points=True),
            ],
            xlabel="width of the code, k",
            ylabel="mean squared distance",
        ),
        Text(_axes(found[code][1])),
    ]


def _examples(inputs: int, count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gaussian examples around a mean that is not 0, the variances of their components, and the components as columns."""
    g = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(inputs, inputs, generator=g, dtype=torch.float64)).Q
    scale = torch.tensor([0.8**i for i in range(inputs)], dtype=torch.float64)
    X = torch.randn(count, inputs, generator=g, dtype=torch.float64) * scale @ turn.T
    X = X + 2 * turn[:, -1]  # along the component with the least variance
    λ, V = torch.linalg.eigh((X - X.mean(0)).T @ (X - X.mean(0)) / count)
    return X, λ.flip(0), V.flip(1)


def _fitted(X: Tensor, code: int, steps: int, biased: bool) -> tuple[float, Tensor]:
    """The least error that L-BFGS finds, and the decoder's columns."""
    model = AutoEncoder(X.shape[1], code).double()
    for name, p in model.named_parameters():
        if name.endswith("bias") and not biased:
            p.requires_grad_(False).zero_()
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.LBFGS(weights, max_iter=steps, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        L = model.loss(X)
        L.backward()
        return L

    optimizer.step(closure)
    return float(model.loss(X).detach()), dict(model.named_parameters())["decoder.0.weight"].detach()


def _axes(D: Tensor) -> str:
    """How far the decoder's columns are from being orthogonal, as components are."""
    if D.shape[1] < 2:
        return "A code of one number has one axis: that of the first component."
    unit = D / D.norm(dim=0)
    most = float((unit.T @ unit - torch.eye(D.shape[1])).abs().amax())
    return f"The axes of the code are not the components: the largest cosine between two columns of D is {most:.2f}, not 0."


@study(rows=("J2",), thorough={"samples": 5_000_000})
def gaussian_code(
    mean: Annotated[float, Range(-3, 3, "far means need more draws"), "μ of q(z|x)"] = 1.0,
    log_variance: Annotated[float, Range(-3, 2, "wider draws need more of them"), "s = log σ²"] = -1.0,
    samples: Annotated[int, Range(10_000, 20_000_000, "fewer decide nothing"), "most draws"] = 400_000,
    seed: Seed = 0,
    broken: Literal["", "σ in the place of σ²", "KL the other way round", "no log σ²", "z without its gradient"] = "",
) -> list[Part]:
    """The KL of a Gaussian code has a closed form, and z = μ + σε carries gradients to μ and σ."""
    g = torch.Generator().manual_seed(seed)
    μ, s = (torch.tensor([value], dtype=torch.float64) for value in (mean, log_variance))
    zero = torch.zeros(1, dtype=torch.float64)
    law = _kl(mean, log_variance, broken)

    def draws(n: int) -> tuple[Tensor, Tensor, Tensor]:
        """z, and μ and s, one for each draw so that each has a gradient of its own."""
        m, t = (v.expand(n, 1).clone().requires_grad_() for v in (μ, s))
        z = reparameterised(m, t, torch.randn(n, 1, generator=g, dtype=torch.float64))
        return (z.detach() if broken == "z without its gradient" else z), m, t

    def gap(n: int) -> Tensor:
        z, m, t = draws(n)
        return log_gaussian(z, m, t) - log_gaussian(z, zero, zero)

    def slope(n: int) -> Tensor:
        z, m, t = draws(n)
        return torch.autograd.grad((log_gaussian(z, m, t) - log_gaussian(z, zero, zero)).sum(), m)[0]

    slack = max(0.02, 0.03 * law)
    return [
        certified(
            "½ (μ² + σ² − 1 − log σ²) is the integral ∫ q log(q/p), to nine digits",
            _integral(mean, log_variance) - law,
            Bounds(-1e-9, 1e-9),
            "difference",
            "integral with certified error",
        ),
        measured(
            "The mean of log q(z) − log p(z) over draws of q is that number too, within 3 % or 0.02",
            lambda n: gap(n).detach(),
            Bounds(law - slack, law + slack),
            most=samples,
            reference="law of large numbers",
        ),
        measured(
            "The gradient that z = μ + σε carries to μ is that of the closed form, ∂KL/∂μ = μ, within 0.05",
            slope,
            Bounds(mean - 0.05, mean + 0.05),
            what="mean gradient",
            most=samples,
            reference="pathwise derivative (Kingma & Welling 2014)",
        ),
        _least(broken),
        Histogram(
            "log q(z) − log p(z): single draws scatter, their mean is the KL",
            {"draws of q": gap(20_000).detach().tolist()},
            xlabel=f"log q(z) − log p(z), mean {law:.3f} by the closed form",
        ),
        _over_means(log_variance, g),
        Table(
            "Three ways to the same KL",
            ["way", "KL(q‖p)"],
            [
                ["closed form", float(gaussian_kl(μ, s))],
                ["certified integral", float(_integral(mean, log_variance).mid())],
                ["100,000 draws", float(gap(100_000).detach().mean())],
            ],
        ),
        Worked("The closed form at μ = (1, 0), σ = (1, 1)", show(gaussian_kl, exact("1 0"), exact("0 0"))),
    ]


def _kl(mean: float, s: float, broken: str) -> float:
    """The closed form, or what it is mistaken for."""
    variance = torch.tensor(s, dtype=torch.float64).exp().item()
    if broken == "σ in the place of σ²":
        return (mean**2 + variance**0.5 - 1 - s / 2) / 2
    if broken == "KL the other way round":
        return ((1 + mean**2) / variance - 1 + s) / 2
    if broken == "no log σ²":
        return (mean**2 + variance - 1) / 2
    return float(gaussian_kl(torch.tensor([mean]).double(), torch.tensor([s]).double()))


def _integral(mean: float, s: float) -> Any:
    """∫ q log(q/p) as a ball, with z = μ + γ and γ ~ N(0, σ²)."""
    from flint import acb

    variance = torch.tensor(s, dtype=torch.float64).exp().item()
    return normal_mean(lambda γ: ((γ + acb(mean)) ** 2 - γ**2 / acb(variance) - acb(s)) / 2, variance, largest=1e6)


def _least(broken: str) -> Claim:
    """Over a grid of μ and s: 0 at the standard normal only."""
    grid = [(m / 4, s / 4) for m in range(-8, 9) for s in range(-8, 9)]
    values = {at: _kl(*at, broken) for at in grid}
    least = min(value for at, value in values.items() if at != (0, 0))
    sentence = "The closed form is 0 at μ = 0, σ = 1 and positive elsewhere, on a grid of |μ| ≤ 2, |log σ²| ≤ 2"
    found = least if abs(values[0, 0]) < 1e-12 else float("nan")
    return compared(sentence, found, Bounds(low=1e-9), "least value elsewhere", "x − 1 ≥ log x, with equality at 1 only")


def _over_means(s: float, g: torch.Generator) -> Curves:
    """The closed form over μ, and the means of draws."""
    means = [i / 2 for i in range(-6, 7)]

    def by_draws(mean: float) -> float:
        m, t = torch.tensor([mean]).double(), torch.tensor([s]).double()
        z = reparameterised(m, t, torch.randn(4_000, 1, generator=g, dtype=torch.float64))
        return float((log_gaussian(z, m, t) - log_gaussian(z, 0 * m, 0 * t)).mean())

    return Curves(
        "KL(N(μ, σ²)‖N(0, 1)): closed form and means of 4,000 draws",
        means,
        [
            Line("closed form", [_kl(m, s, "") for m in means], dashed=True),
            Line("draws", [by_draws(m) for m in means], points=True),
        ],
        xlabel=f"μ, at log σ² = {s:g}",
        ylabel="nats",
    )
