r"""Batches: how an epoch is cut, and how noisy the gradient of a batch is.

⌈N/B⌉ batches in an epoch, the last of N − B(⌈N/B⌉ − 1) examples
E[g_B] = g,    E‖g_B − g‖² = tr Σ / B                            with replacement; Σ: covariance of one example's gradient
E‖g_B − g‖² = tr Σ / B · (N − B)/(N − 1)                         without: a batch of all N has no noise
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings.course.penalty import logistic_gradient
from workings.studies.claim import Bounds
from workings.studies.decide.proof import proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table
from workings.studies.pictures.kinds import Curves, Heatmap, Histogram, Line
from workings.train.tasks.shuffled import Shuffled


def epochs(count: int, batch: int, number: int, seed: int, broken: str = "") -> Iterator[list[list[int]]]:
    """The batches of each epoch, as PyTorch's loader cuts them: lists of the places of the examples."""
    from torch.utils.data import DataLoader, RandomSampler

    g = torch.Generator().manual_seed(seed)
    places = list(range(count))
    sampler = RandomSampler(places, replacement=True, generator=g) if broken == "drawn with replacement" else None
    loader: DataLoader[int] = DataLoader(
        places,  # type: ignore[arg-type]
        batch_size=batch,
        shuffle=broken != "not shuffled" if sampler is None else None,
        sampler=sampler,
        drop_last=broken == "last batch dropped",
        generator=g,
        collate_fn=list,
    )
    for _ in range(number):
        yield list(loader)


@study(rows=("G1",), thorough={"most": 60})
def batches(
    most: Annotated[
        int, Range(8, 100, "with fewer, two shuffles may agree by chance"), "all data sets up to this size"
    ] = 24,
    seed: Seed = 0,
    broken: Literal["", "last batch dropped", "drawn with replacement", "not shuffled", "batches weighted alike"] = "",
) -> list[Part]:
    """An epoch in batches sees every example once, in a new order, and its last batch may be smaller.

    Every number of examples up to `most` is cut into batches of every size by PyTorch's loader, and counted.
    """
    counted = weighted = once = True
    cases = 0
    for N in range(1, most + 1):
        for B in range(1, N + 1):
            (epoch,) = epochs(N, B, 1, seed, broken)
            sizes = [len(batch) for batch in epoch]
            full = ceil(N / B)
            counted &= sizes == [B] * (full - 1) + [N - B * (full - 1)]
            once &= sorted(place for batch in epoch for place in batch) == list(range(N))
            weighted &= _epoch_mean(epoch, alike=broken == "batches weighted alike") == Fraction(N - 1, 2)
            cases += 1
    orders = [[place for batch in epoch for place in batch] for epoch in epochs(most, 5, 3, seed, broken)]
    seen = Shuffled(most, 5, seed)
    row = torch.cat([seen(step) for step in range(most)]).reshape(5, most).tolist()
    if broken == "drawn with replacement":
        row = torch.randint(most, (5, most), generator=torch.Generator().manual_seed(seed)).tolist()
    cases_text = f"{cases} pairs of N and B, all up to {most}"
    return [
        proved(
            "An epoch of N examples has ⌈N/B⌉ batches of B, the last with the N − B(⌈N/B⌉ − 1) that are left",
            counted,
            cases_text,
            "division with remainder",
        ),
        proved("Each example is seen exactly once in an epoch", once, cases_text, "a shuffle is a permutation"),
        proved(
            "The mean over an epoch is that of the batches' means weighted by their sizes, also with a partial last batch",
            weighted,
            f"of the losses 0, 1, … N − 1, {cases_text}; B batches weighted alike count a smaller last batch too much",
            "Σ_b |b| mean_b = Σ_i",
        ),
        proved(
            "Every epoch has an order of its own",
            len({*map(tuple, orders)}) == len(orders),
            f"three epochs of {most} examples begin with {', '.join(str(order[:4]) for order in orders)}",
            f"two shuffles agree with probability 1/{most}!",
        ),
        proved(
            "With passes joined to one row all batches are full, and each N in a row are still all examples once",
            all(sorted(epoch) == list(range(most)) for epoch in row),
            f"{most} batches of 5 from {most} examples, as the recipes of this package draw them",
            "lcm(N, B) examples are lcm(N, B)/N whole passes",
        ),
        Heatmap(
            f"Which example comes when: three epochs of {most}",
            orders,
            [f"epoch {i + 1}" for i in range(len(orders))],
            [str(place) for place in range(1, most + 1)] if not broken else (),
            "place in the epoch",
            digits=0,
        ),
        Table(
            "How an epoch is cut",
            ["examples N", "batch B", "batches", "last batch", "left out, if the last is dropped"],
            [
                [N, B, ceil(N / B), N - B * (ceil(N / B) - 1), N % B]
                for N, B in ((1000, 32), (1000, 100), (60_000, 128), (5, 8))
            ],
        ),
    ]


def _epoch_mean(epoch: list[list[int]], alike: bool) -> Fraction:
    """The mean of the places over an epoch, put together from the means of its batches."""
    means = [Fraction(sum(batch), len(batch)) for batch in epoch]
    weights = [1 if alike else len(batch) for batch in epoch]
    return sum((w * mean for w, mean in zip(weights, means, strict=True)), Fraction(0)) / max(1, sum(weights))


# ------------------------------------------------------------------------------------------------ gradient noise


def _all_batches(g: list[Fraction], B: int, broken: str) -> list[Fraction]:
    """The gradient of every batch of B of the examples."""
    if broken == "one example repeated":
        return [*g]
    sums = [sum(chosen, Fraction(0)) for chosen in combinations(g, B)]
    return sums if broken == "summed, not averaged" else [one / B for one in sums]


def _enumerated(broken: str) -> tuple[bool, bool, str]:
    """Whether mean and variance over all batches without replacement are those of the formulas, for N = 6."""
    g = [Fraction(n) for n in (3, -1, 4, 1, -5, 9)]
    N = len(g)
    mean = sum(g, Fraction(0)) / N
    variance = sum(((one - mean) ** 2 for one in g), Fraction(0)) / N
    unbiased = lawful = True
    found = []
    for B in range(1, N + 1):
        batch = _all_batches(g, B, broken)
        centre = sum(batch, Fraction(0)) / len(batch)
        spread = sum(((one - mean) ** 2 for one in batch), Fraction(0)) / len(batch)
        unbiased &= centre == mean
        lawful &= spread == variance / B * Fraction(N - B, N - 1)
        found.append(str(spread))
    return unbiased, lawful, f"gradients 3, −1, 4, 1, −5, 9; B = 1 … 6: variance {', '.join(found)}"


@study(rows=("F4",), thorough={"samples": 4_000_000})
def gradient_noise(
    batch: Annotated[int, Range(2, 256, "one example is the unit of the noise"), "batch size B of the test"] = 8,
    examples: Annotated[int, Range(16, 4096, "the data set that batches are drawn from")] = 256,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "batches drawn at most"] = 200_000,
    seed: Seed = 0,
    broken: Literal["", "one example repeated", "summed, not averaged"] = "",
) -> list[Part]:
    """The noise of a batch's gradient falls as 1/B, its mean stays.

    Examples of a logistic regression; a batch is drawn with replacement, and its gradient held against that of all examples.
    """
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(examples, 6, generator=g, dtype=torch.float64)
    y = (
        x @ torch.randn(6, generator=g, dtype=torch.float64) + torch.randn(examples, generator=g, dtype=torch.float64) > 0
    ).double()
    w = torch.randn(6, generator=g, dtype=torch.float64) / 3
    G = torch.stack([logistic_gradient(w, x_i, y_i) for x_i, y_i in zip(x, y, strict=True)])
    full = G.mean(0)
    noise = float(((G - full) ** 2).sum(-1).mean())

    def squares(n: int, B: int) -> Tensor:
        """‖g_B − g‖² · B / tr Σ of n batches."""
        chosen = torch.randint(examples, (n, 1 if broken == "one example repeated" else B), generator=g)
        g_B = G[chosen].sum(1) if broken == "summed, not averaged" else G[chosen].mean(1)
        return ((g_B - full) ** 2).sum(-1) * B / noise

    unbiased, lawful, cases = _enumerated(broken)
    sizes = [2**k for k in range(9) if 2**k < examples]
    found = [float(squares(4000, B).mean()) * noise / B for B in sizes]
    one, many = (squares(4000, B).div(B).sqrt().tolist() for B in (1, batch))
    wanted = Bounds(0.9, 1.1)
    law = "independent draws: variances add, and the mean divides by B²"
    return [
        proved(
            "The mean over all batches of a size is the gradient of all examples: a batch is unbiased",
            unbiased,
            cases,
            "each example is in the same number of batches",
        ),
        proved(
            "Without replacement the variance is Σ/B · (N − B)/(N − 1), and 0 for B = N",
            lawful,
            cases,
            "variance of a sample from a finite population",
        ),
        measured(
            "The noise of a batch's gradient is that of one example divided by B: B·E‖g_B − g‖²/tr Σ is 1, within a tenth",
            lambda n: squares(n, batch),
            wanted,
            what=f"for B = {batch}",
            most=samples,
            reference=law,
        ),
        measured(
            "A batch four times as large has a quarter of the noise, within a tenth",
            lambda n: squares(n, 4 * batch),
            wanted,
            what=f"4B·E‖g_4B − g‖²/tr Σ for B = {batch}",
            most=samples,
            reference=law,
        ),
        Curves(
            "Noise of the gradient against the batch size",
            sizes,
            [
                Line("measured", found, points=True),
                Line("tr Σ / B", [noise / B for B in sizes], dashed=True),
                Line("without replacement", [noise / B * (examples - B) / (examples - 1) for B in sizes]),
            ],
            "batch size B",
            "E‖g_B − g‖²",
            xscale="log",
            yscale="log",
        ),
        Histogram(
            "How far the gradient of a batch is from that of all examples, in units of √tr Σ",
            {"B = 1": one, f"B = {batch}": many},
            "‖g_B − g‖ / √tr Σ",
        ),
        Table(
            "Gradient noise",
            ["batch B", "measured", "tr Σ / B", "ratio"],
            [[B, value, noise / B, value * B / noise] for B, value in zip(sizes, found, strict=True)],
        ),
    ]
