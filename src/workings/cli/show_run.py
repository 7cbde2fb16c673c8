"""`workings show RUN --input …`: the worked forward pass of a trained model, on a text or a picture of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workings.cli.output import say
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.show.options import Options
    from workings.train.forward_pass import ForwardPass
    from workings.train.recipe import OpenRun


def is_run(what: str) -> bool:
    """Whether a name is that of a run: a folder that train wrote, or a path to where one should be.

    >>> is_run("attention"), is_run("runs/digits-1"), is_run("my/file.py:Net")
    (False, True, False)
    """
    return ":" not in what and ((Path(what) / "settings.json").is_file() or "/" in what.rstrip("/"))


def show_run(
    what: str,
    inputs: list[str],
    depth: int,
    backward: bool,
    options: Options,
    html: Path | None,
    form: str,
    standalone: bool = False,
) -> None:
    """Trace the model of a run on one input and print the worked solution."""
    import torch

    from workings.cli.output import print_work
    from workings.show import show
    from workings.train.evaluation.open import open_run

    run = open_run(what)
    if len(inputs) != 1:
        raise WorkingsError(f"A run is shown on one --input; there are {len(inputs)}. {_input_hint(run)}")
    shown = _forward_pass(run, inputs[0])
    labels = tuple((axis, names) for names in shown.axes for axis in (-1, -2))
    work = show(shown.call, depth=depth, backward=backward, options=replace(options, labels=labels))
    before = f"{run.name} ({run.recipe.name}), {shown.read}\n\n"
    print_work(work, html, form, before, after="\n", standalone=standalone)
    if not form:
        with torch.no_grad():
            say(shown.describe(shown.call()))


def _input_hint(run: OpenRun) -> str:
    """What --input is for a run: as its recipe says, or a text for any language model."""
    from workings.train.capabilities import Shows, Writes
    from workings.train.text.next_token import HINT

    if isinstance(run.recipe, Shows):
        return run.recipe.input_hint
    if isinstance(run.recipe, Writes):
        return HINT
    raise WorkingsError(f"{run.name} is a run of {run.recipe.name}, whose model show cannot read an --input for.")


def _forward_pass(run: OpenRun, given: str) -> ForwardPass:
    """The model of a run on an input: as its recipe does it, or the next token of any language model."""
    from workings.train.capabilities import Shows
    from workings.train.evaluation.open import language_of
    from workings.train.text import next_token

    _input_hint(run)  # a run that cannot be shown is refused
    if isinstance(run.recipe, Shows):
        return run.recipe.forward_pass(run, given)
    return next_token.forward_pass(language_of(run, "show"), given)
