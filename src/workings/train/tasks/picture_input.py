"""A picture from the command line, as training reads it, and what a model makes of it.

Axes: b pictures, c channels, n m height and width.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.errors import WorkingsError
from workings.train.data.pixels import pixels
from workings.train.recipe import OpenRun
from workings.train.tasks.drawing import shades
from workings.train.tasks.pictures import Pictures, read, shape_in

_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"))


def is_picture(named: str) -> bool:
    """Whether an input is a picture, by its number or its file, and not words.

    >>> is_picture("12"), is_picture("heart.png"), is_picture("red heart")
    (True, True, False)
    """
    return is_number(named) or Path(named).suffix.lower() in _SUFFIXES or Path(named).is_file()


def is_number(named: str) -> bool:
    return named.lstrip("-").isdecimal()


def picture(run: OpenRun, named: str, hint: str) -> tuple[Pictures, str]:
    """A test picture by its number, or a file brought to the size and the colours of the run's pictures."""
    if is_number(named):
        data = read(run.settings.data, run.settings.seed)
        i = number_of_test(named, len(data.x_test))
        x, y = data.x_test[[i]], data.classes[int(data.y_test[i])]
        return x, f"test picture {named}, which is {y}:\n{shades(x)}"
    x = from_file(Path(named), shape_in(run.files), hint)
    return x, f"{named}:\n{shades(x)}"


def number_of_test(named: str, count: int) -> int:
    """The number of a test picture, if there is one."""
    if not 0 <= int(named) < count:
        raise WorkingsError(f"There are the test pictures 0 to {count - 1}; got {named}.")
    return int(named)


def from_file(path: Path, shape: tuple[int, int, int], hint: str) -> Pictures:
    """A picture file as training reads it, in the size and colours of the run's pictures."""
    c, n, m = shape
    if not path.exists():
        raise WorkingsError(f"{path} does not exist. {hint}")
    x = pixels(path).float()[None] / 255
    if c == 1:
        x = (torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1) * x).sum(1, keepdim=True)  # the grey of a colour
    if x.shape[2:] != (n, m):
        x = F.interpolate(x, (n, m), mode="bicubic", antialias=True).clamp(0, 1)
    return x


def reconstruction(x: Pictures, x̂: Tensor) -> str:
    """What comes back of a picture."""
    return f"What comes back:\n{shades(x̂.view_as(x))}"
