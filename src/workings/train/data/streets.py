"""House numbers without a download: handwritten digits composed into street scenes, in the form of SVHN's cropped digits.

A picture has its digit in the middle, cut-off neighbours at its sides, a wall that is lighter at one end, paint brighter or
darker than the wall, and noise. SVHN numbers its classes from 1 to 10, and 10 is the digit 0; so do the labels here.

Axes: n pictures, h height, w width. Brightness is 0 … 1.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from workings.train.data.images import digits

SIDE = 32
_HEIGHT, _WIDTH = 24, 20
"""Of a digit in the picture."""


def street_scenes(count: int, generator: torch.Generator) -> tuple[Float[Tensor, "n 32 32"], Int[Tensor, " n"]]:
    """Grey pictures and SVHN's labels: 1 … 9 for these digits, 10 for 0.

    >>> pictures, labels = street_scenes(4, torch.Generator().manual_seed(0))
    >>> pictures.shape, bool(((labels >= 1) & (labels <= 10)).all())
    (torch.Size([4, 32, 32]), True)
    """
    data = digits()
    i = torch.randint(len(data.x), (count, 3), generator=generator)
    large = F.interpolate(data.x, size=(_HEIGHT, _WIDTH), mode="bilinear", align_corners=False)[:, 0]
    ink = _row(large[i], generator)
    y = data.y[i[:, 1]]
    return _painted(ink, generator), torch.where(y == 0, 10, y)


def _row(numbers: Float[Tensor, "n 3 a b"], g: torch.Generator) -> Float[Tensor, "n h w"]:
    """Three digits beside each other, seen through a window on the middle one that is off by a pixel or two."""
    row = torch.cat([*numbers.unbind(1)], dim=-1)  # n 24 60
    row = F.pad(row, (0, 0, SIDE, SIDE))
    top, left = (torch.randint(-2, 3, (len(row),), generator=g) for _ in range(2))
    middle = (row.shape[1] - SIDE) // 2, (row.shape[2] - SIDE) // 2
    starts = zip((middle[0] + top).tolist(), (middle[1] + left).tolist(), strict=True)
    return torch.stack([one[a : a + SIDE, b : b + SIDE] for one, (a, b) in zip(row, starts, strict=True)])


def _painted(ink: Float[Tensor, "n h w"], g: torch.Generator) -> Float[Tensor, "n h w"]:
    """The digits as paint on a wall, darker or brighter than it, with noise."""
    n = len(ink)
    wall, contrast, slope = (torch.rand(n, 1, 1, generator=g) for _ in range(3))
    sign = torch.where(torch.rand(n, 1, 1, generator=g) < 0.5, -1.0, 1.0)
    light = (slope - 0.5) * torch.linspace(-0.3, 0.3, SIDE)
    level = 0.5 - sign * (0.15 + 0.1 * wall) + light
    picture = level + sign * (0.3 + 0.3 * contrast) * ink + 0.03 * torch.randn(ink.shape, generator=g)
    return picture.clamp(0, 1)


def write_svhn(folder: Path, train: int, test: int, generator: torch.Generator) -> None:
    """Street scenes as SVHN's two files, `train_32x32.mat` and `test_32x32.mat`: colours, and labels from 1 to 10."""
    from scipy.io import savemat

    for name, count in {"train": train, "test": test}.items():
        pictures, labels = street_scenes(count, generator)
        colours = (255 * pictures).round().to(torch.uint8).permute(1, 2, 0).unsqueeze(2).expand(-1, -1, 3, -1)
        savemat(folder / f"{name}_32x32.mat", {"X": colours.numpy(), "y": labels.to(torch.uint8).unsqueeze(1).numpy()})
