r"""The figures of a run on the data it was judged by, and the confusion matrix of a classifier.

    C_ij = number of test examples of class i that are taken for class j
    accuracy = Σ_i C_ii / Σ_ij C_ij
    recall_i = C_ii / Σ_j C_ij,    precision_j = C_jj / Σ_i C_ij

Axes: n examples, c classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from workings.errors import WorkingsError
from workings.train.capabilities import Predictions
from workings.train.loop.modes import apply_at_step
from workings.train.recipe import OpenRun

Matrix = Int[Tensor, "c c"]


def figures(run: OpenRun) -> dict[str, float]:
    """The figures that training recorded, computed anew with the best weights and with the random numbers of their step."""
    if run.task.evaluate is None:
        raise WorkingsError(f"The recipe {run.recipe.name} has no figures to compute.")
    with torch.random.fork_rng():
        computed = apply_at_step(run.model, run.task.evaluate, run.settings, run.step)
    return {name: float(value) for name, value in computed.items()}


def lines(computed: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """A line for each figure; where training recorded another one, that too.

    >>> lines({"loss": 0.25, "accuracy": 0.9}, {"loss": 0.25001, "accuracy": 0.8})
    ['  loss            0.25', '  accuracy        0.9  (training recorded 0.8)']
    """
    column = max(15, *map(len, computed))

    def line(name: str, value: str, before: str) -> str:
        return f"  {name:{column}} {value}" + (f"  (training recorded {before})" if before != value else "")

    return [line(name, f"{x:.4g}", f"{recorded.get(name, x):.4g}") for name, x in computed.items()]


def confusion(y: Int[Tensor, " n"], ŷ: Int[Tensor, " n"], classes: int) -> Matrix:
    """How many examples of each class (rows) are taken for each class (columns).

    >>> confusion(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), 2)
    tensor([[1, 0],
            [1, 1]])
    """
    C = torch.bincount(y * classes + ŷ, minlength=classes**2).view(classes, classes)
    return C


class Rates(NamedTuple):
    """Of each class, the share that is found, and the share of what is taken for it that is right."""

    recall: list[float]
    precision: list[float]


def rates(C: Matrix) -> Rates:
    """NaN where a class has no examples, or nothing is taken for it.

    >>> rates(torch.tensor([[1, 0], [1, 1]]))
    Rates(recall=[1.0, 0.5], precision=[0.5, 1.0])
    """
    right, rows, columns = (t.tolist() for t in (C.diagonal(), C.sum(dim=1), C.sum(dim=0)))
    recall = [a / b if b else nan for a, b in zip(right, rows, strict=True)]
    precision = [a / b if b else nan for a, b in zip(right, columns, strict=True)]
    return Rates(recall, precision)


def confusion_of(found: Predictions) -> Matrix:
    """The confusion matrix of a classifier on its test examples."""
    return confusion(found.y, found.p.argmax(dim=1), len(found.classes))


def matrix(C: Matrix, classes: list[str]) -> str:
    """The matrix as text, a row for each true class, with recall behind it and precision below.

    >>> print(matrix(torch.tensor([[1, 0], [1, 1]]), ["no", "yes"]))
                 no   yes  recall
    no            1     ·  100.0%
    yes           1     1   50.0%
    precision   50%  100%
    """
    recall, precision = rates(C)
    side = max(len("precision"), *map(len, classes))
    width = max(4, *map(len, classes), len(str(int(C.max()))))
    rows = [[name, *(str(n) if n else "·" for n in row)] for name, row in zip(classes, C.tolist(), strict=True)]
    shares = [f"{r:.1%}" if r == r else "–" for r in recall]
    below = ["precision", *(f"{p:.0%}" if p == p else "–" for p in precision)]

    def line(cells: list[str], end: str = "") -> str:
        return "  ".join([f"{cells[0]:{side}}", *(f"{cell:>{width}}" for cell in cells[1:]), f"{end:>6}"]).rstrip()

    header = line(["", *classes], "recall")
    return "\n".join([header, *(line(row, share) for row, share in zip(rows, shares, strict=True)), line(below)])
