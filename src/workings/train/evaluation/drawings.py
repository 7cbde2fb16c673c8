"""Pictures made by a VAE, or found by CLIP for some words."""

from __future__ import annotations

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import WorkingsError
from workings.train.evaluation.opened import Opened
from workings.train.recipes.drawing import grid, save

Sheet = Float[Tensor, "c n m"]


def samples(found: Opened, count: int, seed: int) -> Sheet:
    """A square of pictures that the prior draws."""
    from workings.train.recipes.pictures import shape_in
    from workings.train.recipes.vae import drawn

    x = drawn(found.model, shape_in(found.files), count, torch.Generator().manual_seed(seed))
    return grid(x, columns=-int(-(count**0.5) // 1))


def interpolations(found: Opened, rows: int, steps: int, seed: int) -> Sheet:
    """Each row goes from one test picture to another, in steps between their codes."""
    from workings.train.recipes.pictures import read
    from workings.train.recipes.vae import between

    x = read(found.settings.data, found.settings.seed).x_test
    if len(x) < 2 * rows:
        raise WorkingsError(f"{rows} rows go between {2 * rows} test pictures; there are {len(x)}.")
    i = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[: 2 * rows]
    return grid(between(found.model, x[i[:rows]], x[i[rows:]], steps), columns=steps)


@torch.no_grad()
def search(found: Opened, words: str, count: int) -> tuple[list[tuple[str, float]], Sheet]:
    """The pictures of the style never seen that are nearest to some words: names with cosines, and the pictures."""
    from workings.train.data.emoji import emoji
    from workings.train.recipes.clip import found as nearest

    data = emoji()
    x = data.styles[found.settings.style]
    best = nearest(found.model, words, found.files["words.txt"].splitlines(), x, count)
    sheet = grid(x[torch.tensor([i for i, _ in best])], columns=len(best))
    return [(data.captions[i], cosine) for i, cosine in best], sheet


def written(sheet: Sheet, out: Path, scale: int = 4) -> None:
    """Save as PNG; what stands in the way is named."""
    if out.suffix.lower() != ".png":
        raise WorkingsError(f"--out is a PNG file, such as samples.png; got {out}.")
    try:
        save(sheet, out, scale)
    except OSError as error:
        raise WorkingsError(f"Could not write {out}: {error.strerror or error}.") from None
