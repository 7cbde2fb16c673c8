"""The recipe of a variational auto-encoder of pictures; its equations stand in `workings.train.tasks.vae`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workings.train.capabilities import Draws, Sheet
from workings.train.forward_pass import ForwardPass
from workings.train.recipe import OpenRun
from workings.train.recipes.pictures import DATA, PictureRecipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class VaeSettings(Training, steps=4000, rate=2e-3, warmup=200):
    data: str = setting("digits", DATA)
    latent: int = setting(12, "width of the latent", least=1)
    hidden: str = setting("512 256", "widths of the encoder's hidden layers; the decoder mirrors them")
    likelihood: str = setting("bernoulli", "what a pixel is, given the latent", among=("bernoulli", "gaussian"))
    variance: float = setting(0.1, "gaussian: variance of a pixel", least=0)
    batch: int = setting(128, "pictures per update, over all processes", least=1)


class Vae(PictureRecipe, Draws):
    name = "vae"
    summary = "Pictures as draws from a latent space: the bound split in its parts, samples, interpolations."
    example = "workings train vae --steps 1000"
    Settings = VaeSettings

    def task(self, settings: Any) -> Task:
        from workings.train.tasks.drawing import shades
        from workings.train.tasks.pictures import read
        from workings.train.tasks.vae import draws, figures, loss

        data = read(settings.data, settings.seed)
        return self.picture_task(
            settings,
            data,
            loss,
            evaluate=lambda model: figures(model, data.x_test),
            sample=lambda model: shades(draws(model, data.x.shape[1:], 3)),
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        from torch.nn import SiLU

        from workings.models.vae import VAE
        from workings.train.tasks.autoencoder import widths
        from workings.train.tasks.pictures import shape_in

        c, n, m = shape_in(files)
        return VAE(c * n * m, settings.latent, widths(settings.hidden), settings.likelihood, settings.variance, SiLU)

    def samples(self, run: OpenRun, count: int, seed: int) -> Sheet:
        from workings.train.tasks.drawing import square_grid
        from workings.train.tasks.pictures import shape_in
        from workings.train.tasks.vae import draws

        return square_grid(draws(run.model, shape_in(run.files), count, seed))

    def interpolations(self, run: OpenRun, rows: int, steps: int, seed: int) -> Sheet:
        from workings.train.tasks.drawing import grid
        from workings.train.tasks.pictures import read
        from workings.train.tasks.vae import between_pairs

        x = read(run.settings.data, run.settings.seed).x_test
        return grid(between_pairs(run.model, x, rows, steps, seed), columns=steps)

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        return self.reconstruction(run, given, _through_mean)


def _through_mean(model: Any, x: Tensor) -> Tensor:
    """A picture through the mean of its distribution in the latent space and back."""
    μ = model.encode(x)[0]
    x̂ = model.decode(μ)
    return x̂
