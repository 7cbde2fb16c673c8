"""`workings generate`: text that a run writes, pictures that it draws or finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.train.evaluation.opened import Opened
    from workings.train.evaluation.writing import Choice

PAIRS = {"sort": "--prompt DAAC", "seq2seq": "--prompt hello"}
"""Runs that answer, with a question for each."""
TOWERS = ("clip", "siglip")
Out = Annotated[Path | None, typer.Option(help="PNG file for pictures.")]


IDLE = {
    "vae": ("draws pictures", ("prompt", "length", "temperature", "top_k", "top_p", "beam")),
    "clip": ("finds pictures", ("prompt", "length", "temperature", "top_k", "top_p", "beam")),
    "siglip": ("finds pictures", ("prompt", "length", "temperature", "top_k", "top_p", "beam")),
    "sort": ("gives one answer", ("length", "temperature", "top_k", "top_p", "beam", "count")),
    "seq2seq": ("gives the likeliest answer", ("length", "temperature", "top_k", "top_p", "count")),
}
"""What a run does, and the options that change nothing about it."""
TEXT = ("writes one text", ("count",))
DRAWING = ("temperature", "top_k", "top_p")


def generate(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A folder that train wrote.")],
    prompt: Annotated[
        str | None, typer.Option(help="The beginning of the text (default: a new line), or what is to be answered.")
    ] = None,
    length: Annotated[int, typer.Option(min=0, help="Tokens to write.")] = 200,
    temperature: Annotated[
        float, typer.Option(min=0, help="Below 1 more likely tokens, above 1 bolder ones; 0 the likeliest.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Draw among the k likeliest tokens only.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw among the fewest tokens that together have this probability.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Search with this many beams instead of drawing.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text or pictures.")] = 0,
    interpolate: Annotated[bool, typer.Option("--interpolate", help="vae: from test pictures to others.")] = False,
    search: Annotated[str | None, typer.Option(help="clip: find the pictures for these words.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Pictures to draw or find, or rows of --interpolate.")] = None,
    out: Out = None,
) -> None:
    """Let a finished run write, draw, or find pictures.

    \b
    Examples:
        workings generate runs/shakespeare-1 --prompt "ROMEO:" --temperature 0.8
        workings generate runs/vae-1 --out samples.png
        workings generate runs/vae-1 --interpolate --out between.png
        workings generate runs/clip-1 --search "red heart"
    """
    from workings.train.evaluation.opened import opened, require
    from workings.train.evaluation.writing import Choice

    if not 0 <= seed < 2**63:
        raise WorkingsError(f"--seed is a whole number from 0 to 2⁶³ − 1; got {seed}.")
    found = opened(run)
    if interpolate:
        require(found, ("vae",), "--interpolate")
    if search is not None:
        require(found, TOWERS, "--search")
    if out is not None:
        require(found, ("vae", *TOWERS), "--out")
    require_effect(found, [name for name in context.params if named(context, name)])
    if found.recipe.name == "vae":
        draw(found, interpolate, count, seed, out)
    elif found.recipe.name in TOWERS:
        find(found, search, count or 5, out)
    else:
        write(found, prompt, Choice(temperature, top_k, top_p, beam, seed, length))


def named(context: typer.Context, option: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def require_effect(found: Opened, given: list[str]) -> None:
    """Refuse options that would be passed over."""
    from workings.train.text.languages import is_language

    kind = found.recipe.name
    does, idle = IDLE.get(kind, TEXT if is_language(found) else ("", ()))
    for name in given:
        if name in idle:
            raise WorkingsError(f"{flag(name)} does nothing here: a run of {kind} {does}. Leave it out.")
    if "beam" in given and (drawing := [flag(name) for name in DRAWING if name in given]):
        raise WorkingsError(f"--beam searches for the likeliest text and draws nothing: leave out {' and '.join(drawing)}.")


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def draw(found: Opened, interpolate: bool, count: int | None, seed: int, out: Path | None) -> None:
    from workings.train.evaluation.drawings import interpolations, samples, written

    if out is None:
        raise WorkingsError("Pictures go into a file: give --out samples.png.")
    sheet = interpolations(found, count or 8, 10, seed) if interpolate else samples(found, count or 64, seed)
    written(sheet, out)
    typer.echo(str(out))


def find(found: Opened, words: str | None, count: int, out: Path | None) -> None:
    from workings.train.evaluation.drawings import search, written
    from workings.train.recipes.clip import unknown_in

    if words is None:
        raise WorkingsError(f"A run of {found.recipe.name} finds pictures: give --search WORDS.")
    names, sheet = search(found, words, count)
    if unknown := unknown_in(words, found.files["words.txt"].splitlines()):
        typer.echo(f"Left out, since the model does not know: {', '.join(unknown)}.", err=True)
    for name, cosine in names:
        typer.echo(f"{cosine:.3f}  {name}")
    if out is not None:
        written(sheet, out)
        typer.echo(str(out))


def write(found: Opened, prompt: str | None, choice: Choice) -> None:
    """Text, printed as it comes."""
    from workings.train.evaluation.writing import after, answered, beginning, prompted
    from workings.train.text.languages import is_language, language_of

    if found.recipe.name not in PAIRS and not is_language(found):
        raise WorkingsError(f"{found.name} is a run of {found.recipe.name}, which neither writes nor draws.")
    if found.recipe.name in PAIRS:
        if prompt is None:
            raise WorkingsError(
                f"A run of {found.recipe.name} answers: give a --prompt, such as {PAIRS[found.recipe.name]}."
            )
        for text in answered(found, prompt, choice.beams):
            typer.echo(text)
        return
    language = language_of(found, "generate")
    tokens, named = (prompted(language, prompt), "") if prompt is not None else beginning(language)
    pieces = after(language, tokens, choice)
    first = next(pieces, "")
    if prompt is None:
        typer.echo(f"No --prompt: the text goes on after {named}.", err=True)
    typer.echo((prompt or "") + first, nl=False)
    for piece in pieces:
        print(piece, end="", flush=True)
    typer.echo()
