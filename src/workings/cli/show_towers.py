"""`workings show RUN --input …` for runs of clip and siglip: words through the text tower, pictures through the other.

What an input is near to is said in cosines with all pictures of the style that was kept for the test, or with all names.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workings.cli.show_run import TOWERS, Shown, from_file, in_places
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from torch import Tensor

    from workings.train.evaluation.opened import Opened


def embedded_text(model: Any, words: Tensor) -> Tensor:
    """The place of a text in the common space."""
    G = model.text_embedding(words)
    return G


def embedded_picture(model: Any, x: Tensor) -> Tensor:
    """The place of a picture in the common space."""
    F = model.image_embedding(x)
    return F


def of_text(found: Opened, text: str) -> Shown:
    from workings.train.data.emoji import emoji
    from workings.train.recipes.clip import numbered
    from workings.train.recipes.pictures import in_parts

    vocabulary = found.files["words.txt"].splitlines()
    words = numbered([text], vocabulary)
    pieces = tuple(vocabulary[i - 1] for i in words[0].tolist())
    data, style = emoji(), found.settings.style

    def told(G: Tensor) -> str:
        F = in_parts(found.model.image_embedding, data.styles[style])
        return nearest(F @ G[0], data.captions, f"Nearest pictures of {style}: ")

    return Shown(partial(embedded_text, found.model, words), (pieces,), told, in_places(pieces))


def picture_of(found: Opened, named: str) -> Shown:
    from workings.train.recipes.clip import numbered

    x, read = picture(found, named)
    captions, vocabulary = (found.files[file].splitlines() for file in ("captions.txt", "words.txt"))

    def told(F: Tensor) -> str:
        G = found.model.text_embedding(numbered(captions, vocabulary))  # type: ignore[operator]
        return nearest(G @ F[0], captions, "Nearest names: ")

    return Shown(partial(embedded_picture, found.model, x), (), told, read)


def picture(found: Opened, named: str) -> tuple[Tensor, str]:
    """A picture of the style kept for the test, by its number, or a file on white."""
    from workings.train.data.emoji import emoji
    from workings.train.recipes.drawing import shades

    if not named.lstrip("-").isdecimal():
        x = from_file(Path(named), (3, 32, 32), TOWERS)
        return x, f"{named}:\n{shades(1 - x)}"
    data, style = emoji(), found.settings.style
    if not 0 <= int(named) < len(data.captions):
        raise WorkingsError(f"There are the test pictures 0 to {len(data.captions) - 1}; got {named}.")
    x = data.styles[style][[int(named)]]
    return x, f"picture {named} of {style}, which is {data.captions[int(named)]}:\n{shades(1 - x)}"


def nearest(cosines: Tensor, names: list[str], before: str, most: int = 5) -> str:
    """
    >>> import torch
    >>> nearest(torch.tensor([0.25, 0.75]), ["cat", "red heart"], "Nearest: ")
    'Nearest: red heart 0.750, cat 0.250'
    """
    best = cosines.topk(min(most, len(names)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return before + ", ".join(f"{names[i]} {cosine:.3f}" for i, cosine in pairs)
