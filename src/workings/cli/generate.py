"""`workings generate`: text that a run writes, pictures that it draws or finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workings.cli.output import option, say
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.train.capabilities import Answers, Draws, Finds
    from workings.train.recipe import OpenRun
    from workings.train.text.writing import SamplingOptions

_DRAWING = ("temperature", "top_k", "top_p")
_TEXT = ("prompt", "length", *_DRAWING, "beam")
"""Options that change nothing about pictures."""


def generate(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A folder written by `workings train`.")],
    prompt: Annotated[
        str | None, typer.Option(help="The start of the text (default: a newline), or the question to answer.")
    ] = None,
    length: Annotated[int, typer.Option(min=0, help="Tokens to write.")] = 200,
    temperature: Annotated[
        float, typer.Option(min=0, help="Below 1: likelier tokens; above 1: more surprising ones; 0: always the likeliest.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Sample only from the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample from the smallest set of tokens with this total probability.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam search with this many beams instead of sampling.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text or pictures.")] = 0,
    interpolate: Annotated[bool, typer.Option("--interpolate", help="vae: interpolate between test pictures.")] = False,
    search: Annotated[str | None, typer.Option(help="clip: find the pictures for these words.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Number of pictures to draw or find, or rows of --interpolate.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write pictures to this PNG file.")] = None,
) -> None:
    """Generate text or images from a run, or search its images.

    \b
    Examples:
        workings generate runs/shakespeare-1 --prompt "ROMEO:" --temperature 0.8
        workings generate runs/vae-1 --out samples.png
        workings generate runs/vae-1 --interpolate --out between.png
        workings generate runs/clip-1 --search "red heart"
    """
    from workings.train.capabilities import Answers, Draws, Finds
    from workings.train.evaluation.open import check_can, open_run
    from workings.train.text.writing import SamplingOptions

    if not 0 <= seed < 2**63:
        raise WorkingsError(f"--seed is a whole number from 0 to 2⁶³ − 1; got {seed}.")
    found = open_run(run)
    if interpolate:
        check_can(found, Draws, "--interpolate")
    if search is not None:
        check_can(found, Finds, "--search")
    if out is not None:
        check_can(found, (Draws, Finds), "--out")
    _check_effect(found, [name for name in context.params if _is_given(context, name)])
    recipe = found.recipe
    if isinstance(recipe, Draws):
        _draw(recipe, found, interpolate, count, seed, out)
    elif isinstance(recipe, Finds):
        _find(recipe, found, search, count or 5, out)
    elif isinstance(recipe, Answers):
        _answer(recipe, found, prompt, beam)
    else:
        _write(found, prompt, SamplingOptions(temperature, top_k, top_p, beam, seed, length))


def _is_given(context: typer.Context, option: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _check_effect(run: OpenRun, given: list[str]) -> None:
    """Refuse options that would be passed over."""
    does, idle = _use_of(run)
    for name in given:
        if name in idle:
            raise WorkingsError(f"{option(name)} does nothing here: a run of {run.recipe.name} {does}. Leave it out.")
    if "beam" in given and (drawing := [option(name) for name in _DRAWING if name in given]):
        raise WorkingsError(f"--beam searches for the likeliest text and draws nothing: leave out {' and '.join(drawing)}.")


def _use_of(run: OpenRun) -> tuple[str, tuple[str, ...]]:
    """What a run does, and the options that change nothing about it."""
    from workings.train.capabilities import Answers, Draws, Finds, Writes

    recipe = run.recipe
    if isinstance(recipe, Draws):
        return "draws pictures", _TEXT
    if isinstance(recipe, Finds):
        return "finds pictures", _TEXT
    if isinstance(recipe, Answers) and recipe.has_beams:
        return "gives the likeliest answer", ("length", *_DRAWING, "count")
    if isinstance(recipe, Answers):
        return "gives one answer", ("length", *_DRAWING, "beam", "count")
    return ("writes one text", ("count",)) if isinstance(recipe, Writes) else ("", ())


def _draw(recipe: Draws, run: OpenRun, interpolate: bool, count: int | None, seed: int, out: Path | None) -> None:
    """Pictures, into a file."""
    from workings.train.tasks.drawing import save

    if out is None:
        raise WorkingsError("Pictures go into a file: give --out samples.png.")
    sheet = recipe.interpolations(run, count or 8, 10, seed) if interpolate else recipe.samples(run, count or 64, seed)
    save(sheet, out, scale=4)
    say(str(out))


def _find(recipe: Finds, run: OpenRun, words: str | None, count: int, out: Path | None) -> None:
    """The pictures nearest to some words: their names, and themselves in a file."""
    from workings.train.tasks.drawing import save

    if words is None:
        raise WorkingsError(f"A run of {run.recipe.name} finds pictures: give --search WORDS.")
    found = recipe.search(run, words, count)
    if found.unknown:
        say(f"Left out, since the model does not know: {', '.join(found.unknown)}.", err=True)
    for name, cosine in found.names:
        say(f"{cosine:.3f}  {name}")
    if out is not None:
        save(found.sheet, out, scale=4)
        say(str(out))


def _answer(recipe: Answers, run: OpenRun, prompt: str | None, beams: int | None) -> None:
    """The answer to a prompt, or several."""
    if prompt is None:
        raise WorkingsError(f"A run of {run.recipe.name} answers: give a --prompt, such as --prompt {recipe.prompt}.")
    for text in recipe.answers(run, prompt, beams):
        say(text)


def _write(run: OpenRun, prompt: str | None, choice: SamplingOptions) -> None:
    """Text, printed as it comes."""
    from workings.train.capabilities import Writes
    from workings.train.evaluation.open import language_of
    from workings.train.text.writing import beginning, continuation, prompt_tokens

    if not isinstance(run.recipe, Writes):
        raise WorkingsError(f"{run.name} is a run of {run.recipe.name}, which neither writes nor draws.")
    language = language_of(run, "generate")
    tokens, named = (prompt_tokens(language, prompt), "") if prompt is not None else beginning(language)
    pieces = continuation(language, tokens, choice)
    first = next(pieces, "")
    if prompt is None:
        say(f"No --prompt: the text starts after {named}.", err=True)
    say((prompt or "") + first, nl=False)
    for piece in pieces:
        say(piece, nl=False)
    say()
