r"""What the recipes of pictures share: reading, standardising, moving, judging in parts.

Axes: b pictures, c channels, n m height and width.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.train.data.images import Images, images
from workings.train.data.sources import SOURCES

Pictures = Float[Tensor, "b c n m"]


def read(named: str, seed: int = 0) -> Images:
    """A data set by its name, or from a folder."""
    if named == "svhn" and not Path(named).is_dir():  # no package brings it, so the name is free
        raise WorkingsError(
            "SVHN does not come in a package: put its train_32x32.mat and test_32x32.mat into a folder and name that "
            "folder, as in --data FOLDER."
        )
    return images(named, seed)


def hashes(named: str, data: Images) -> dict[str, str]:
    """What the data was: the archive's sha256, or that of the pictures themselves with the names of their classes."""
    if named in SOURCES:
        return {named: SOURCES[named].sha256}
    found = hashlib.sha256(json.dumps([data.classes, [*data.x.shape], [*data.x_test.shape]]).encode())
    for t in (data.x, data.y, data.x_test, data.y_test):
        found.update(t.contiguous().numpy().tobytes())
    return {named: found.hexdigest()}


def description(data: Images) -> dict[str, str]:
    """What is needed beside the weights: the classes and the shape of a picture."""
    return {"pictures.json": json.dumps({"classes": data.classes, "shape": [*data.x.shape[1:]]})}


def shape_in(files: Mapping[str, str]) -> tuple[int, int, int]:
    """Channels, height and width of the pictures of a run."""
    c, n, m = json.loads(files["pictures.json"])["shape"]
    return c, n, m


def classes_in(files: Mapping[str, str]) -> list[str]:
    """The names of a run's classes."""
    names: list[str] = json.loads(files["pictures.json"])["classes"]
    return names


def side_of_square(shape: tuple[int, int, int], what: str) -> int:
    """The side of a picture, if it is square."""
    if shape[1] != shape[2]:
        raise WorkingsError(f"{what} takes square pictures; these are {shape[1]} high and {shape[2]} wide.")
    return shape[1]


class Standardised(nn.Module):
    r"""Pictures of mean 0 and deviation 1 in each channel, as the training pictures have on average.

    $$x \leftarrow \frac{x - \mu}{\sigma}$$
    """

    μ: Tensor
    σ: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("μ", torch.zeros(channels, 1, 1))
        self.register_buffer("σ", torch.ones(channels, 1, 1))

    def measure(self, x: Pictures) -> None:
        """Take μ and σ from these pictures."""
        σ, μ = torch.std_mean(x, dim=(0, 2, 3), keepdim=True)
        self.μ.copy_(μ[0])
        self.σ.copy_(σ[0].clamp(min=1e-3))

    def forward(self, x: Pictures) -> Pictures:
        x = x.to(memory_format=torch.channels_last)  # the same numbers in another order: convolutions are 1.5 times as fast
        x = (x - self.μ) / self.σ
        return x


def moved(x: Pictures, most: int, fill: str = "constant") -> Pictures:
    """Each picture moved at random by up to `most` pixels along each axis; `fill="replicate"` repeats its border.

    >>> moved(torch.ones(1, 1, 2, 2), 0).sum()
    tensor(4.)
    """
    if most == 0:
        return x
    b, _, n, m = x.shape
    windows = F.pad(x, (most,) * 4, mode=fill).unfold(2, n, 1).unfold(3, m, 1)  # b c 2·most+1 2·most+1 n m
    down, right = torch.randint(0, 2 * most + 1, (2, b))
    return windows[torch.arange(b), :, down, right]


def in_parts(model: Any, x: Tensor, size: int = 1000) -> Tensor:
    """What a model says of many pictures, a part at a time so that memory stays small."""
    return torch.cat([model(part) for part in x.split(size)])
