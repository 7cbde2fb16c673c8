"""Pictures of house numbers: 32×32, grey, ten digits, and the label 10 that means 0.

SVHN's files (`train_32x32.mat`, `test_32x32.mat`) are read from a folder of yours; no package brings them. Without a folder,
handwritten digits are composed into street scenes, written in SVHN's form and read back by the same reader.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import proved
from workings.studies.decide.sequential import judged
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Images
from workings.train.data.images import digits, images
from workings.train.data.streets import SIDE, write_svhn


@study(rows=("I7",), thorough={"pictures": 20_000})
def house_numbers(
    folder: Annotated[str, "a folder with SVHN's two .mat files, or with a folder of pictures for each digit"] = "",
    pictures: Annotated[int, Range(200, 100_000, "a few of each digit"), "composed scenes, where no folder is given"] = 800,
    seed: Seed = 0,
    broken: Literal["", "label 10 kept", "labels counted from 0", "bytes not scaled"] = "",
) -> list[Part]:
    """House numbers are grey pictures of 32×32 in ten classes, where SVHN's label 10 is the digit 0."""
    x, y, written = read_pictures(folder, pictures, seed)
    if broken == "label 10 kept":
        y = torch.where(y == 0, 10, y)
    if broken == "labels counted from 0":
        y = (y - 1) % 10
    if broken == "bytes not scaled":
        x = 255 * x
    darkest, brightest = float(x.amin()), float(x.amax())
    counts = torch.bincount(y, minlength=10).tolist()
    return [
        proved(
            "Every picture is grey, 32×32, with brightness from 0 to 1",
            x.shape[1:] == (SIDE, SIDE) and darkest >= 0 and brightest <= 1,
            f"{x.shape[0]:,} pictures of {x.shape[1]}×{x.shape[2]}, brightness {darkest:.3g} to {brightest:.3g}",
            "0.299 R + 0.587 G + 0.114 B, over 255",
        ),
        proved(
            "The labels are the digits 0 to 9, and all ten occur",
            len(counts) == 10 and min(counts) > 0,
            f"labels {int(y.amin())} to {int(y.amax())}; in the files {written}",
            "SVHN's label 10 is the digit 0",
        ),
        labels_fit(x, y),
        Table("How many of each digit", ["digit", "pictures"], [[k, n] for k, n in enumerate(counts)]),
        sample_grid(x, y),
        Text(
            f"These are the pictures of {folder}."
            if folder
            else "These are no photographs: handwritten digits of 8×8 (scikit-learn) were enlarged and composed into street "
            "scenes. Give the folder of SVHN's files for the real ones."
        ),
    ]


def read_pictures(folder: str, count: int, seed: int) -> tuple[Tensor, Tensor, str]:
    """Grey pictures, their digits, and which labels the files have."""
    if folder:
        data = images(folder, seed)
        raw = "those of SVHN, 1 to 10" if list(Path(folder).glob("*_32x32.mat")) else "names of folders"
    else:
        with tempfile.TemporaryDirectory() as made:
            write_svhn(Path(made), count, 100, torch.Generator().manual_seed(seed))
            data, raw = images(made, seed), "1 to 10"
    return data.x.mean(dim=1).double(), data.y, raw


def labels_fit(x: Tensor, y: Tensor) -> Claim:
    """The label beside the digit whose mean picture is most like the middle of the picture, dark on light or the reverse."""
    known = digits()
    means = torch.stack([known.x[known.y == k].mean(dim=0) for k in range(10)]).double()
    middle = F.interpolate(x[:, 4:28, 6:26].unsqueeze(1), size=(8, 8), mode="area").flatten(1)
    likeness = _standard(middle) @ _standard(means.flatten(1)).T
    right = (likeness.abs().argmax(dim=1) == y).double()
    sentence = (
        "The label is the digit in the picture: the most similar mean digit has it, at least twice as often as by chance"
    )
    return judged(sentence, right, Bounds(low=0.2), what="share", bounds=(0, 1), reference="by chance one in ten")


def sample_grid(x: Tensor, y: Tensor, rows: int = 3) -> Images:
    """A few pictures of each digit."""
    pictures = [[_nth(x, y, k, i).tolist() for k in range(10)] for i in range(rows)]
    return Images("House numbers: a column for each digit", pictures, captions=[[str(k) for k in range(10)]] * rows)


def _standard(rows: Tensor) -> Tensor:
    """Rows with mean 0 and length 1."""
    rows = rows - rows.mean(dim=1, keepdim=True)
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-9)


def _nth(x: Tensor, y: Tensor, digit: int, i: int) -> Tensor:
    """The i-th picture of a digit; black where there is none."""
    found = x[y == digit]
    return found[i].clamp(0, 1) if i < len(found) else torch.zeros(x.shape[1:])
