r"""The four figures of the course, made anew, each with claims about what it shows.

a sample grid of the pictures of digits (I7)            the architecture of their network (I3)
the average loss of a character model (K4, K6)          the range of possible keys k_a along μ_a (A24)

k_a = (1 + γ) μ_a + √α ε,  γ ~ N(0, ½):  variance ½ + α along μ_a and α across it;  P(k_aᵀμ_a < 0) = Φ(−1/√(½ + α))
"""

from __future__ import annotations

import ast
from functools import cache
from math import erfc, log, sqrt
from pathlib import Path
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

import workings
from workings.models.character import CharacterModel
from workings.models.cnn import StreetDigits
from workings.nn.vision.convolution import conv_size, parameter_count, pool_size
from workings.studies.claim import Bounds
from workings.studies.decide.proof import proved
from workings.studies.decide.sequential import measured
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.families.vision.house_numbers import labels_fit, read_pictures, sample_grid
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Boxes, Curves, Line, Scatter
from workings.studies.running.progress import progress
from workings.train.data import texts

# ------------------------------------------------------------------------------------------------ digits, network


@study(rows=("L1", "I7"))
def figure_digits(
    folder: Annotated[str, "a folder with SVHN's two .mat files; without one, composed street scenes"] = "",
    seed: Seed = 0,
    broken: Literal["", "captions shuffled"] = "",
) -> list[Part]:
    """Figure: a sample grid of the pictures of digits, each under its label."""
    x, y, _ = read_pictures(folder, 800, seed)
    if broken:
        y = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))]
    return [
        sample_grid(x, y, rows=4),
        labels_fit(x, y),
        Text("Photographs from your folder." if folder else "Composed of handwritten digits; no photographs."),
    ]


@study(rows=("L1", "I3"))
def figure_network(seed: Seed = 0, broken: Literal["", "no padding in conv2", "pooling of 2 first"] = "") -> list[Part]:
    """Figure: the architecture of the network for house numbers, with the sizes of a real pass."""
    model = StreetDigits()
    if broken == "pooling of 2 first":
        model.pool1 = nn.AvgPool2d(2)
    stages = _stages(model)
    sides = _sides(0 if broken == "no padding in conv2" else 1)
    found = [size for name, size in stages if name in ("conv 5×5", "mean 4×4", "conv 4×4", "mean 2×2")]
    expected = [f"{c}×{n}×{n}" for c, n in zip((8, 8, 16, 16), sides, strict=True)]
    return [
        Boxes("The network for house numbers", stages, note=f"{parameter_count(model):,} parameters"),
        proved(
            "The sizes in the diagram are those of the rule: 8×28×28, 8×7×7, 16×6×6, 16×3×3",
            found == expected == ["8×28×28", "8×7×7", "16×6×6", "16×3×3"],
            f"diagram {', '.join(found)}; rule {', '.join(expected)}",
            "⌊(N + 2P − F)/S⌋ + 1",
        ),
    ]


def _stages(model: StreetDigits) -> list[tuple[str, str]]:
    """What a pass through the model gives after each layer; the head is left out where its input does not fit."""
    X = torch.zeros(1, 1, 32, 32)
    stages = [("image", "1×32×32")]
    names = {"conv1": "conv 5×5", "pool1": "mean 4×4", "conv2": "conv 4×4", "pool2": "mean 2×2"}
    for layer, name in names.items():
        X = getattr(model, layer)(X)
        stages.append((name, "×".join(map(str, X.shape[1:]))))
    features = X.flatten(1).shape[1]
    return [*stages, ("flatten", str(features)), ("linear", "10 logits"), ("softmax", "10")]


def _sides(padding: int) -> tuple[int, int, int, int]:
    a = conv_size(32, 5)
    b = pool_size(a, 4)
    c = conv_size(b, 4, P=padding)
    return a, b, c, pool_size(c, 2)


# ------------------------------------------------------------------------------------------------- average loss


@study(rows=("L1", "K4", "K6"), trains=True, thorough={"steps": 1_500})
def figure_loss(
    text: Annotated[str, "a text file, or shakespeare; without one, the docstrings of this package"] = "",
    steps: Annotated[int, Range(50, 20_000, "a curve needs points"), "updates"] = 120,
    seeds: Annotated[int, Range(7, 30, "fewer than seven trials decide nothing at 0.01"), "models"] = 7,
    seed: Seed = 0,
    broken: Literal["", "learning rate 0", "scores thirty times too large"] = "",
) -> list[Part]:
    """Figure: the average loss of a character model over its training.

    A model that knows nothing has the loss log c for c characters; what it learns first is how often each one occurs.
    """
    letters = texts.text(text, least=5_000) if text else _docstrings()
    alphabet = sorted({*letters})
    number = {one: i for i, one in enumerate(alphabet)}
    tokens = torch.tensor([number[one] for one in letters[:200_000]])
    curves = [_curve(tokens, len(alphabet), steps, seed + i, broken) for i in progress(range(seeds), "models")]
    tenth = max(1, steps // 10)
    falls = [sum(curve[:tenth]) / tenth - sum(curve[-tenth:]) / tenth for curve in curves]
    start = log(len(alphabet))
    smooth = [_smooth(curve) for curve in curves]
    columns = [*zip(*smooth, strict=True)]
    return [
        most_trials(
            "The average loss falls: its last tenth is at least 0.5 nats below its first",
            falls,
            0.5,
            what="fall",
            reference="gradient descent on the cross-entropy",
        ),
        most_trials(
            f"It starts at log c, the loss of a model that knows nothing, within 0.2: {start:.3f} for c = {len(alphabet)}",
            [0.2 - abs(curve[0] - start) for curve in curves],
            what="room inside the range",
            reference="softmax of scores near 0 is uniform",
        ),
        Curves(
            "Average loss of a character model",
            [*range(1, steps + 1)],
            [
                Line(
                    f"mean of {seeds} models",
                    [sum(column) / seeds for column in columns],
                    [min(column) for column in columns],
                    [max(column) for column in columns],
                ),
                Line("log c: knows nothing", [start] * steps, dashed=True),
            ],
            xlabel="update",
            ylabel="nats per character",
            note="smoothed over ten updates; the band goes from the lowest to the highest model",
        ),
        Table(
            "Average loss",
            ["update", "lowest", "mean", "highest"],
            [
                [t, min(columns[t - 1]), sum(columns[t - 1]) / seeds, max(columns[t - 1])]
                for t in (1, steps // 10, steps // 2, steps)
            ],
            note=f"{len(tokens):,} characters of {text or 'the docstrings of this package'}",
        ),
    ]


@cache
def _docstrings() -> str:
    """Our own prose: the docstrings of the package's textbook, one after the other."""
    root = Path(workings.__file__).parent
    files = sorted(path for room in ("nn", "course", "models") for path in (root / room).rglob("*.py"))
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (said := ast.get_docstring(node)):
                found.append(said)
    return "".join(one if one.isascii() else " " for one in "\n\n".join(found))


def _curve(tokens: Tensor, characters: int, steps: int, seed: int, broken: str) -> list[float]:
    """The loss at each update of a small recurrent model."""
    torch.manual_seed(seed)
    model = CharacterModel(characters, width=16, hidden=64, cell="gru")
    if broken == "scores thirty times too large":
        model.output.weight.data *= 30
        model.output.bias.data *= 30
    optimizer = torch.optim.Adam(model.parameters(), 0.0 if broken == "learning rate 0" else 1e-2)
    losses = []
    for _ in range(steps):
        at = torch.randint(len(tokens) - 33, (16, 1)) + torch.arange(33)
        L = model.loss(tokens[at])
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
        losses.append(float(L.detach()))
    return losses


def _smooth(curve: list[float], width: int = 10) -> list[float]:
    """Means over the last ten values."""
    return [sum(curve[max(0, t - width + 1) : t + 1]) / (t + 1 - max(0, t - width + 1)) for t in range(len(curve))]


# -------------------------------------------------------------------------------------------- keys along their mean


@study(rows=("L1", "A24"), thorough={"samples": 5_000_000})
def figure_keys(
    alpha: Annotated[float, Range(1e-4, 0.1, "the noise across is small"), "α of Σ_a = αI + ½ μ_a μ_aᵀ"] = 0.01,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "most keys"] = 400_000,
    seed: Seed = 0,
    broken: Literal["", "a norm that is not random", "noise across as large as along"] = "",
) -> list[Part]:
    """Figure: the range of possible keys k_a along their mean μ_a, in the plane."""
    g = torch.Generator().manual_seed(seed)
    μ_a, μ_b = torch.tensor([0.8, 0.6]).double(), torch.tensor([-0.6, 0.8]).double()

    def keys(n: int) -> Tensor:
        γ = sqrt(0.5) * torch.randn(n, 1, generator=g, dtype=torch.float64)
        ε = torch.randn(n, 2, generator=g, dtype=torch.float64)
        noise = sqrt(0.5 if broken == "noise across as large as along" else alpha)
        return (1 + (0 * γ if broken == "a norm that is not random" else γ)) * μ_a + noise * ε

    below = erfc(1 / sqrt(2 * (0.5 + alpha))) / 2
    shown = keys(400)
    along = 0.5 + alpha
    return [
        Scatter(
            "Possible keys k_a lie along μ_a, some of them on the other side of 0",
            {
                "k_a": (shown[:, 0].tolist(), shown[:, 1].tolist()),
                "μ_a": ([float(μ_a[0])], [float(μ_a[1])]),
                "μ_b": ([float(μ_b[0])], [float(μ_b[1])]),
                "0": ([0.0], [0.0]),
            },
            xlabel="first coordinate",
            ylabel="second coordinate",
            equal=True,
        ),
        measured(
            "The variance of k_a along μ_a is ½ + α, within 5 %",
            lambda n: (keys(n) @ μ_a - 1).square(),
            Bounds(0.95 * along, 1.05 * along),
            what="mean square",
            most=samples,
            reference="Σ_a = αI + ½ μ_a μ_aᵀ",
        ),
        measured(
            "The variance of k_a across μ_a is α, within 5 %",
            lambda n: (keys(n) @ μ_b).square(),
            Bounds(0.95 * alpha, 1.05 * alpha),
            what="mean square",
            most=samples,
            reference="μ_bᵀ Σ_a μ_b = α",
        ),
        measured(
            "The share of keys on the other side, k_aᵀμ_a < 0, is Φ(−1/√(½ + α)), within 0.01",
            lambda n: (keys(n) @ μ_a < 0).double(),
            Bounds(below - 0.01, below + 0.01),
            what=f"share (law {below:.4f})",
            most=samples,
            bounds=(0, 1),
            reference="k_aᵀμ_a ~ N(1, ½ + α); erfc(1)/2 = 7.86 % for α → 0",
        ),
    ]
