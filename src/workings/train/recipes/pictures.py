"""What the recipes of pictures have in common: their data, and a picture as the input to show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from workings.train.capabilities import Shows
from workings.train.forward_pass import ForwardPass
from workings.train.recipe import OpenRun, Recipe
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from workings.train.data.images import Images

DATA = (
    "digits (8×8, nothing to download), mnist, fashion, cifar, a folder with SVHN's two .mat files, "
    "or a folder that has a folder of pictures for each class"
)


class PictureRecipe(Recipe, Shows):
    """A recipe that learns from pictures."""

    input_hint = "Give a picture file, or the number of a test picture: --input 7."

    def picture_task(
        self, settings: Any, data: Images, loss: Any, batch: Callable[[Tensor], Any] | None = None, **judged: Any
    ) -> Task:
        """A task that sees each picture once in every pass; `batch` makes a batch of the numbers of its pictures."""
        from workings.train.tasks.pictures import description, hashes
        from workings.train.tasks.shuffled import Shuffled

        files, seen = description(data), Shuffled(len(data.x), settings.batch, settings.seed)
        model, batch = self.model(settings, files), batch or data.x.__getitem__
        hashed = hashes(settings.data, data)
        return Task(model, lambda t: batch(seen(t)), loss, files=files, hashes=hashed, unit="pictures", **judged)

    def reconstruction(self, run: OpenRun, given: str, through: Callable[[Any, Tensor], Tensor]) -> ForwardPass:
        """A picture through an auto-encoder and back."""
        from workings.train.tasks.picture_input import picture, reconstruction

        x, read = picture(run, given, self.input_hint)
        return ForwardPass(partial(through, run.model, x.flatten(1)), (), partial(reconstruction, x), read)
