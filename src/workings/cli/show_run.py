"""`workings show RUN --input …`: the worked forward pass of a trained model, on a text or a picture of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from workings.errors import WorkingsError

if TYPE_CHECKING:
    from torch import Tensor

    from workings.show.options import Options
    from workings.train.evaluation.opened import Opened


@dataclass(frozen=True)
class Shown:
    """A call to trace, the names of tokens and classes for the axes, and what its result says in words."""

    call: Callable[[], Any]
    axes: tuple[tuple[str, ...], ...]
    told: Callable[[Any], str]
    read: str
    """How the input was understood."""


def is_run(what: str) -> bool:
    """Whether a name is that of a run: a folder that train wrote, or a path to where one should be.

    >>> is_run("attention"), is_run("runs/digits-1"), is_run("my/file.py:Net")
    (False, True, False)
    """
    return ":" not in what and ((Path(what) / "settings.json").is_file() or "/" in what.rstrip("/"))


def show_run(
    what: str, inputs: list[str], depth: int, backward: bool, options: Options, html: Path | None, form: str
) -> None:
    """Trace the model of a run on one input and print the worked solution."""
    import torch

    from workings.cli.show import str_for_terminal, write
    from workings.show import show
    from workings.train.evaluation.opened import opened

    found = opened(what)
    if len(inputs) != 1:
        raise WorkingsError(f"A run is shown on one --input; there are {len(inputs)}. {needed(found)}")
    shown = reader_of(found)(found, inputs[0])
    labels = tuple((axis, names) for names in shown.axes for axis in (-1, -2))
    work = show(shown.call, depth=depth, backward=backward, options=replace(options, labels=labels))
    if html is not None:
        write(html, work.html())
        typer.echo(f"wrote {html}")
    if form:
        return typer.echo(getattr(work, form)())
    if html is None:
        typer.echo(f"{found.name} ({found.recipe.name}), {shown.read}\n\n{str_for_terminal(work)}\n")
    with torch.no_grad():
        typer.echo(shown.told(shown.call()))


def reader_of(found: Opened) -> Callable[[Opened, str], Shown]:
    from workings.train.text.languages import is_language

    name = found.recipe.name
    if name not in READERS and not is_language(found):
        raise WorkingsError(f"{found.name} is a run of {name}, whose model show cannot read an --input for.")
    return READERS[name][1] if name in READERS else of_language


def needed(found: Opened) -> str:
    """What --input is for a run."""
    reader_of(found)
    return READERS[found.recipe.name][0] if found.recipe.name in READERS else TEXT


TEXT = 'Give a text: --input "to be".'
PICTURE = "Give a picture file, or the number of a test picture: --input 7."

TOWERS = 'Give words, a picture file, or the number of a test picture: --input "red heart".'


# what is traced


def next_token(model: Any, tokens: Tensor) -> Tensor:
    """The probability of each token after the last."""
    θ = model(tokens)
    p = θ[0, -1].softmax(dim=-1)
    return p


def next_of_state(model: Any, tokens: Tensor) -> Tensor:
    """The same by a recurrent model."""
    θ = model(tokens)[0]
    p = θ[0, -1].softmax(dim=-1)
    return p


def next_of_last(model: Any, tokens: Tensor) -> Tensor:
    """The same by a bigram model, which reads the last token alone."""
    θ = model(tokens[0, -1:])
    p = θ[0].softmax(dim=-1)
    return p


def class_of(model: Any, x: Tensor) -> Tensor:
    """The probability of each class."""
    θ = model(x)
    p = θ[0].softmax(dim=-1)
    return p


def class_by_layers(layers: list[Any], x: Tensor) -> Tensor:
    """The same by layers, one after the other."""
    for layer in layers:
        x = layer(x)
    p = x[0].softmax(dim=-1)
    return p


def through(model: Any, x: Tensor) -> Tensor:
    """A picture through the code of an auto-encoder and back."""
    x̂ = model(x)
    return x̂


def through_mean(model: Any, x: Tensor) -> Tensor:
    """A picture through the mean of its distribution in the latent space and back."""
    μ = model.encode(x)[0]
    x̂ = model.decode(μ)
    return x̂


def answer_given(model: Any, source: Tensor, target: Tensor) -> Tensor:
    """The probability of each token of the target, given those before it and the source."""
    θ = model(source, target)
    p = θ[0].softmax(dim=-1)
    return p


# how an input is read


def of_language(found: Opened, text: str) -> Shown:
    import torch

    from workings.models.bigram import NeuralBigram
    from workings.models.character import CharacterModel
    from workings.train.evaluation.writing import prompted
    from workings.train.text.languages import language_of

    language = language_of(found, "show")
    if not language.cut(text):
        raise WorkingsError(f"The --input is empty. {TEXT}")
    tokens = torch.tensor([prompted(language, text)])
    pieces = tuple(language.vocabulary[i] for i in tokens[0].tolist())
    kinds: dict[type, Any] = {CharacterModel: next_of_state, NeuralBigram: next_of_last}
    call = partial(kinds.get(type(found.model), next_token), found.model, tokens)
    names = tuple(map(visible, language.vocabulary))
    after = partial(likeliest, names=names, before=f"After {text!r}: ")
    return Shown(call, (tuple(map(visible, pieces)), names), after, in_places(pieces))


def of_sort(found: Opened, text: str) -> Shown:
    import torch

    from workings.course.dedupe_task import VOCABULARY, answer, encode

    word = text.replace(" ", "").upper()
    answer(word)  # a prompt of other letters is refused
    pieces = (*word, "<START>")
    call = partial(next_token, found.model, encode([*pieces]).unsqueeze(0).to(torch.long))
    return Shown(call, (pieces, tuple(VOCABULARY)), partial(likeliest, names=VOCABULARY, before="Next: "), in_places(pieces))


def of_sentiment(found: Opened, text: str) -> Shown:
    import torch

    from workings.train.evaluation.words import Reader

    reader = Reader.of(found)
    tokens = reader.encode(text).tolist()
    if not tokens:
        raise WorkingsError(f"The model knows no word of {text!r}.")
    pieces = tuple(reader.grams.name(token) for token in tokens)
    call, classes = partial(class_of, found.model, torch.tensor([tokens])), tuple(reader.classes)
    return Shown(call, (pieces, classes), partial(likeliest, names=classes, before="Taken for: "), in_places(pieces))


def of_pairs(found: Opened, text: str) -> Shown:
    import torch

    from workings.train.evaluation.writing import answered
    from workings.train.text.tokens import START, Tokens

    (answer,) = answered(found, text, None)
    source, target = (Tokens.read(found.files[f"{side}.json"]) for side in ("source", "target"))
    rows = source.encode([text])[0], [START, *target.encode([answer])[0]]
    call = partial(answer_given, found.model, *(torch.tensor([row]) for row in rows))
    names = [tuple(map(visible, kind.named(row))) for kind, row in zip((source, target), rows, strict=True)]
    classes = tuple(map(visible, target.named(range(len(target)))))
    said = f"It writes {answer!r}; before it, and after each of its tokens:\n"
    return Shown(call, (*names, classes), lambda p: said + by_rows(p, names[1], classes), in_places(names[0]))


def of_classifier(found: Opened, named: str) -> Shown:
    from workings.train.recipes.pictures import classes_in

    x, read = picture(found, named)
    classes = tuple(classes_in(found.files))
    layers = [*layers_of(found.model)]
    read += "\nthrough " + ", ".join(f"{i} {type(layer).__name__}" for i, layer in enumerate(layers, 1))
    call = partial(class_by_layers, layers, x)
    return Shown(call, (classes,), partial(likeliest, names=classes, before="Taken for: "), read)


def layers_of(model: Any) -> Iterator[Any]:
    """The layers of a sequence, those of sequences in it too: show opens what is the library's own, not PyTorch's boxes."""
    from torch import nn

    for layer in model:
        if type(layer) is nn.Sequential:
            yield from layers_of(layer)
        else:
            yield layer


def of_coder(found: Opened, named: str) -> Shown:
    from workings.train.recipes.drawing import shades

    x, read = picture(found, named)
    walk = through if found.recipe.name == "autoencoder" else through_mean
    call = partial(walk, found.model, x.flatten(1))
    return Shown(call, (), lambda x̂: f"What comes back:\n{shades(x̂.view_as(x))}", read)


def of_towers(found: Opened, named: str) -> Shown:
    from workings.cli.show_towers import of_text, picture_of

    return picture_of(found, named) if is_picture(named) else of_text(found, named)


def is_picture(named: str) -> bool:
    """Whether an input is a picture, by its number or its file, and not words.

    >>> is_picture("12"), is_picture("heart.png"), is_picture("red heart")
    (True, True, False)
    """
    return named.lstrip("-").isdecimal() or Path(named).suffix.lower() in PICTURES or Path(named).is_file()


PICTURES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"))


READERS: dict[str, tuple[str, Callable[[Opened, str], Shown]]] = {
    "sort": ("Give letters: --input DAAC.", of_sort),
    "sentiment": ('Give a text: --input "a fine film".', of_sentiment),
    "seq2seq": ("Give a source: --input hello.", of_pairs),
    "digits": (PICTURE, of_classifier),
    "autoencoder": (PICTURE, of_coder),
    "vae": (PICTURE, of_coder),
    "clip": (TOWERS, of_towers),
    "siglip": (TOWERS, of_towers),
}


def picture(found: Opened, named: str) -> tuple[Tensor, str]:
    """A test picture by its number, or a file brought to the size and the colours of the run's pictures."""
    from workings.train.recipes.drawing import shades
    from workings.train.recipes.pictures import read, shape_in

    if named.lstrip("-").isdecimal():
        data = read(found.settings.data, found.settings.seed)
        if not 0 <= int(named) < len(data.x_test):
            raise WorkingsError(f"There are the test pictures 0 to {len(data.x_test) - 1}; got {named}.")
        x, y = data.x_test[[int(named)]], data.classes[int(data.y_test[int(named)])]
        return x, f"test picture {named}, which is {y}:\n{shades(x)}"
    x = from_file(Path(named), shape_in(found.files))
    return x, f"{named}:\n{shades(x)}"


def from_file(path: Path, shape: tuple[int, int, int], needed: str = PICTURE) -> Tensor:
    """A picture file as training reads it, in the size and colours of the run's pictures."""
    import torch
    import torch.nn.functional as F

    from workings.train.data.pixels import pixels

    c, n, m = shape
    if not path.exists():
        raise WorkingsError(f"{path} does not exist. {needed}")
    x = pixels(path).float()[None] / 255
    if c == 1:
        x = (torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1) * x).sum(1, keepdim=True)  # the grey of a colour
    if x.shape[2:] != (n, m):
        x = F.interpolate(x, (n, m), mode="bicubic", antialias=True).clamp(0, 1)
    return x


# words for results


def likeliest(p: Tensor, names: Any, before: str = "", most: int = 5) -> str:
    """
    >>> import torch
    >>> likeliest(torch.tensor([0.25, 0.75]), ["a", "b"], "Next: ")
    'Next: b 75.0%, a 25.0%'
    """
    best = p.topk(min(most, len(p)))
    return before + ", ".join(
        f"{names[i]} {x:.1%}" for x, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    )


def by_rows(p: Tensor, rows: tuple[str, ...], names: tuple[str, ...]) -> str:
    column = max(map(len, rows))
    return "\n".join(f"  {name:{column}}  {likeliest(row, names, most=3)}" for name, row in zip(rows, p, strict=True))


def visible(token: str) -> str:
    """A token with its white space to be seen.

    >>> visible(" "), visible("\\n"), visible("be")
    ('␣', '⏎', 'be')
    """
    return token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")


def in_places(pieces: tuple[str, ...]) -> str:
    """
    >>> in_places(("b", "e"))
    'which reads 2 tokens: 0 b, 1 e'
    """
    return f"which reads {len(pieces)} token{'s' * (len(pieces) > 1)}: " + ", ".join(
        f"{i} {visible(piece)}" for i, piece in enumerate(pieces)
    )
