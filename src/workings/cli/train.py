"""`workings train`: a recipe with its settings on the command line, or a run that goes on."""

from __future__ import annotations

import dataclasses
import os
from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from workings.cli.command import check_option
from workings.cli.output import option, say
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.train.recipe import Recipe
    from workings.train.run.run import Run
    from workings.train.settings import Training

_OPTIONS = ("out", "resume", "help")


def train(context: typer.Context) -> None:
    """Train one of the course's models, on its data or on yours.

    Example: workings train digits
    """
    words = list(context.args)
    name = words.pop(0) if words and not words[0].startswith("-") else ""
    if not name and (not words or {"--help", "-h"} & {*words}):
        from workings.cli.train_help import overview

        say(overview())
    elif {"--help", "-h"} & {*words}:
        from workings.cli.train_help import manual
        from workings.train.recipes import recipe

        say(manual(recipe(name)))
    else:
        start(name, words)


def start(name: str, words: list[str]) -> None:
    """Begin a run, or go on with one; Ctrl-C leaves with the message that says how to go on."""
    from workings.train.recipes import recipe

    try:
        given = _options(recipe(name), words) if name else _resume_options(words)
        if given.get("resume"):
            _resume(name, given)
        else:
            settings = recipe(name).Settings.read({key: value for key, value in given.items() if key not in _OPTIONS})
            _train_in_folder(name, settings, given.get("out"))
    except KeyboardInterrupt as stopped:
        say(str(stopped) or "Stopped before the first step; nothing was saved.", err=True)
        raise typer.Exit(130) from None


def _resume(name: str, given: dict[str, Any]) -> None:
    """Resume a run with its own settings; others that are named must agree with them."""
    from workings.train.recipes import recipe_of
    from workings.train.run.run import Run

    run = Run(Path(given["resume"]))
    found, settings = recipe_of(run)
    if name and name != found.name:
        raise WorkingsError(f"{run.folder} is a run of {found.name}, not of {name}.")
    if "out" in given:
        raise WorkingsError("--resume continues in the run's own folder: leave out --out.")
    named = {key: value for key, value in given.items() if key not in _OPTIONS}
    wanted = dataclasses.replace(settings, **named)
    if differs := wanted.difference(settings.json()):
        raise WorkingsError(f"{run.folder} continues with its own settings: {differs}. Start a new run for others.")
    _train_in_folder(found.name, wanted, str(run.folder))


def _train_in_folder(name: str, settings: Training, out: str | None) -> None:
    """Carry out a recipe in its folder, and write the report."""
    import torch

    from workings.train.loop.engine import train as carry
    from workings.train.process.distributed import join, leave
    from workings.train.process.progress import ProgressLines
    from workings.train.process.signals import Interrupted
    from workings.train.recipes import recipe
    from workings.train.run.lock import locked
    from workings.train.run.report import report
    from workings.train.run.run import Run

    if settings.threads:
        torch.set_num_threads(settings.threads)
    world = join()
    if out is not None and world.broadcast(Run(Path(out)).exists()):
        with locked(Path(out), world):  # said before the data is read
            Run(Path(out)).check_continues(name, settings, None)
    torch.manual_seed(settings.seed)
    task = recipe(name).task(settings)
    run = Run(Path(world.broadcast(str(out or run_folder(name, settings)) if world.first else "")))
    progress = ProgressLines()
    if world.first:
        progress.note(_beginning(run, task))
    try:
        history = carry(task, settings, run, progress, name=name)
    except Interrupted as stopped:
        raise Interrupted(f"{stopped} Continue with: workings train --resume {run.folder}" if world.first else "") from None
    if world.first:
        path = report(run, history.ended, task.best, highest=task.highest)
        progress.note(_ending(run, history, task.best, path))
    leave()


def run_folder(name: str, settings: Training) -> Path:
    """A new folder; after torchrun restarted its processes, the one they had."""
    from workings.train.run.run import Run, new_folder

    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        found = sorted(Path("runs").glob(f"{name}-*"), key=lambda path: path.stat().st_mtime)
        for path in reversed(found):
            if Run(path).exists() and not settings.difference(Run(path).read()["settings"]):
                return path
    return new_folder(name)


def _beginning(run: Run, task: Any) -> str:
    count = sum(p.numel() for p in task.model.parameters())
    word = "continuing in" if run.checkpoints.is_dir() else "training in"
    return f"{word} {run.folder}: {count:,} parameters"


def _ending(run: Run, history: Any, best: str, report: Path) -> str:
    from workings.train.process.progress import figure

    found = f", best {best} {figure(history.best[best])} at step {history.best['step']:,}" if best in history.best else ""
    return f"{history.ended}{found}\n{report}"


class _Parser(ArgumentParser):
    """An argument parser whose complaints are errors of this library."""

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ").replace("expected one argument", "needs a value")
        raise WorkingsError(f"{message[0].upper() if message[0] != '-' else message[0]}{message[1:]}.")


def _options(found: Recipe, words: list[str]) -> dict[str, Any]:
    """The settings that are named on the command line, and --out and --resume."""
    from workings.cli.train_help import fields

    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--out", default=SUPPRESS)
    parser.add_argument("--resume", default=SUPPRESS)
    for known, kind in fields(found.Settings):
        action: Any = BooleanOptionalAction if kind is bool else "store"
        parser.add_argument(option(known.name), dest=known.name, action=action, default=SUPPRESS)
    given, rest = parser.parse_known_args([_with_dashes(word) for word in words])
    for word in rest:
        if not word.startswith("-"):
            raise WorkingsError(f"{word!r} has no option name: settings of {found.name} are given as --name value.")
        check_option(
            word, [flag for action in parser._actions for flag in action.option_strings], f"workings train {found.name}"
        )
    return {name: value if name in _OPTIONS else _number(found, name, value) for name, value in vars(given).items()}


def _resume_options(words: list[str]) -> dict[str, Any]:
    """The options of a command that names no recipe: --resume RUN."""
    from workings.train.recipes import recipe_of
    from workings.train.run.run import Run

    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--resume", default=SUPPRESS)
    given, _ = parser.parse_known_args(words)
    if "resume" not in given:
        raise WorkingsError("Name a recipe or a run: workings train digits, or workings train --resume RUN.")
    return _options(recipe_of(Run(Path(given.resume)))[0], words)


def _with_dashes(word: str) -> str:
    """`--save_every=3` is `--save-every=3`."""
    flag, equals, value = word.partition("=")
    return flag.replace("_", "-") + equals + value if word.startswith("--") else word


def _number(found: Recipe, name: str, value: Any) -> Any:
    """The text of an option as its setting's type: whole numbers and decimals are read, the rest is text."""
    from workings.train.settings import WORDS

    kind = found.Settings.types()[name]
    kind = {"int | None": int, "float | None": float}.get(str(kind), kind)
    if kind not in (int, float):
        return value
    try:
        return kind(value)
    except ValueError:
        raise WorkingsError(f"{option(name)} is {WORDS[kind]}; got {value!r}.") from None
