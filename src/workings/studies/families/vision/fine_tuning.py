r"""Pre-training, then fine-tuning: a network learns from many pictures, gets a new head, and goes on with few.

    z = head(body(x))
    frozen      head ← head − η ∂L/∂head                  the body stays as it is
    full        head and body both move
    scratch     nothing was learned before

The large set asks which of ten digits a picture is; the target asks another question of other pictures, the digit modulo 5.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from workings.course.examples import fine_tuned
from workings.models.vit import ViT
from workings.studies.decide.proof import proved
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.families.vision.data_size import accuracy, small_vit, trained
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress
from workings.train.data.images import digits

_LARGE, _CLASSES = 1137, 5
_RATES = {"frozen": 0.03, "full": 0.005, "scratch": 0.005}


@study(rows=("D8",), trains=True, thorough={"seeds": 11, "steps": 1000})
def fine_tuning(
    labels: Annotated[int, Range(10, 60, "the claims are about few labels"), "labelled pictures of the target"] = 30,
    steps: Annotated[int, Range(200, 5_000, "fewer do not train"), "updates of pre-training"] = 300,
    seeds: Annotated[int, Range(7, 50, "fewer than seven trials decide nothing at 0.01"), "networks to pre-train"] = 7,
    seed: Seed = 0,
    broken: Literal["", "pre-training on random labels", "nothing is frozen"] = "",
) -> list[Part]:
    """A network that was pre-trained needs few labels for another task: swap the head, and keep the rest.

    A small ViT learns ten digits from 1,137 pictures of 8×8. Its head is replaced by one for five classes (the digit modulo
    5), which learns from few of the other pictures.
    """
    data = digits()
    y, y_test = data.y % _CLASSES, data.y_test % _CLASSES
    sizes = [labels] if broken else [labels, 3 * labels, len(data.y) - _LARGE]
    found: dict[str, list[list[float]]] = {way: [] for way in _RATES}
    moved = []
    for k in progress(range(seeds), "networks"):
        torch.manual_seed(1_000_003 * seed + k)
        order = torch.randperm(len(y))
        large, small = order[:_LARGE], order[_LARGE:]
        answers = torch.randint(10, (_LARGE,)) if "random" in broken else data.y[large]
        body = trained(small_vit(10), data.x[large], answers, steps, 0.01)
        assert isinstance(body, ViT)
        for way, rows in found.items():
            row = []
            for n in sizes:
                torch.manual_seed(1_000_003 * seed + k + 1)
                model = _beginning(body, way, frozen="nothing" not in broken)
                rate = _RATES["full" if way == "frozen" and "nothing" in broken else way]
                trained(model, data.x[small[:n]], y[small[:n]], 120, rate)
                row.append(accuracy(model, data.x_test, y_test))
                if way == "frozen":
                    moved.append(_moved(body, model))
            rows.append(row)
    frozen, full, scratch = ([row[0] for row in rows] for rows in found.values())
    head = _size(small_vit(_CLASSES).head)
    claims = [
        proved(
            "With the rest frozen, only the head moves: every other number is bit for bit what pre-training left",
            not any(moved),
            f"{sum(moved):,} numbers outside the head moved in {len(moved)} trainings; the head has {head}",
            "their gradient is not taken, so no step reaches them",
        ),
        most_trials(
            f"With {labels} labels a new head on a frozen body beats a network from scratch by more than 5 points in 100",
            [a - b for a, b in zip(frozen, scratch, strict=True)],
            0.05,
            what="accuracy frozen, less from scratch,",
            reference="what tells ten digits apart tells them apart modulo 5: a linear head is enough",
        ),
    ]
    if broken:
        return [*claims]
    means = {way: torch.tensor(rows).mean(dim=0).tolist() for way, rows in found.items()}
    return [
        *claims,
        Table(
            "Accuracy on the target, means over the seeds",
            ["labels", *means],
            [[n, *(row[i] for row in means.values())] for i, n in enumerate(sizes)],
            note="frozen and full begin with the pre-trained body; all take 120 steps",
        ),
        Curves(
            "Pre-training is worth most where labels are few",
            sizes,
            [
                Line(way, means[way], [min(c) for c in zip(*rows, strict=True)], [max(c) for c in zip(*rows, strict=True)])
                for way, rows in found.items()
            ],
            xlabel="labels of the target",
            ylabel="accuracy",
            xscale="log",
        ),
        Worked("One step of the head alone, and of the body too", _show_step()),
        Text(
            f"Whether to freeze is no claim here: with {labels} labels the frozen body is ahead of training all of it in "
            f"{sum(a > b for a, b in zip(frozen, full, strict=True))} of {seeds} trials, and with other seeds not in all."
        ),
    ]


def _beginning(body: ViT, way: str, frozen: bool) -> ViT:
    """The network that fine-tuning begins with: a new head on the body, or all new."""
    if way == "scratch":
        return small_vit(_CLASSES)
    return deepcopy(body).new_head(_CLASSES).freeze(way == "frozen" and frozen)


def _size(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def _moved(body: ViT, model: ViT) -> int:
    """How many numbers outside the head are not what they were."""
    before: dict[str, Tensor] = dict(body.named_parameters())
    return sum(int((p != before[name]).sum()) for name, p in model.named_parameters() if not name.startswith("head"))


def _show_step() -> Any:
    from workings import exact, show

    return show(fine_tuned, exact("1 2"), exact("[1]"), exact("1 0; 0 1"), exact("[[1, 1]]"), exact("1/10"))
