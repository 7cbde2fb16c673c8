"""The recipe of an auto-encoder of pictures; its equations stand in `workings.train.tasks.autoencoder`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workings.train.forward_pass import ForwardPass
from workings.train.recipe import OpenRun
from workings.train.recipes.pictures import DATA, PictureRecipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class AutoEncoderSettings(Training, steps=3000, rate=2e-3, warmup=100):
    data: str = setting("digits", DATA)
    code: int = setting(8, "width of the code", least=1)
    hidden: str = setting("256 128", "widths of the encoder's hidden layers; the decoder mirrors them; none is linear")
    batch: int = setting(128, "pictures per update, over all processes", least=1)


class AutoEncoder(PictureRecipe):
    name = "autoencoder"
    summary = "Pictures through a narrow code and back, beside principal components of the same width."
    example = "workings train autoencoder --code 2 --steps 500"
    Settings = AutoEncoderSettings

    def task(self, settings: Any) -> Task:
        from workings.train.tasks.autoencoder import error, loss, principal_error, reconstructions
        from workings.train.tasks.pictures import read

        data = read(settings.data, settings.seed)
        test = data.x_test
        pca = principal_error(data.x.flatten(1), test.flatten(1), settings.code)
        return self.picture_task(
            settings,
            data,
            loss,
            evaluate=lambda model: {"loss": error(model, test), "pca": pca},
            sample=lambda model: reconstructions(model, test[:3]),
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        from workings.models.autoencoder import AutoEncoder as Model
        from workings.train.tasks.autoencoder import check_narrow, widths
        from workings.train.tasks.pictures import shape_in

        c, n, m = shape_in(files)
        check_narrow(settings.code, c * n * m)
        return Model(c * n * m, settings.code, widths(settings.hidden))

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        return self.reconstruction(run, given, _through)


def _through(model: Any, x: Tensor) -> Tensor:
    """A picture through the code of an auto-encoder and back."""
    x̂ = model(x)
    return x̂
