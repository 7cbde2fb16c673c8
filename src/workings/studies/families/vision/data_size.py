r"""A Vision Transformer against a convolutional network over the number of training pictures, at the same compute.

    operations of training = steps · batch · operations for a picture         the same for both, within a fifth
    error(n) ≈ a n^(−b)                a straight line on logarithmic axes, fitted to each; they cross at
    n* = (a_V / a_C)^(1 / (b_V − b_C))      if b_V > b_C

Convolutions have locality and shared weights built in; a ViT has to learn from pictures how places hang together. Reported
for pre-training: CNNs ahead on 1.3 million pictures, the gap closing near 14 million, ViT ahead at about 300 million
(Dosovitskiy et al. 2021). Here there are 1,438 digits of 8×8.
"""

from __future__ import annotations

from math import exp, inf, log
from statistics import mean
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from workings.models.cnn import digits_cnn
from workings.models.vit import ViT
from workings.nn.objectives.losses import cross_entropy
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress
from workings.train.data.images import digits


def small_vit(classes: int) -> ViT:
    """For pictures of 8×8: 16 patches, width 16, two blocks."""
    return ViT(8, 2, 16, 2, 2, classes, channels=1, pool="mean")


def _cnn() -> nn.Module:
    """As many operations for a picture as the ViT, within a fifth."""
    return digits_cnn(8, (16, 44))


def trained(model: nn.Module, x: Tensor, y: Tensor, steps: int, rate: float, batch: int = 32) -> nn.Module:
    """The model after so many updates by Adam of what is not frozen."""
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], rate)
    for _ in range(steps):
        i = torch.randint(len(x), (min(batch, len(x)),))
        loss = cross_entropy(model(x[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of pictures whose class has the highest score."""
    return float((model(x).argmax(dim=1) == y).double().mean())


@study(rows=("D7",), trains=True, thorough={"seeds": 11, "steps": 1000})
def data_size(
    smallest: Annotated[int, Range(20, 100, "the claim is about few pictures"), "smallest training set"] = 40,
    steps: Annotated[int, Range(100, 5_000, "fewer do not train"), "updates of each network"] = 200,
    seeds: Annotated[int, Range(7, 50, "fewer than seven trials decide nothing at 0.01"), "networks of each kind"] = 7,
    seed: Seed = 0,
    broken: Literal["", "a ViT in place of the CNN"] = "",
) -> list[Part]:
    """With few pictures a CNN is ahead of a ViT of the same compute; they come closer with more, and do not cross.

    Both see the same pictures equally often. The pictures are the 8×8 digits of scikit-learn; 359 others judge.
    """
    data = digits()
    sizes = [smallest, round((smallest * len(data.y)) ** 0.5), len(data.y)]
    shuffled = torch.randperm(64, generator=torch.Generator().manual_seed(seed))

    def score(kind: str, n: int, k: int, permuted: bool = False) -> float:
        """The accuracy of a network on n pictures, drawn by the k-th seed."""
        torch.manual_seed(1_000_003 * seed + k)
        chosen = torch.randperm(len(data.y))[:n]
        x, x_test = (t.flatten(1)[:, shuffled].view_as(t) if permuted else t for t in (data.x, data.x_test))
        model = _cnn() if kind == "CNN" and not broken else small_vit(10)
        return accuracy(trained(model, x[chosen], data.y[chosen], steps, 0.005), x_test, data.y_test)

    found: dict[str, list[list[float]]] = {"CNN": [], "ViT": []}
    moved: dict[str, list[float]] = {"CNN": [], "ViT": []}
    for k in progress(range(seeds), "seeds"):
        for kind, rows in found.items():
            rows.append([score(kind, n, k) for n in sizes])
            if not broken:
                moved[kind].append(rows[-1][0] - score(kind, smallest, k, permuted=True))
    gaps = [[c - v for c, v in zip(*pair, strict=True)] for pair in zip(found["CNN"], found["ViT"], strict=True)]
    claims = [
        most_trials(
            f"On {smallest} pictures the CNN is ahead, by more than 10 points in a hundred",
            [row[0] for row in gaps],
            0.1,
            what="accuracy of the CNN, less the ViT's,",
            reference="built-in locality and shared weights need not be learned (Dosovitskiy et al. 2021, §4.3)",
        ),
        most_trials(
            f"The gap in accuracy is smaller with more pictures, on {sizes[-1]:,}",
            [row[0] - row[-1] for row in gaps],
            0.0,
            what="gap on few pictures, less the gap on all,",
            reference="the less a network has built in, the more it gains from data",
        ),
        most_trials(
            f"The crossover is not reached: on all {sizes[-1]:,} pictures the CNN is still ahead",
            [row[-1] for row in gaps],
            0.0,
            what="accuracy of the CNN, less the ViT's,",
            reference="reported between 14 and 300 million pictures (Dosovitskiy et al. 2021, figure 3)",
        ),
    ]
    if broken:
        return [*claims]
    means = {kind: torch.tensor(rows).mean(dim=0).tolist() for kind, rows in found.items()}
    laws = {kind: power_law(sizes, [1 - one for one in row]) for kind, row in means.items()}
    lost = [c - v for c, v in zip(moved["CNN"], moved["ViT"], strict=True)]
    still = [row[0] - one for row, one in zip(gaps, lost, strict=True)]
    crossing = crossover(laws["ViT"], laws["CNN"])
    reach = [*sizes, *(sizes[-1] * 10**k for k in (1, 2, 3))]
    return [
        *claims,
        Table(
            "Accuracy on 359 other pictures, means over the seeds",
            ["pictures", "CNN", "ViT", "gap", "least gap", "largest gap"],
            [
                [n, means["CNN"][i], means["ViT"][i], *(of([row[i] for row in gaps]) for of in (mean, min, max))]
                for i, n in enumerate(sizes)
            ],
            note=f"operations for a picture: CNN {_operations(_cnn()):,}, ViT {_operations(small_vit(10)):,}; "
            f"{steps} steps of 32 pictures for each",
        ),
        Curves(
            "Accuracy over the number of pictures: the gap narrows",
            sizes,
            [
                Line(kind, means[kind], [min(c) for c in zip(*rows, strict=True)], [max(c) for c in zip(*rows, strict=True)])
                for kind, rows in found.items()
            ],
            xlabel="training pictures",
            ylabel="accuracy",
            xscale="log",
        ),
        Curves(
            "On paper: the power laws of the errors, drawn on",
            reach,
            [
                *(
                    Line(f"{kind}: {a:.2g}·n^(−{b:.2g})", [a * n ** (-b) for n in reach], dashed=True)
                    for kind, (a, b) in laws.items()
                ),
            ],
            xlabel="training pictures",
            ylabel="error",
            xscale="log",
            yscale="log",
            marks=[(float(sizes[-1]), "measured")],
        ),
        Text(
            f"On paper the fitted lines {_crossing(crossing)} Three sizes fix two numbers of each line, errors level off, "
            "both networks are tiny and trained briefly, and the reported crossover is of large networks that are "
            "pre-trained for long: this experiment neither shows that crossover nor refutes it."
        ),
        Text(
            "A smaller gap in accuracy is not a smaller ratio of errors: the CNN nears 100 % and cannot rise much further. "
            f"The ViT makes {_times(means, 0):.2g} times the errors of the CNN on {smallest} pictures, and "
            f"{_times(means, -1):.2g} times on {sizes[-1]:,}."
        ),
        Text(
            "Is locality the reason? If all pixels change places in one and the same way, the CNN loses more than the ViT "
            f"in {sum(one > 0 for one in lost)} of {seeds} trials on {smallest} pictures; its lead is then "
            f"{mean(still):.2f} on average; before, it was {mean(row[0] for row in gaps):.2f}. That is no claim here: "
            "so few trials do not decide it."
        ),
    ]


def power_law(n: list[int], error: list[float]) -> tuple[float, float]:
    """a and b of error ≈ a n^(−b), by least squares of the logarithms.

    >>> power_law([1, 10, 100], [0.5, 0.05, 0.005])
    (0.5, 1.0)
    """
    x, y = (torch.tensor([log(max(one, 1e-4)) for one in row], dtype=torch.float64) for row in (n, error))
    b = -float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())
    return round(exp(float(y.mean()) + b * float(x.mean())), 12), round(b, 12)


def crossover(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Where the first power law, larger at the start, falls below the second; infinite where it never does.

    >>> crossover((1.0, 1.0), (0.1, 0.5)), crossover((1.0, 0.5), (0.1, 0.5))
    (100.0, inf)
    """
    (a, b), (c, d) = first, second
    return round((a / c) ** (1 / (b - d)), 6) if b > d else inf


def _times(means: dict[str, list[float]], i: int) -> float:
    """How many times the errors of the CNN the ViT makes."""
    return (1 - means["ViT"][i]) / max(1 - means["CNN"][i], 1e-4)


def _crossing(n: float) -> str:
    return f"meet near {n:.0e} pictures." if n < 1e12 else "do not meet: the error of the CNN falls at least as fast."


def _operations(model: nn.Module) -> int:
    """Floating-point operations for one picture, forwards."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 1, 8, 8))
    return int(counter.get_total_flops())
