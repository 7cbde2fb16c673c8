"""Pictures for the eye: shades of characters for a terminal, a grid as PNG for a file.

Axes: b pictures, c channels, n m height and width.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.errors import ShapeError, WorkingsError

if TYPE_CHECKING:
    from PIL.Image import Image

_SHADES = " ░▒▓█"
Pictures = Float[Tensor, "b c n m"]


def shades(x: Pictures, gap: int = 2) -> str:
    """Pictures side by side, brighter where the character is fuller. A character is as high as two pixels.

    >>> print(shades(torch.tensor([[[[0.0, 1.0, 0.5], [0.0, 1.0, 0.5]]]])))
     █▒
    """
    grey = x.mean(dim=1, keepdim=True)
    grey = F.avg_pool2d(grey, (2, 1), ceil_mode=True)[:, 0].clamp(0, 1)
    levels = (grey * (len(_SHADES) - 1)).round().long()
    lines = [(" " * gap).join("".join(_SHADES[i] for i in row.tolist()) for row in rows) for rows in levels.unbind(1)]
    return "\n".join(line.rstrip() for line in lines)


def grid(x: Pictures, columns: int, gap: int = 1) -> Float[Tensor, "c n m"]:
    """Pictures in rows of `columns`, with a gap between them.

    >>> grid(torch.ones(4, 1, 2, 2), columns=2).shape
    torch.Size([1, 5, 5])
    """
    if x.dim() != 4 or not len(x) or columns < 1:
        raise ShapeError(f"A grid needs pictures [b, c, n, m] and a column; got {[*x.shape]} and {columns} columns.")
    rows = -(-len(x) // columns)
    c, n, m = x.shape[1:]
    sheet = torch.zeros(c, rows * (n + gap) - gap, columns * (m + gap) - gap)
    for i, picture in enumerate(x):
        top, left = (i // columns) * (n + gap), (i % columns) * (m + gap)
        sheet[:, top : top + n, left : left + m] = picture
    return sheet


def square_grid(x: Pictures) -> Float[Tensor, "c n m"]:
    """Pictures in as many columns as rows, or one more."""
    return grid(x, columns=ceil(len(x) ** 0.5))


def image(sheet: Float[Tensor, "c n m"], scale: int = 1) -> Image:
    """A picture for Pillow, each pixel `scale` wide."""
    from PIL import Image

    pixels = (sheet.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0)
    pixels = pixels.repeat_interleave(scale, 0).repeat_interleave(scale, 1)
    return Image.fromarray(pixels[:, :, 0].numpy() if pixels.shape[2] == 1 else pixels.numpy())


def save(sheet: Float[Tensor, "c n m"], path: Path, scale: int = 2) -> None:
    """Write a picture as a PNG file, each pixel `scale` wide; what stands in the way is named."""
    if path.suffix.lower() != ".png":
        raise WorkingsError(f"--out is a PNG file, such as samples.png; got {path}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        image(sheet, scale).save(path)
    except OSError as error:
        raise WorkingsError(f"Could not write {path}: {error.strerror or error}.") from None
