r"""What pooling forgives, keeps and smooths, and how far a unit sees (`workings.nn.vision`).

largest of a window       keeps the strongest response, wherever in the window it is
mean of a window          smooths: noise of variance σ² comes out with σ²/F²
r ← r + (F − 1) j,  j ← j S      receptive field r and jump j, layer by layer
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings import exact, show
from workings.nn.vision.conv_layers import average_pool, max_pool
from workings.nn.vision.convolution import receptive_field
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import equal, proved
from workings.studies.decide.sequential import judged, measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Images, Line
from workings.train.data.images import digits

_Pool = Callable[[Tensor], Tensor]


@study(rows=("I6",), thorough={"samples": 2_000_000})
def pooling(
    window: Annotated[int, Range(2, 4, "of pictures of 8×8"), "F of a window of F×F, and its stride"] = 2,
    shift: Annotated[int, Range(1, 3, "pixels to the right"), "how far the pictures move"] = 1,
    samples: Annotated[int, Range(1_000, 10_000_000, "fewer decide nothing"), "most windows of noise"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "windows overlap", "poolings exchanged", "pixels dropped, not pooled", "strides left out"] = "",
) -> list[Part]:
    """Pooling forgives small shifts; the largest keeps the strongest response, the mean smooths."""
    g = torch.Generator().manual_seed(seed)
    stride = 1 if broken == "windows overlap" else None
    spike, moved = (_spike(at) for at in (0, 1))
    largest, mean = (average_pool, max_pool) if broken == "poolings exchanged" else (max_pool, average_pool)
    x = digits().x.double()
    pools = _pools(window, broken == "pixels dropped, not pooled")
    change = {name: _change(pool, x, shift) for name, pool in pools.items()}
    layers = [(5, 1), (4, 4), (4, 1), (2, 2)]
    return [
        equal(
            "A bright point that moves inside its window changes neither pooling",
            torch.stack([largest(spike, 2, stride), mean(spike, 2, stride)]),
            torch.stack([largest(moved, 2, stride), mean(moved, 2, stride)]),
            "both are functions of the set of a window's entries",
        ),
        equal("The largest of a window keeps a lone 1 as 1", largest(spike, 2, None).amax(), exact(1), "max(1, 0, 0, 0)"),
        equal("The mean of a window of 2×2 makes it ¼", mean(spike, 2, None).amax(), exact("1/4"), "(1 + 0 + 0 + 0)/4"),
        _noise(mean, window, samples, g),
        *(
            judged(
                f"Pictures of digits moved by {shift} change less after {name} pooling than their pixels do, by 0.1 or more",
                change["pixels"] - change[name],
                Bounds(low=0.1),
                what="mean of the relative changes' difference",
                bounds=(-3, 3),
                reference="a window's value changes only by what enters and leaves it",
            )
            for name in ("largest", "mean")
        ),
        _field(layers, broken == "strides left out"),
        Table(
            "Relative change of pictures of digits that move",
            ["pixels moved", *pools],
            [[s, *(float(_change(pool, x, s).mean()) for pool in pools.values())] for s in range(4)],
        ),
        Curves(
            "Pooled pictures change less as they move",
            [*range(5)],
            [
                Line(name, [float(_change(pool, x, s).mean()) for s in range(5)], dashed=name == "pixels")
                for name, pool in pools.items()
            ],
            xlabel="pixels moved",
            ylabel="‖change‖ / ‖picture‖",
        ),
        Images(
            "A digit, and the same moved by one pixel",
            [[pool(picture)[0].tolist() for pool in pools.values()] for picture in (x[0], _moved(x[0], 1))],
            captions=[[*pools], [*pools]],
            labels=["as it is", "moved"],
        ),
        Worked("The largest and where it stood", show(max_pool, exact([[[1, 2], [3, 4]]]), 2)),
    ]


def _spike(at: int) -> Tensor:
    """A map of 4×4 with a lone 1 in the first window of 2×2, at its left or right."""
    X = exact("0 0 0 0; 0 0 0 0; 0 0 0 0; 0 0 0 0").clone()
    X[0, at] = 1
    return X.unsqueeze(0)


def _pools(window: int, dropped: bool) -> dict[str, _Pool]:
    """Pictures as they are, and after either pooling; or one pixel of each window kept."""

    def kept(x: Tensor) -> Tensor:
        return x[..., ::window, ::window]

    return {
        "pixels": lambda x: x,
        "largest": kept if dropped else lambda x: F.max_pool2d(x, window),
        "mean": kept if dropped else lambda x: F.avg_pool2d(x, window),
    }


def _moved(x: Tensor, shift: int) -> Tensor:
    """Pictures moved to the right, zeros coming in."""
    return F.pad(x, (shift, 0))[..., : x.shape[-1]]


def _change(pool: _Pool, x: Tensor, shift: int) -> Tensor:
    """‖pool(moved) − pool(x)‖ / ‖pool(x)‖ of each picture."""
    before, after = pool(x).flatten(1), pool(_moved(x, shift)).flatten(1)
    return (after - before).norm(dim=1) / before.norm(dim=1).clamp(min=1e-9)


def _noise(mean: Callable[[Tensor, int], Tensor], window: int, samples: int, g: torch.Generator) -> Claim:
    def squares(n: int) -> Tensor:
        noise = torch.randn(1, window, window * n, generator=g, dtype=torch.float64)
        return mean(noise, window).square()

    law = 1 / window**2
    sentence = "Noise of variance 1 has variance 1/F² after the mean of F×F, within 10 %"
    wanted = Bounds(0.9 * law, 1.1 * law)
    return measured(
        sentence, squares, wanted, what="mean square", most=samples, reference="variance of a mean of F² entries"
    )


def _field(layers: list[tuple[int, int]], no_strides: bool) -> Claim:
    """The rule beside the entries that reach one unit, found by a gradient."""
    rule = receptive_field([(F_, 1) for F_, _ in layers] if no_strides else layers)
    x = torch.ones(1, 1, 64, dtype=torch.float64, requires_grad=True)
    y: Tensor = x
    for F_, S in layers:
        y = F.conv1d(y, torch.ones(1, 1, F_, dtype=torch.float64), stride=S)
    (reached,) = torch.autograd.grad(y[0, 0, 1], x)
    count = int((reached != 0).sum())
    sentence = "A unit of the street network's last map sees 24 entries along each axis, by the rule and by its gradient"
    return proved(sentence, rule == count == 24, f"{rule} by the rule, {count} by the gradient", "5, 8, 20, 24")
