r"""Sizes and parameters of convolution and pooling (`workings.nn.vision.convolution`).

out = ⌊(N + 2P − F)/S⌋ + 1              places of a kernel of F on N entries, padding P, stride S
filters (k_h k_w channels + 1)          parameters
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import show
from workings.models.cnn import StreetDigits
from workings.nn.vision.convolution import (
    conv_parameters,
    conv_size,
    discarded,
    linear_parameters,
    parameter_count,
)
from workings.studies.decide.proof import proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Bars, Heatmap


@study(rows=("I1",), thorough={"settings": 20_000})
def conv_sizes(
    settings: Annotated[int, Range(20, 100_000, "each is a check of its own"), "random settings"] = 300,
    seed: Seed = 0,
    broken: Literal["", "no + 1", "rounded up", "padding forgotten"] = "",
) -> list[Part]:
    """A kernel of F on N entries has ⌊(N + 2P − F)/S⌋ + 1 places; what the floor cuts off is never read."""
    g = torch.Generator().manual_seed(seed)
    drawn = [_setting(g) for _ in range(settings)]
    wrong = [one for one in drawn if _by_rule(*one, broken) != _by_torch(*one)]
    example = tuple(_by_rule(128, k, s, 0, broken) for k, s in ((3, 1), (5, 3)))
    lost = [one for one in drawn if one[1] >= one[2] and _discarded(*one, broken) != _unread(*one)]
    strides = range(1, 5)
    return [
        proved(
            f"⌊(N + 2P − F)/S⌋ + 1 is the size that torch's convolution gives, in {settings:,} random settings",
            not wrong,
            _first(wrong, "N, F, S, P"),
            "places 0, S, 2S … up to N + 2P − F",
        ),
        proved(
            "128×128 with a kernel of 3×5 and strides 1 and 3 gives 126×42",
            example == (126, 42),
            f"the rule says {example[0]}×{example[1]}",
            "128 − 3 + 1 and ⌊123/3⌋ + 1",
        ),
        proved(
            "The entries at the end that no place reaches are (N + 2P − F) mod S, less the padding there",
            not lost,
            _first(lost, "N, F, S, P"),
            "counted by the gradient of the output's sum",
        ),
        Table(
            "Sizes, and what the floor discards",
            ["N", "F", "S", "P", "out", "discarded"],
            [
                [*one, conv_size(*one), discarded(*one)]
                for one in ((128, 3, 1, 0), (128, 5, 3, 0), (128, 4, 3, 0), (32, 5, 1, 0), (7, 4, 1, 1), (6, 2, 2, 0))
            ],
        ),
        Heatmap(
            "How often each of 12 entries is read by a kernel of 3",
            [_reads(12, 3, S, 0).tolist() for S in strides],
            [f"stride {S}" for S in strides],
            [str(i) for i in range(12)],
            xlabel="entry",
            digits=0,
        ),
        Worked("N = 128, F = 5, S = 3", show(conv_size, 128, 5, 3)),
    ]


def _setting(g: torch.Generator) -> tuple[int, int, int, int]:
    """N, F, S, P with a place for the kernel."""
    N, F_, S, P = (int(torch.randint(low, high, (1,), generator=g)) for low, high in ((8, 40), (1, 8), (1, 6), (0, 3)))
    return N, F_, S, P


def _by_rule(N: int, F_: int, S: int, P: int, broken: str) -> int:
    if broken == "rounded up":
        return -(-(N + 2 * P - F_) // S) + 1
    return conv_size(N, F_, S, 0 if broken == "padding forgotten" else P) - (1 if broken == "no + 1" else 0)


def _by_torch(N: int, F_: int, S: int, P: int) -> int:
    return F.conv1d(torch.zeros(1, 1, N), torch.zeros(1, 1, F_), stride=S, padding=P).shape[-1]


def _discarded(N: int, F_: int, S: int, P: int, broken: str) -> int:
    return discarded(N, F_, S, 0 if broken == "padding forgotten" else P)


def _reads(N: int, F_: int, S: int, P: int) -> Tensor:
    """How many places of the kernel read each entry."""
    x = torch.ones(1, 1, N, requires_grad=True)
    (reads,) = torch.autograd.grad(F.conv1d(x, torch.ones(1, 1, F_), stride=S, padding=P).sum(), x)
    return reads[0, 0]


def _unread(N: int, F_: int, S: int, P: int) -> int:
    """Entries at the end that no place reads."""
    return int((_reads(N, F_, S, P).flip(0).cumsum(0) == 0).sum())


def _first(wrong: list[tuple[int, int, int, int]], names: str) -> str:
    return f"{len(wrong):,} differ, the first at {names} = {wrong[0]}" if wrong else "all agree"


@study(rows=("I2",))
def conv_counts(
    settings: Annotated[int, Range(5, 2_000, "each makes a layer"), "random layers"] = 50,
    seed: Seed = 0,
    broken: Literal["", "biases forgotten", "channels forgotten"] = "",
) -> list[Part]:
    """A convolution has filters·(k_h·k_w·channels + 1) parameters; pooling has none."""
    g = torch.Generator().manual_seed(seed)

    def rule(filters: int, kernel: tuple[int, int], channels: int) -> int:
        return conv_parameters(
            filters, kernel, 1 if broken == "channels forgotten" else channels, bias=not broken.startswith("b")
        )

    drawn = [tuple(int(torch.randint(1, 9, (1,), generator=g)) for _ in range(4)) for _ in range(settings)]
    wrong = [(f, h, w, c) for f, h, w, c in drawn if rule(f, (h, w), c) != parameter_count(nn.Conv2d(c, f, (h, w)))]
    linear = linear_parameters(144, 10, bias=not broken.startswith("b"))
    rows = [("conv1", rule(8, (5, 5), 1)), ("pool1", 0), ("conv2", rule(16, (4, 4), 8)), ("pool2", 0), ("linear", linear)]
    model = StreetDigits()
    modules = [model.conv1, model.pool1, model.conv2, model.pool2, model.head]
    heads = rule(10, (3, 3), 16), rule(10, (1, 1), 16)
    return [
        proved(
            f"filters·(k_h·k_w·channels + 1) is the count of {settings:,} random layers",
            not wrong,
            _first(wrong, "filters, k_h, k_w, channels"),
            "one number for each place and channel, and a bias",
        ),
        proved(
            "The network for house numbers has 208 + 0 + 2064 + 0 + 1450 = 3722 parameters, layer by layer",
            [count for _, count in rows] == [parameter_count(module) for module in modules]
            and sum(dict(rows).values()) == 3722,
            " + ".join(str(count) for _, count in rows) + f" = {sum(count for _, count in rows)}",
            "8·(25 + 1), 16·(16·8 + 1), 10·(144 + 1)",
        ),
        proved(
            "As a head, Conv2d(16, 10, 3) has 1450 parameters and Conv2d(16, 10, 1) has 170",
            heads == (1450, 170),
            f"{heads[0]} and {heads[1]}",
            "10·(9·16 + 1), 10·(16 + 1)",
        ),
        Bars(
            "Parameters and multiplications of each layer",
            [name for name, _ in rows],
            {"parameters": [count for _, count in rows], "multiplications": [8 * 25 * 28**2, 0, 16 * 128 * 36, 0, 1440]},
            yscale="log",
            note="the first layer has the fewest parameters and the most work",
        ),
        Worked("conv1", show(conv_parameters, 8, 5, 1)),
    ]
