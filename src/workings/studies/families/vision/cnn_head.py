r"""The head of the network for house numbers: a linear layer of the wrong size, and heads that are convolutions.

Flatten, Linear(16·3·3, 10)             is Conv2d(16, 10, 3) with its weights reshaped
Conv2d(16, 10, 1), mean of 3×3          is Conv2d(16, 10, 3) with a kernel constant in space, over 9
"""

from __future__ import annotations

import ast
from itertools import combinations
from typing import Annotated, Literal

import torch
from torch import nn

from workings.models.cnn import StreetDigits
from workings.nn.vision.convolution import (
    conv_size,
)
from workings.nn.vision.linear_conv import linear_to_conv, spread
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Boxes, Heatmap
from workings.trace.shapes.report import shapes

LISTING = """\
model = nn.Sequential(
    nn.Conv2d(1, 8, 5),
    nn.AvgPool2d(4)
    nn.ReLU(),
    nn.Conv2d(8, 16, 4, padding=1),
    nn.AvgPool2d(2)
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(120, 10),
)
"""
"""A listing with two faults: commas are missing, and the linear layer is made for 120 features."""


@study(rows=("I4",))
def wrong_linear(
    features: Annotated[int, Range(1, 1_000, "of a linear layer"), "features that the linear layer is made for"] = 120,
    seed: Seed = 0,
    broken: Literal["", "commas in their places", "a linear layer that fits", "no padding in conv2"] = "",
) -> list[Part]:
    """A printed listing with two faults: commas are missing, and 144 features arrive at a Linear for 120."""
    listing = LISTING.replace(")\n    nn.ReLU", "),\n    nn.ReLU") if broken == "commas in their places" else LISTING
    padding = 0 if broken == "no padding in conv2" else 1
    side = conv_size(conv_size(conv_size(32, 5) // 4, 4, P=padding), 2, S=2)
    expected = 144 if broken == "a linear layer that fits" else features
    mends = _mends(listing)
    says, mended, explained = _run(expected, padding), _run(144, padding), _explained(expected, padding)
    return [
        proved(
            "As printed the listing does not parse; commas after exactly two lines mend it, in one way only",
            not _parses(listing) and mends == [(3, 6)],
            f"it parses: {_parses(listing)}; commas that mend it are after lines {mends}",
            "every set of at most two line ends was tried",
        ),
        proved(
            "The layers before the linear one give 16·3·3 = 144 features for an image of 32×32",
            16 * side * side == 144 == _features(padding),
            f"16·{side}·{side} = {16 * side * side} by the rule, {_features(padding)} in torch",
            "28, 7, 6, 3",
        ),
        proved(
            "With the commas, running it fails: the linear layer gets features it was not made for",
            says != "runs",
            says,
            "144 ≠ 120",
        ),
        proved(
            "The shape report names the layer, the 144 features that arrive, and the layer to use: nn.Linear(144, 10)",
            "received 144 features" in explained and "use nn.Linear(144, 10)" in explained,
            explained,
            "worked out from the operands, not from torch's message",
        ),
        proved("With Linear(144, 10) it runs and gives ten logits", mended == "runs", mended, "16·3·3 = 144"),
        Boxes(
            "Where the sizes part",
            [
                ("image", "1×32×32"),
                ("conv 5×5", "8×28×28"),
                ("mean 4×4", "8×7×7"),
                ("conv 4×4, P 1", "16×6×6"),
                ("mean 2×2", "16×3×3"),
                ("flatten", "144"),
                (f"linear({features}, 10)", "144 arrive"),
            ],
        ),
        Text(f"The listing, as printed:\n\n{LISTING}\nIt is parsed, never run; the model is built from the same layers."),
    ]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _mends(listing: str) -> list[tuple[int, ...]]:
    """The smallest sets of lines (from 1) after which commas make the listing parse ."""
    lines = listing.splitlines()
    for count in (1, 2):
        found = [
            tuple(i + 1 for i in chosen)
            for chosen in combinations([i for i, line in enumerate(lines) if line.endswith(")") and line != ")"], count)
            if _parses("\n".join(line + "," * (i in chosen) for i, line in enumerate(lines)))
        ]
        if found:
            return found
    return []


def _layers(padding: int) -> list[nn.Module]:
    pools = nn.AvgPool2d(4), nn.ReLU(), nn.Conv2d(8, 16, 4, padding=padding), nn.AvgPool2d(2), nn.ReLU(), nn.Flatten()
    return [nn.Conv2d(1, 8, 5), *pools]


def _features(padding: int) -> int:
    return nn.Sequential(*_layers(padding))(torch.zeros(1, 1, 32, 32)).shape[-1]


def _explained(features: int, padding: int) -> str:
    """What the shape report says of the model."""
    failure = shapes(nn.Sequential(*_layers(padding), nn.Linear(features, 10)), torch.zeros(1, 1, 32, 32)).failure
    return str(failure.explanation) if failure else "nothing fails"


def _run(features: int, padding: int) -> str:
    """What happens when the model with this linear layer runs: "runs", or PyTorch's complaint."""
    model = nn.Sequential(*_layers(padding), nn.Linear(features, 10))
    try:
        Y = model(torch.zeros(2, 1, 32, 32))
    except RuntimeError as error:
        return f"torch says: {error}"
    return "runs" if Y.shape == (2, 10) else f"gives {[*Y.shape]}"


@study(rows=("I5",))
def head_as_convolution(
    images: Annotated[int, Range(1, 100, "a few show it"), "random images"] = 8,
    seed: Seed = 0,
    broken: Literal["", "weights in another order", "no division by 9", "padding inside"] = "",
) -> list[Part]:
    """Flatten and Linear are a convolution as large as the map; on larger images it gives a map of answers."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(images, 1, 32, 32, generator=g, dtype=torch.float64)
    model = StreetDigits().double()
    v1 = model.convolutional()
    if broken == "weights in another order":
        W = dict(v1.named_parameters())["head.weight"]
        W.data = W.data.flatten(1).view(10, 3, 3, 16).permute(0, 3, 1, 2).contiguous()
    v2 = StreetDigits("pooled").double()
    maps = torch.randn(images, 16, 3, 3, generator=g, dtype=torch.float64)
    wide = spread(v2.head[0], 3, 3)  # type: ignore[index]
    if broken == "no division by 9":
        wide.weight = nn.Parameter(9 * wide.weight.detach())
    with torch.no_grad():
        off = float((v1(X).flatten(1) - model(X)).abs().amax())
        apart = float((wide(maps) - v2.head(maps)).abs().amax())
        larger = [*StreetDigits("conv")(torch.zeros(1, 1, 64, 48)).shape[1:]]
        sliding = _sliding(1 if broken == "padding inside" else 0, g)
    return [
        compared(
            "v1, Conv2d(16, 10, 3) with the linear weights, gives the same logits, to rounding",
            off,
            Bounds(high=1e-10),
            "largest difference",
            "a kernel that covers the map has one place",
        ),
        compared(
            "v2, a 1×1 convolution and a mean, is v1 with a kernel constant in space over 9, to rounding",
            apart,
            Bounds(high=1e-10),
            "largest difference",
            "the mean of a linear map is the map of the mean",
        ),
        compared(
            "Without padding a larger image gives, at each place, the logits of its own window, to rounding",
            sliding,
            Bounds(high=1e-10),
            "largest difference from the windows one by one",
            "convolution and pooling shift with the image",
        ),
        Table(
            "Heads on maps of 16×3×3",
            ["head", "layers", "parameters", "the same function as the linear head"],
            [
                ["linear", "Flatten, Linear(144, 10)", 1450, True],
                ["v1", "Conv2d(16, 10, 3)", 1450, True],
                ["v2", "Conv2d(16, 10, 1), mean of 3×3", 170, False],
            ],
            note=f"an image of 64×48 gives v1's logits as a map of {larger[1]}×{larger[2]}",
        ),
        *([] if broken else [_answer_map(g)]),
        Text(
            "The network for house numbers pads its second convolution, so inside a larger image a window sees its "
            "neighbours where alone it sees zeros: its logits are near those of the window, not equal (the last control)."
        ),
    ]


def _sliding(padding: int, g: torch.Generator) -> float:
    """The map of a larger image beside the windows one by one."""
    net = nn.Sequential(*_layers(padding)[:-1]).double()
    side = net(torch.zeros(1, 1, 32, 32, dtype=torch.float64)).shape[-1]
    net.append(linear_to_conv(nn.Linear(16 * side * side, 10).double(), 16, side, side))
    X = torch.randn(1, 1, 48, 56, generator=g, dtype=torch.float64)
    Y = net(X)[0]
    windows = [[net(X[..., 8 * i : 8 * i + 32, 8 * j : 8 * j + 32])[0, :, 0, 0] for j in range(4)] for i in range(3)]
    return float((Y - torch.stack([torch.stack(row, dim=-1) for row in windows], dim=1)).abs().amax())


def _answer_map(g: torch.Generator) -> Heatmap:
    """The logit of one class over the places of a larger image, for a network that is not trained."""
    with torch.no_grad():
        Y = StreetDigits("conv")(torch.randn(1, 1, 72, 96, generator=g))[0, 0]
    rows, columns = ([str(8 * i) for i in range(n)] for n in Y.shape)
    title = "One class's logit at each window of a 72×96 image (random weights)"
    return Heatmap(title, Y.tolist(), rows, columns, xlabel="left edge", ylabel="top edge", diverging=True)
