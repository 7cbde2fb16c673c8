"""The recipes of CLIP and SigLIP; their equations stand in `workings.train.tasks.clip`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workings.train.capabilities import Finds, HasVectors, Search, Shows
from workings.train.data.sources import SOURCES, STYLES
from workings.train.forward_pass import ForwardPass, numbered_tokens
from workings.train.recipe import OpenRun, Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from workings.models.clip import CLIP
    from workings.models.vectors import WordVectors


@dataclass(frozen=True)
class ClipSettings(Training, steps=800, rate=2e-3, warmup=50, decay=0.05):
    style: str = setting("twemoji", "the drawing style that is kept for the test", among=STYLES)
    width: int = setting(128, "width of the common space", least=1)
    channels: int = setting(16, "channels of the picture tower's first stage; each next has twice as many", least=1)
    words: int = setting(128, "width of a word's vector", least=1)
    shift: int = setting(3, "pixels by which pictures are moved at random", least=0)
    colour: float = setting(0.3, "share by which each colour is made stronger or weaker at random", least=0, below=1)
    batch: int = setting(128, "pairs of one update", least=2)


class Clip(Recipe, Finds, HasVectors, Shows):
    name = "clip"
    summary = "Emoji pictures and their names in one space, by CLIP's loss; judged on a style never seen."
    example = "workings train clip --steps 200"
    Settings = ClipSettings
    input_hint = 'Give words, a picture file, or the number of a test picture: --input "red heart".'

    def task(self, settings: Any) -> Task:
        import torch

        from workings.train.data.emoji import emoji
        from workings.train.tasks.clip import Pairs, figures, loss, sample_text, word_numbers, words_of

        data = emoji()
        vocabulary = sorted({word for caption in data.captions for word in words_of(caption)})
        texts = word_numbers(data.captions, vocabulary)
        files = {"words.txt": "\n".join(vocabulary), "captions.txt": "\n".join(data.captions)}
        model = self.model(settings, files)
        model.image[0].measure(torch.cat([x for style, x in data.styles.items() if style != settings.style]))  # type: ignore[index]
        return Task(
            model,
            batches=Pairs(data, texts, settings),
            loss=loss,
            evaluate=lambda model: figures(model, data.styles[settings.style], texts),
            best="recall@5",
            highest=True,
            sample=lambda model: sample_text(model, data, settings.style, texts),
            files=files,
            hashes={f"emoji-{style}": SOURCES[f"emoji-{style}"].sha256 for style in STYLES},
            unit="pairs",
            whole=True,
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> CLIP:
        from workings.train.tasks.clip import PictureTower, TextTower

        c, e = settings.channels, settings.words
        vocabulary = files["words.txt"].splitlines()
        return self.kind()(PictureTower(c), TextTower(len(vocabulary), e), 8 * c, e, settings.width)

    def kind(self) -> type[CLIP]:
        """The model, which has the loss."""
        from workings.models.clip import CLIP

        return CLIP

    def search(self, run: OpenRun, words: str, count: int) -> Search:
        from workings.train.tasks.clip import search

        return search(run, words, count)

    def vectors(self, run: OpenRun) -> WordVectors:
        from workings.models.vectors import WordVectors

        words, model = run.files["words.txt"].splitlines(), run.model
        return WordVectors(words, model.text.E.weight.detach()[1:])  # type: ignore[union-attr, operator]

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        from workings.train.tasks.picture_input import is_picture

        return self.of_picture(run, given) if is_picture(given) else self.of_words(run, given)

    def of_words(self, run: OpenRun, text: str) -> ForwardPass:
        """Words through the text tower; then the cosines with all pictures of the style that was kept for the test."""
        from workings.train.tasks.clip import nearest_pictures, word_numbers

        vocabulary = run.files["words.txt"].splitlines()
        words = word_numbers([text], vocabulary)
        pieces = tuple(vocabulary[i - 1] for i in words[0].tolist())
        call = partial(_text_embedding, run.model, words)
        return ForwardPass(call, (pieces,), partial(nearest_pictures, run), numbered_tokens(pieces))

    def of_picture(self, run: OpenRun, named: str) -> ForwardPass:
        """A picture through the other tower; then the cosines with all names."""
        from workings.train.tasks.clip import nearest_names, picture

        x, read = picture(run, named, self.input_hint)
        return ForwardPass(partial(_picture_embedding, run.model, x), (), partial(nearest_names, run), read)


class Siglip(Clip):
    name = "siglip"
    summary = "The same pictures and names by SigLIP's loss: each pair is a question of its own."
    example = "workings train siglip --steps 200"

    def kind(self) -> type[CLIP]:
        from workings.models.clip import SigLIP

        return SigLIP


def _text_embedding(model: Any, words: Tensor) -> Tensor:
    """The place of a text in the common space."""
    G = model.text_embedding(words)
    return G


def _picture_embedding(model: Any, x: Tensor) -> Tensor:
    """The place of a picture in the common space."""
    F = model.image_embedding(x)
    return F
