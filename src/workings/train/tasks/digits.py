r"""Digits (or clothes, things, pictures of your own): a class for each picture.

    θ = model(x)                      logits: a CNN, a ViT, a network with one hidden layer, or a linear map
    L = −1/N Σ log softmax(θ)_y

Pictures are moved by a few pixels at random each time they are seen, so that the network cannot learn them by heart; a
linear map, which weighs each pixel by its place, sees them as they are.

Axes: b pictures, c channels, n m height and width.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.cnn import StreetDigits, digits_cnn
from workings.models.mlp import MLP
from workings.models.vit import ViT
from workings.nn.objectives.losses import cross_entropy
from workings.train.data.images import Images
from workings.train.tasks.drawing import shades
from workings.train.tasks.pictures import in_parts, side_of_square


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, y = batch
    θ = model(x)
    L = cross_entropy(θ, y)
    return L


def figures(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, float]:
    """The loss and the share of pictures whose class has the highest logit."""
    θ = in_parts(model, x)
    return {"loss": cross_entropy(θ, y).item(), "accuracy": (θ.argmax(dim=1) == y).double().mean().item()}


def sample_text(model: nn.Module, data: Images, count: int = 3) -> str:
    """The first test pictures with what the model takes them for; mistaken ones go first."""
    x, y = data.x_test[:500], data.y_test[:500]
    p = in_parts(model, x).softmax(dim=1)
    found = p.argmax(dim=1)
    first = torch.argsort((found == y).long(), stable=True)[:count]
    names = [f"{data.classes[found[i]]} ({p[i, found[i]]:.0%}; it is {data.classes[y[i]]})" for i in first.tolist()]
    return f"{shades(x[first])}\ntaken for {', '.join(names)}"


def layers_of(model: Any) -> Iterator[nn.Module]:
    """The layers of a sequence, those of sequences in it too: show opens what is the library's own, not PyTorch's boxes."""
    for layer in model:
        if type(layer) is nn.Sequential:
            yield from layers_of(layer)
        else:
            yield layer


def _cnn(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    side = side_of_square(shape, "The cnn")
    if side < 2**settings.stages:
        raise WorkingsError(f"{settings.stages} stages halve a picture to nothing: it is {side} wide. Use fewer --stages.")
    channels = [settings.channels * 2**i for i in range(settings.stages)]
    return [digits_cnn(side, channels, classes=classes, inputs=shape[0])]


def _street(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    """The network for house numbers: grey pictures of 28×28 as they are, others brought to 32×32."""
    side = side_of_square(shape, "The street network")
    if shape[0] != 1 or classes != 10:
        raise WorkingsError(
            f"The street network reads one channel and has ten classes; these pictures have {shape[0]} and {classes}."
        )
    fitting: list[nn.Module] = [] if side in (28, 32) else [nn.Upsample(size=(32, 32), mode="bilinear")]
    return [*fitting, StreetDigits(image=28 if side == 28 else 32)]


def _vit(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    patch = settings.patch or max(1, side_of_square(shape, "Without --patch the vit") // 4)
    return [ViT(shape[1:], patch, settings.width, settings.depth, settings.heads, classes, channels=shape[0])]


def _mlp(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    c, n, m = shape
    return [nn.Flatten(), MLP(c * n * m, settings.hidden, classes)]


def _logistic(settings: Any, shape: tuple[int, int, int], classes: int) -> list[nn.Module]:
    c, n, m = shape
    return [nn.Flatten(), nn.Linear(c * n * m, classes)]


BODIES = {"cnn": _cnn, "vit": _vit, "mlp": _mlp, "logistic": _logistic, "street": _street}
