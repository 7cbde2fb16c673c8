r"""Digits (or clothes, things, pictures of your own): a class for each picture.

    θ = model(x)                      logits: a CNN, a ViT, a network with one hidden layer, or a linear map
    L = −1/N Σ log softmax(θ)_y

Pictures are moved by a few pixels at random each time they are seen, so that the network cannot learn them by heart; a
linear map, which weighs each pixel by its place, sees them as they are.

Axes: b pictures, c channels, n m height and width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.cnn import StreetDigits, digits_cnn
from workings.models.mlp import MLP
from workings.models.vit import ViT
from workings.nn.objectives.losses import cross_entropy
from workings.train.data.images import Images
from workings.train.recipe import Recipe, Task
from workings.train.recipes.drawing import shades
from workings.train.recipes.pictures import (
    DATA,
    Standardised,
    classes_in,
    described,
    hashes,
    in_parts,
    moved,
    read,
    shape_in,
    square,
)
from workings.train.recipes.shuffled import Shuffled
from workings.train.settings import Training, setting

MODELS = ("cnn", "vit", "mlp", "logistic", "street")


@dataclass(frozen=True)
class DigitsSettings(Training):
    model: str = setting("cnn", "what reads the pictures; street is the small network for house numbers", among=MODELS)
    data: str = setting("digits", DATA)
    shift: int = setting(
        -1, "pixels by which pictures are moved at random; -1 is a fourteenth of their side, 0 for logistic", least=-1
    )
    channels: int = setting(16, "cnn: channels of the first stage; each next stage has twice as many", least=1)
    stages: int = setting(2, "cnn: stages of convolution, ReLU and pooling", least=1)
    width: int = setting(64, "vit: width of a token", least=1)
    depth: int = setting(4, "vit: blocks", least=1)
    heads: int = setting(4, "vit: heads of the attention", least=1)
    patch: int = setting(0, "vit: side of a patch; 0 is a quarter of the picture's", least=0)
    hidden: int = setting(128, "mlp: hidden units", least=1)
    steps: int = setting(2000, "updates of the parameters", least=1)
    batch: int = setting(128, "pictures of one update, over all processes", least=1)
    rate: float = setting(3e-3, "learning rate at its highest", least=0)
    warmup: int = setting(200, "updates until the learning rate is at its highest", least=0)
    decay: float = setting(0.01, "weight decay", least=0)


class Digits(Recipe):
    name = "digits"
    summary = "Pictures to classes: a CNN, a ViT, a hidden layer or a linear map on digits, or on pictures of your own."
    example = "workings train digits --steps 500"
    Settings = DigitsSettings

    def task(self, settings: Any) -> Task:
        data = read(settings.data, settings.seed)
        files = described(data)
        model = self.model(settings, files)
        model[0].measure(data.x)  # type: ignore[operator]
        usual = 0 if settings.model == "logistic" else min(data.x.shape[2:]) // 14
        most = settings.shift if settings.shift >= 0 else usual
        seen = Shuffled(len(data.y), settings.batch, settings.seed)

        def batches(step: int) -> tuple[Tensor, Tensor]:
            i = seen(step)
            return moved(data.x[i], most), data.y[i]

        return Task(
            model,
            batches,
            loss,
            evaluate=lambda model: judged(model, data.x_test, data.y_test),
            best="accuracy",
            highest=True,
            sample=lambda model: shown(model, data),
            files=files,
            hashes=hashes(settings.data, data),
            unit="pictures",
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Sequential:
        shape = shape_in(files)
        body = BODIES[settings.model](settings, shape, len(classes_in(files)))
        return nn.Sequential(Standardised(shape[0]), *body)


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, y = batch
    θ = model(x)
    L = cross_entropy(θ, y)
    return L


def judged(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, float]:
    """The loss and the share of pictures whose class has the highest logit."""
    θ = in_parts(model, x)
    return {"loss": cross_entropy(θ, y).item(), "accuracy": (θ.argmax(dim=1) == y).double().mean().item()}


def shown(model: nn.Module, data: Images, count: int = 3) -> str:
    """The first test pictures with what the model takes them for; mistaken ones go first."""
    x, y = data.x_test[:500], data.y_test[:500]
    p = in_parts(model, x).softmax(dim=1)
    found = p.argmax(dim=1)
    first = torch.argsort((found == y).long(), stable=True)[:count]
    names = [f"{data.classes[found[i]]} ({p[i, found[i]]:.0%}; it is {data.classes[y[i]]})" for i in first.tolist()]
    return f"{shades(x[first])}\ntaken for {', '.join(names)}"


def cnn(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    side = square(shape, "The cnn")
    if side < 2**settings.stages:
        raise WorkingsError(f"{settings.stages} stages halve a picture to nothing: it is {side} wide. Use fewer --stages.")
    channels = [settings.channels * 2**i for i in range(settings.stages)]
    return [digits_cnn(side, channels, classes=classes, inputs=shape[0])]


def street(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    """The network for house numbers: grey pictures of 28×28 as they are, others brought to 32×32."""
    side = square(shape, "The street network")
    if shape[0] != 1 or classes != 10:
        raise WorkingsError(
            f"The street network reads one channel and has ten classes; these pictures have {shape[0]} and {classes}."
        )
    fitting: list[nn.Module] = [] if side in (28, 32) else [nn.Upsample(size=(32, 32), mode="bilinear")]
    return [*fitting, StreetDigits(image=28 if side == 28 else 32)]


def vit(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    patch = settings.patch or max(1, square(shape, "Without --patch the vit") // 4)
    return [ViT(shape[1:], patch, settings.width, settings.depth, settings.heads, classes, channels=shape[0])]


def mlp(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    c, n, m = shape
    return [nn.Flatten(), MLP(c * n * m, settings.hidden, classes)]


def logistic(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    c, n, m = shape
    return [nn.Flatten(), nn.Linear(c * n * m, classes)]


BODIES = {"cnn": cnn, "vit": vit, "mlp": mlp, "logistic": logistic, "street": street}
