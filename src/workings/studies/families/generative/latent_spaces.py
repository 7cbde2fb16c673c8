r"""An auto-encoder and a variational one on the same pictures: what each one's code is good for.

    auto-encoder     L = ‖x̂ − x‖²                              the code is a point; nothing says where it lies
    variational      L = −log p(x|z) + KL(q(z|x)‖N(0, 1))      the code is a cloud; the KL keeps the clouds about the prior

A draw is decoded from the prior N(0, 1). How real it looks is measured by its distance to the nearest training picture,
beside the distance that unseen pictures have. The pictures are the 1,797 digits of 8×8 that come with scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings.models.autoencoder import AutoEncoder
from workings.models.vae import VAE
from workings.nn.objectives.variational import reparameterised
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Images, Scatter
from workings.studies.running.progress import progress
from workings.train.data.images import Images as Data
from workings.train.data.images import digits

_VARIANCE = 0.05
"""Of p(x|z): the KL counts 1 when the squared error counts 1 / (2 · 0.05) = 10."""


@dataclass(frozen=True)
class _Figures:
    """What one trained model does."""

    error: float
    """of reconstructed test pictures"""
    draws: float
    """distance of decoded draws of the prior to the nearest training picture"""
    middles: float
    """the same of pictures decoded half-way between the codes of two pictures"""
    spread: float
    """mean square of all codes: 1 for the prior"""


@study(rows=("J3", "J2", "J1"), trains=True, thorough={"seeds": 11, "steps": 2_000})
def latent_spaces(
    code: Annotated[int, Range(2, 32, "half a picture of 64 at most"), "width of the code"] = 16,
    steps: Annotated[int, Range(200, 5_000, "fewer do not train"), "updates of each model"] = 400,
    seeds: Annotated[int, Range(7, 50, "fewer than seven trials decide nothing at 0.01"), "models of each kind"] = 7,
    seed: Seed = 0,
    broken: Literal["", "no KL term"] = "",
) -> list[Part]:
    """An auto-encoder keeps more of a picture; a variational one makes a code that can be drawn at random."""
    data = digits()
    x, unseen = data.x.flatten(1), data.x_test.flatten(1)
    weight = 0.0 if broken else 1.0
    plain, variational = [], []
    for i in progress(range(seeds), "two models for each seed"):
        torch.manual_seed(seed + i)
        plain.append(_figures(_trained(AutoEncoder(64, code, [64]), x, steps), x, unseen))
        variational.append(_figures(_trained(VAE(64, code, [64], "gaussian", _VARIANCE), x, steps, weight), x, unseen))
    real = _distance(unseen, x)
    pairs = [*zip(plain, variational, strict=True)]
    return [
        most_trials(
            "Decoded draws of N(0, 1) miss real pictures by less than a third of what the auto-encoder's miss them",
            [(a.draws - real) / 3 - (v.draws - real) for a, v in pairs],
            what="a third of the auto-encoder's excess distance, less the variational one's,",
            reference="the KL term pulls the codes to the prior",
        ),
        most_trials(
            "The auto-encoder reconstructs better: its squared error is less by at least 0.3",
            [v.error - a.error for a, v in pairs],
            0.3,
            what="error of the variational one, less the auto-encoder's,",
            reference="its loss is that error alone",
        ),
        most_trials(
            "The codes z = μ + σε of all pictures have the mean square of the prior, 1, within 0.2",
            [0.2 - abs(v.spread - 1) for v in variational],
            what="room inside the range",
            reference="at the optimum of the ELBO the mean of q(z|x) over x is near the prior",
        ),
        Table(
            "Means over the seeds",
            ["", "auto-encoder", "variational"],
            [
                ["squared error of test pictures", _mean(plain, "error"), _mean(variational, "error")],
                ["distance of draws to real pictures", _mean(plain, "draws"), _mean(variational, "draws")],
                ["distance half-way between two codes", _mean(plain, "middles"), _mean(variational, "middles")],
                ["mean square of the codes", _mean(plain, "spread"), _mean(variational, "spread")],
            ],
            note=f"unseen pictures are {real:.3f} away from the nearest training picture",
        ),
        *([] if broken else _pictures(data, code, steps, seed)),
        Text(
            "Interpolation does not tell the two apart here: half-way between two codes both are about equally far from "
            "real pictures (third row). What fails without the KL is drawing at random: the prior is elsewhere."
        ),
    ]


def _trained(model: AutoEncoder | VAE, x: Tensor, steps: int, weight: float = 1.0) -> AutoEncoder | VAE:
    """The model after `steps` updates by Adam on batches of 128; the KL counts `weight`."""
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        batch = x[torch.randint(len(x), (128,))]
        if isinstance(model, VAE):
            bound = model.bound(batch)
            L = (weight * bound.kl - bound.log_likelihood).mean()
        else:
            L = model.loss(batch)
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
    return model


def _codes(model: AutoEncoder | VAE, x: Tensor) -> tuple[Tensor, Tensor]:
    """The codes of pictures, and codes as the model draws them: the same for an auto-encoder."""
    if not isinstance(model, VAE):
        z: Tensor = model.encoder(x)
        return z, z
    μ, s = model.encode(x)
    return μ, reparameterised(μ, s, torch.randn_like(μ))


def _decoded(model: AutoEncoder | VAE, z: Tensor) -> Tensor:
    decode = model.decode if isinstance(model, VAE) else model.decoder
    return decode(z)


def _distance(pictures: Tensor, x: Tensor) -> float:
    """The mean distance to the nearest of the training pictures."""
    return float(torch.cdist(pictures, x).amin(dim=1).mean())


@torch.no_grad()
def _figures(model: AutoEncoder | VAE, x: Tensor, unseen: Tensor) -> _Figures:
    centre, drawn = _codes(model, x)
    z = torch.randn(500, centre.shape[1])
    i, j = torch.randint(len(x), (2, 500))
    error = (_decoded(model, _codes(model, unseen)[0]) - unseen).square().sum(dim=1).mean()
    middles = _decoded(model, (centre[i] + centre[j]) / 2)
    return _Figures(float(error), _distance(_decoded(model, z), x), _distance(middles, x), float(drawn.square().mean()))


def _mean(figures: list[_Figures], name: str) -> float:
    return sum(getattr(one, name) for one in figures) / len(figures)


def _pictures(data: Data, code: int, steps: int, seed: int) -> list[Part]:
    """Draws and interpolations of both, and the maps of codes with two numbers."""
    torch.manual_seed(seed)
    x, y, unseen = data.x.flatten(1), data.y, data.x_test.flatten(1)
    zero, six = (unseen[data.y_test == digit][0] for digit in (0, 6))
    wide = {
        "auto-encoder": _trained(AutoEncoder(64, code, [64]), x, steps),
        "variational": _trained(VAE(64, code, [64], "gaussian", _VARIANCE), x, steps),
    }
    flat = {
        "auto-encoder": _trained(AutoEncoder(64, 2, [64]), x, steps),
        "variational": _trained(VAE(64, 2, [64], "gaussian", _VARIANCE), x, steps),
    }
    z = torch.randn(10, code)
    with torch.no_grad():
        draws = [_grid(_decoded(model, z)) for model in wide.values()]
        between = [_grid(_between(model, zero, six)) for model in wide.values()]
        maps = [_map(name, _codes(model, x[:600])[0], y[:600]) for name, model in flat.items()]
    return [
        Images("Ten draws of the prior, decoded", draws, labels=["AE", "VAE"]),
        Images("From a 0 to a 6 along the line between their codes", between, labels=["AE", "VAE"]),
        *maps,
    ]


def _between(model: AutoEncoder | VAE, a: Tensor, b: Tensor) -> Tensor:
    start, end = _codes(model, torch.stack([a, b]))[0]
    t = torch.linspace(0, 1, 10).unsqueeze(1)
    return _decoded(model, (1 - t) * start + t * end)


def _grid(pictures: Tensor) -> list[list[list[float]]]:
    return pictures.clamp(0, 1).view(-1, 8, 8).tolist()


def _map(name: str, z: Tensor, y: Tensor) -> Scatter:
    """Codes of two numbers, a name for each digit; four digits, so that they can be told apart."""
    points = {f"digit {k}": (z[y == k, 0].tolist(), z[y == k, 1].tolist()) for k in (0, 1, 4, 6)}
    return Scatter(f"Codes of two numbers: {name}", points, xlabel="z₁", ylabel="z₂", equal=True)  # type: ignore[arg-type]
