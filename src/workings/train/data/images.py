"""Pictures with labels: handwritten digits, clothes, house numbers, a folder of one's own.

Axes: n pictures, c channels, h height, w width. Brightness is 0 … 1.
"""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import WorkingsError
from workings.train.data.fetch import archive
from workings.train.data.members import members
from workings.train.data.pixels import pixels
from workings.train.data.split import check_two_each, split

_CLOTHES = "T-shirt trousers pullover dress coat sandal shirt sneaker bag boot".split()
_THINGS = "airplane automobile bird cat deer dog frog horse ship truck".split()
_DIGITS = list("0123456789")


@dataclass
class Images:
    """Pictures to learn from and pictures to be judged by."""

    x: Float[Tensor, "n c h w"]
    y: Int[Tensor, " n"]
    x_test: Float[Tensor, "m c h w"]
    y_test: Int[Tensor, " m"]
    classes: list[str]


def images(named: str, seed: int = 0) -> Images:
    """A data set by name (`digits`, `mnist`, `fashion`, `cifar`), SVHN's `.mat` files, or a folder for each class.

    The name goes before a folder that is called so: `./digits` is the folder.
    """
    known = {"digits": digits, "mnist": _mnist, "fashion": _fashion, "cifar": _cifar}
    if named in known:
        return known[named]()
    path = Path(named)
    if not path.is_dir():
        raise WorkingsError(f"{named} is neither a data set ({', '.join(known)}, svhn) nor a folder of pictures.")
    return _svhn(path) if list(path.glob("*_32x32.mat")) else folder(path, seed)


def digits() -> Images:
    """1,797 digits of 8×8 from scikit-learn: nothing to download. Every fifth is kept for the test."""
    from sklearn.datasets import load_digits

    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor(data.target, dtype=torch.int64)
    test = torch.arange(len(y)) % 5 == 4
    return Images(x[~test], y[~test], x[test], y[test], _DIGITS)


def _mnist() -> Images:
    return _from_idx({Path(n).name: c for n, c in members(archive("mnist")) if "ubyte" in n}, _DIGITS)


def _fashion() -> Images:
    """From the installed Debian package, or from the archive that `apt-get` brings."""
    installed = Path("/usr/share/datasets/fashion-mnist")
    if installed.is_dir():
        found = {path.name: path.read_bytes() for path in installed.glob("*ubyte.gz")}
    else:
        found = {Path(n).name: c for n, c in members(archive("fashion")) if n.endswith("ubyte.gz")}
    return _from_idx({name.removesuffix(".gz"): gzip.decompress(content) for name, content in found.items()}, _CLOTHES)


def _from_idx(files: dict[str, bytes], classes: list[str]) -> Images:
    """The four files of MNIST's format."""
    parts = [
        _idx(files[f"{part}-{kind}"], part)
        for part in ("train", "t10k")
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
    ]
    x, y, x_test, y_test = (torch.from_numpy(part.copy()) for part in parts)
    return Images(_scaled(x.unsqueeze(1)), y.long(), _scaled(x_test.unsqueeze(1)), y_test.long(), classes)


def _idx(content: bytes, name: str) -> Any:
    """An array in IDX form: two zero bytes, a type, the number of axes, their sizes, the entries."""
    axes = content[3]
    sizes = np.frombuffer(content, ">u4", axes, 4)
    entries = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if content[:3] != b"\0\0\x08" or entries.size != sizes.prod():
        raise WorkingsError(f"{name} is not a whole IDX file of bytes.")
    return entries.reshape(sizes)


def _scaled(x: Tensor) -> Float[Tensor, "n c h w"]:
    return x.to(torch.float32) / 255


def _cifar() -> Images:
    """60,000 colour pictures; in the archive each is one row of a PNG."""
    files = {Path(name).name: content for name, content in members(archive("cifar"))}
    rows = [_png(files[f"data_batch_{i}.png"]) for i in range(1, 6)]
    x, x_test = (t.view(-1, 32, 32, 3).permute(0, 3, 1, 2) for t in (torch.cat(rows), _png(files["test_batch.png"])))
    y, y_test = (torch.tensor(json.loads(files[f"{part}_lables.json"])) for part in ("train", "test"))
    return Images(_scaled(x), y, _scaled(x_test), y_test, _THINGS)


def _png(content: bytes) -> Tensor:
    """The pixels of a PNG, a row of the picture as a row."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    return torch.from_numpy(pixels.copy()).flatten(1)


def _svhn(path: Path) -> Images:
    """SVHN's cropped digits in grey; its label 10 is the digit 0."""
    from scipy.io import loadmat

    parts: list[Tensor] = []
    for part in ("train", "test"):
        file = path / f"{part}_32x32.mat"
        if not file.is_file():
            raise WorkingsError(f"{path} has no {file.name}; SVHN needs train_32x32.mat and test_32x32.mat.")
        data = loadmat(file)
        colours = torch.from_numpy(data["X"]).permute(3, 2, 0, 1).to(torch.float32) / 255
        grey = (colours * torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(1, keepdim=True)
        parts += [grey, torch.from_numpy(data["y"].astype(np.int64)).flatten() % 10]
    x, y, x_test, y_test = parts
    return Images(x, y, x_test, y_test, _DIGITS)


def folder(path: Path, seed: int = 0) -> Images:
    """A folder with a folder of pictures for each class; a tenth of each class, at least one, is kept for the test."""
    classes = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    if len(classes) < 2:
        raise WorkingsError(f"{path} needs a folder for each of at least two classes; it has {len(classes)}.")
    files = [
        (file, label)
        for label, name in enumerate(classes)
        for file in sorted(p for p in (path / name).iterdir() if p.is_file() and not p.name.startswith("."))
    ]
    labels = [label for _, label in files]
    if empty := [name for label, name in enumerate(classes) if label not in labels]:
        raise WorkingsError(f"{path / empty[0]} has no pictures.")
    x, y = _of_one_size([file for file, _ in files]), torch.tensor(labels)
    check_two_each(labels, classes, str(path), "picture")
    if bool((x == x[0]).all()):
        raise WorkingsError(
            f"All {len(x)} pictures of {path} are alike: there is nothing to tell the classes by. What is transparent is "
            "read as white, so white on transparent needs a ground of another colour."
        )
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    train, test = split(order.tolist(), labels, Fraction(1, 10))
    return Images(x[train], y[train], x[test], y[test], classes)


def _of_one_size(files: list[Path]) -> Float[Tensor, "n 3 h w"]:
    """The pictures of these files, which must have one size."""
    rows = [pixels(file) for file in files]
    for file, row in zip(files, rows, strict=True):
        if row.shape != rows[0].shape:
            a, b = (f"{t.shape[2]}×{t.shape[1]}" for t in (rows[0], row))
            raise WorkingsError(f"Pictures must have one size: {files[0]} is {a}, but {file} is {b}.")
    x = torch.empty(len(rows), *rows[0].shape)
    for i, row in enumerate(rows):
        x[i] = row
    return x.div_(255)
