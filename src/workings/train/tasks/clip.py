r"""Emoji and their names in one space: CLIP's softmax loss, or SigLIP's sigmoid loss.

    F = normalised(picture tower(x) W_image)       a small CNN
    G = normalised(text tower(t) W_text)           the mean of the words' vectors, through a hidden layer
    S = e^s F Gᵀ  (+ b for SigLIP)
    L = loss of S, where picture i belongs to text i

There are four drawing styles of the same 1,561 emoji. One style is never trained on; the figures are retrieval in it: the
share of its pictures whose name is among the five nearest of all 1,561 (`recall@5`), and of names that find their picture
(`text_recall@5`). A batch has every name at most once, in a style chosen at random.

Axes: b pairs, n m height and width, w words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.nn.objectives.contrastive import recall_at
from workings.train.capabilities import Search
from workings.train.data.emoji import Drawings, emoji
from workings.train.recipe import OpenRun
from workings.train.tasks.drawing import grid, shades
from workings.train.tasks.picture_input import from_file, is_number, number_of_test
from workings.train.tasks.pictures import Standardised, in_parts, moved
from workings.train.tasks.shuffled import Shuffled

Pictures = Float[Tensor, "b 3 n m"]
Words = Int[Tensor, "b w"]


class PictureTower(nn.Sequential):
    """Four stages of convolution, batch norm, ReLU and pooling, each with twice the channels; then the mean over places."""

    def __init__(self, channels: int) -> None:
        sizes = [3, channels, 2 * channels, 4 * channels, 8 * channels]
        stages = [_stage(i, o) for i, o in pairwise(sizes)]
        super().__init__(Standardised(3), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _stage(inputs: int, outputs: int) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


class TextTower(nn.Module):
    """The mean of the words' vectors, through a hidden layer that is added. Word 0 is no word."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.E = nn.EmbeddingBag(words + 1, width, mode="mean", padding_idx=0)
        self.hidden = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, words: Words) -> Float[Tensor, "b e"]:
        x = self.E(words)
        x = x + self.hidden(x)
        return x


class Pairs:
    """The batch of a step: different names, each drawn in a style to learn from, moved and with other colours."""

    def __init__(self, data: Drawings, texts: Words, settings: Any) -> None:
        self.styles = [pictures for style, pictures in data.styles.items() if style != settings.style]
        self.texts, self.settings = texts, settings
        self.names = Shuffled(len(texts), min(settings.batch, len(texts)), settings.seed)

    def __call__(self, step: int) -> tuple[Pictures, Words]:
        i = self.names(step).unique()  # a batch over the end of a pass could meet a name twice
        style = torch.randint(len(self.styles), (len(i),))
        x = torch.stack([self.styles[s][k] for s, k in zip(style.tolist(), i.tolist(), strict=True)])
        x = moved(x, self.settings.shift, "replicate")
        gain = 1 + self.settings.colour * (2 * torch.rand(len(i), 3, 1, 1) - 1)
        return 1 - gain * (1 - x), self.texts[i]


def loss(model: Any, batch: tuple[Pictures, Words]) -> Tensor:
    x, t = batch
    L = model.loss(x, t)
    return L


def figures(model: Any, x: Pictures, texts: Words) -> dict[str, float]:
    """Retrieval among all names and all pictures of one style."""
    S = model.similarities(in_parts(model.image_embedding, x), model.text_embedding(texts))
    figures = {f"recall@{k}": recall_at(S, min(k, len(S))) for k in (1, 5)}
    return {**figures, **{f"text_recall@{k}": recall_at(S.T, min(k, len(S))) for k in (1, 5)}}


def sample_text(model: Any, data: Drawings, style: str, texts: Words, count: int = 2) -> str:
    """A few pictures of the style never seen, with the names found for them."""
    i = torch.randint(len(texts), (count,))
    x = data.styles[style][i]
    S = model(x, texts)
    names = [", ".join(data.captions[j] for j in row.topk(3).indices.tolist()) for row in S]
    lines = [f"{data.captions[k]}: {found}" for k, found in zip(i.tolist(), names, strict=True)]
    return "\n".join([shades(1 - x), *lines])


@torch.no_grad()
def search(run: OpenRun, words: str, count: int) -> Search:
    """The pictures of the style never seen that are nearest to some words."""
    data, model, vocabulary = emoji(), run.model, run.files["words.txt"].splitlines()
    x = data.styles[run.settings.style]
    best = nearest(model, words, vocabulary, x, count)
    sheet = grid(x[torch.tensor([i for i, _ in best])], columns=len(best))
    unknown = [word for word in words_of(words) if word not in vocabulary]
    return Search([(data.captions[i], cosine) for i, cosine in best], sheet, unknown)


def nearest(model: Any, text: str, vocabulary: Sequence[str], pictures: Pictures, k: int = 5) -> list[tuple[int, float]]:
    """The pictures nearest to a text: their places and cosines, the nearest first."""
    F = in_parts(model.image_embedding, pictures)
    G = model.text_embedding(word_numbers([text], vocabulary))
    best = (F @ G.T)[:, 0].topk(min(k, len(F)))
    return [*zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def nearest_pictures(run: OpenRun, G: Float[Tensor, "1 d"]) -> str:
    """The pictures of the style never seen that are nearest to a text's place."""
    data, model, style = emoji(), run.model, run.settings.style
    F = in_parts(model.image_embedding, data.styles[style])
    return _by_cosine(F @ G[0], data.captions, f"Nearest pictures of {style}: ")


def nearest_names(run: OpenRun, F: Float[Tensor, "1 d"]) -> str:
    """The names that are nearest to a picture's place."""
    model: Any = run.model
    captions, vocabulary = (run.files[file].splitlines() for file in ("captions.txt", "words.txt"))
    G = model.text_embedding(word_numbers(captions, vocabulary))
    return _by_cosine(G @ F[0], captions, "Nearest names: ")


def _by_cosine(cosines: Float[Tensor, " n"], names: list[str], before: str, most: int = 5) -> str:
    """
    >>> _by_cosine(torch.tensor([0.25, 0.75]), ["cat", "red heart"], "Nearest: ")
    'Nearest: red heart 0.750, cat 0.250'
    """
    best = cosines.topk(min(most, len(names)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return before + ", ".join(f"{names[i]} {cosine:.3f}" for i, cosine in pairs)


def picture(run: OpenRun, named: str, hint: str) -> tuple[Pictures, str]:
    """A picture of the style kept for the test, by its number, or a file on white."""
    if not is_number(named):
        x = from_file(Path(named), (3, 32, 32), hint)
        return x, f"{named}:\n{shades(1 - x)}"
    data, style = emoji(), run.settings.style
    i = number_of_test(named, len(data.captions))
    x = data.styles[style][[i]]
    return x, f"picture {named} of {style}, which is {data.captions[i]}:\n{shades(1 - x)}"


def words_of(caption: str) -> list[str]:
    """The words of a name in small letters.

    >>> words_of("Mrs. Claus: dark skin")
    ['mrs', 'claus', 'dark', 'skin']
    """
    return re.findall(r"\w+", caption.lower())


def word_numbers(captions: Sequence[str], vocabulary: Sequence[str]) -> Words:
    """The words of each text as numbers from 1, with 0 behind the shorter ones. Unknown words are left out.

    >>> word_numbers(["red heart", "heart"], ["heart", "red"])
    tensor([[2, 1],
            [1, 0]])
    """
    number = {word: i for i, word in enumerate(vocabulary, 1)}
    rows = [[number[word] for word in words_of(caption) if word in number] for caption in captions]
    for caption, row in zip(captions, rows, strict=True):
        if not row:
            raise WorkingsError(
                f"None of the words of {caption!r} is known to this model: it knows {len(vocabulary):,} words."
            )
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])
