r"""An auto-encoder of pictures: through a narrow code and back.

    z = encoder(x)          the code, much narrower than x
    x̂ = decoder(z)
    L = 1/N Σ ‖x̂ − x‖²

The figure `pca` is the same error of the best linear code of that width, the first principal components; an auto-encoder
with hidden layers should come out below it.

Axes: b pictures, x pixels of a picture, z width of the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.autoencoder import AutoEncoder as Model
from workings.models.autoencoder import reconstruction_error
from workings.train.recipe import Recipe, Task
from workings.train.recipes.drawing import shades
from workings.train.recipes.pictures import DATA, Pictures, described, hashes, in_parts, read, shape_in
from workings.train.recipes.shuffled import Shuffled
from workings.train.settings import Training, setting


@dataclass(frozen=True)
class AutoEncoderSettings(Training):
    data: str = setting("digits", DATA)
    code: int = setting(8, "width of the code", least=1)
    hidden: str = setting("256 128", "widths of the encoder's hidden layers; the decoder mirrors them; none is linear")
    steps: int = setting(3000, "updates of the parameters", least=1)
    batch: int = setting(128, "pictures of one update, over all processes", least=1)
    rate: float = setting(2e-3, "learning rate at its highest", least=0)
    warmup: int = setting(100, "updates until the learning rate is at its highest", least=0)


class AutoEncoder(Recipe):
    name = "autoencoder"
    summary = "Pictures through a narrow code and back, beside principal components of the same width."
    example = "workings train autoencoder --code 2 --steps 500"
    Settings = AutoEncoderSettings

    def task(self, settings: Any) -> Task:
        data = read(settings.data, settings.seed)
        files = described(data)
        seen = Shuffled(len(data.x), settings.batch, settings.seed)
        test = data.x_test
        pca = principal_error(data.x.flatten(1), test.flatten(1), settings.code)
        return Task(
            self.model(settings, files),
            batches=lambda step: data.x[seen(step)],
            loss=loss,
            evaluate=lambda model: {"loss": error(model, test), "pca": pca},
            sample=lambda model: through(model, test[:3]),
            files=files,
            hashes=hashes(settings.data, data),
            unit="pictures",
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> Model:
        c, n, m = shape_in(files)
        if settings.code >= c * n * m:
            raise WorkingsError(
                f"A code of {settings.code} numbers is as wide as a picture of {c * n * m}: it could copy. Use less."
            )
        return Model(c * n * m, settings.code, widths(settings.hidden))


def widths(text: str) -> list[int]:
    """Whole numbers from 1 up, with spaces or commas between them; `none` is no number.

    >>> widths("256 128"), widths("none")
    ([256, 128], [])
    """
    words = [] if text == "none" else text.replace(",", " ").split()
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise WorkingsError(f"hidden is whole numbers with spaces between them, such as '256 128', or none; got {text!r}.")
    return [int(word) for word in words]


def loss(model: nn.Module, x: Pictures) -> Tensor:
    x = x.flatten(1)
    x̂ = model(x)
    L = reconstruction_error(x, x̂)
    return L


def error(model: nn.Module, x: Pictures) -> float:
    x = x.flatten(1)
    return reconstruction_error(x, in_parts(model, x)).item()


def through(model: nn.Module, x: Pictures) -> str:
    """Pictures, and below them what the code kept of them."""
    x̂ = model(x.flatten(1)).view_as(x)
    return f"{shades(x)}\n{shades(x̂)}"


def principal_error(x: Float[Tensor, "b x"], test: Float[Tensor, "m x"], code: int) -> float:
    r"""The error of the first principal components of `x` on `test`.

    $$\hat x = \mu + U U^\top (x - \mu)$$
    """
    μ = x.mean(dim=0)
    C = (x - μ).T @ (x - μ)
    U = torch.linalg.eigh(C.double()).eigenvectors[:, -code:].to(x.dtype)
    x̂ = μ + (test - μ) @ U @ U.T
    return reconstruction_error(test, x̂).item()
