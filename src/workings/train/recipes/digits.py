"""The recipe of a classifier of pictures; its equations stand in `workings.train.tasks.digits`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workings.train.capabilities import Classifies, Predictions
from workings.train.forward_pass import ForwardPass, likeliest
from workings.train.recipe import OpenRun
from workings.train.recipes.pictures import DATA, PictureRecipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

MODELS = ("cnn", "vit", "mlp", "logistic", "street")


@dataclass(frozen=True)
class DigitsSettings(Training, steps=2000, rate=3e-3, warmup=200, decay=0.01):
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
    batch: int = setting(128, "pictures per update, over all processes", least=1)


class Digits(PictureRecipe, Classifies):
    name = "digits"
    summary = "Pictures to classes: a CNN, a ViT, a hidden layer or a linear map on digits, or on pictures of your own."
    example = "workings train digits --steps 500"
    Settings = DigitsSettings

    def task(self, settings: Any) -> Task:
        from workings.train.tasks.digits import figures, loss, sample_text
        from workings.train.tasks.pictures import moved, read

        data = read(settings.data, settings.seed)
        usual = 0 if settings.model == "logistic" else min(data.x.shape[2:]) // 14
        most = settings.shift if settings.shift >= 0 else usual
        task = self.picture_task(
            settings,
            data,
            loss,
            batch=lambda i: (moved(data.x[i], most), data.y[i]),
            evaluate=lambda model: figures(model, data.x_test, data.y_test),
            best="accuracy",
            highest=True,
            sample=lambda model: sample_text(model, data),
        )
        task.model[0].measure(data.x)  # type: ignore[index]
        return task

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Sequential:
        from torch.nn import Sequential

        from workings.train.tasks.digits import BODIES
        from workings.train.tasks.pictures import Standardised, classes_in, shape_in

        shape = shape_in(files)
        body = BODIES[settings.model](settings, shape, len(classes_in(files)))
        return Sequential(Standardised(shape[0]), *body)

    def predictions(self, run: OpenRun) -> Predictions:
        from workings.train.tasks.pictures import classes_in, in_parts, read

        data = read(run.settings.data, run.settings.seed)
        p = in_parts(run.model, data.x_test).softmax(dim=1)
        return Predictions(classes_in(run.files), data.y_test, p, pictures=data.x_test)

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        from workings.train.tasks.digits import layers_of
        from workings.train.tasks.picture_input import picture
        from workings.train.tasks.pictures import classes_in

        x, read = picture(run, given, self.input_hint)
        classes = tuple(classes_in(run.files))
        layers = [*layers_of(run.model)]
        read += "\nthrough " + ", ".join(f"{i} {type(layer).__name__}" for i, layer in enumerate(layers, 1))
        call = partial(_class_by_layers, layers, x)
        return ForwardPass(call, (classes,), partial(likeliest, names=classes, before="Taken for: "), read)


def _class_by_layers(layers: list[Any], x: Tensor) -> Tensor:
    """The probability of each class, by layers, one after the other."""
    for layer in layers:
        x = layer(x)
    p = x[0].softmax(dim=-1)
    return p
