"""The command line: one file per verb, and heavy imports only inside the verbs."""

import atexit
import gc
import os
import sys
from typing import Annotated

import typer

from workings.cli import data
from workings.cli.check import check
from workings.cli.command import Command, Group
from workings.cli.demo import demo
from workings.cli.evaluate import EvalCommand, evaluate
from workings.cli.exact import exact
from workings.cli.generate import generate
from workings.cli.neighbors import neighbors
from workings.cli.shapes import shapes
from workings.cli.show import show
from workings.cli.study import study
from workings.cli.systems import systems
from workings.cli.train import train
from workings.errors import WorkingsError

app = typer.Typer(
    cls=Group,
    context_settings={"help_option_names": ["--help", "-h"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: importing rich would double the time it takes
)


def _print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from workings.version import __version__

        typer.echo(f"workings {__version__}")
        raise typer.Exit


@app.callback()
def workings(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Deep learning that shows its work.

    Example: workings demo
    """


app.command(cls=Command, short_help="Check the claims of worked solutions.")(check)
for verb in (demo, generate, neighbors, shapes, show, systems):
    app.command(cls=Command)(verb)
app.command("eval", cls=EvalCommand)(evaluate)
app.add_typer(data.app, name="data")
# The settings of a recipe are its own options, and its help is made from them.
app.command(
    cls=Command,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(train)
# So are the parameters of a study.
app.command(
    cls=Command,
    short_help="Run a claim as an experiment that can fail.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(study)
# Unknown options pass as text, so that an expression may begin with a minus.
app.command(cls=Command, context_settings={"ignore_unknown_options": True})(exact)


def show_without_options(arguments: list[str]) -> bool:
    """Whether this is `workings show WHAT VALUE …` without options; if so, it is done.

    There is nothing to read but words, and typer's way of reading them imports pydantic, which takes 0.1 s.
    """
    if len(arguments) < 2 or arguments[0] != "show" or any(text.startswith("-") for text in arguments):
        return False
    try:
        show(arguments[1], arguments[2:])
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python flushes at its end goes nowhere
        sys.exit(1)
    return True


def collect_garbage_seldom() -> None:
    """Collect garbage seldom, and none at the end: what is in use then, the system takes back whole.

    PyTorch is 250,000 objects that stay. Going through them while it is imported and again at the end took a quarter of the
    time of a short command (docs/log.md).
    """
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)


def main() -> None:
    """Run the command line; a user's mistake is a message and exit code 2, never a traceback."""
    collect_garbage_seldom()
    try:
        if not show_without_options(sys.argv[1:]):
            app(prog_name="workings")  # and not `python -m workings`, or the path of a script
    except WorkingsError as error:
        from workings.cli.output import say

        say(str(error), err=True)
        _end(2)
    except SystemExit as end:
        _end(end.code)


def _end(code: str | int | None) -> None:
    """End the program. One of several processes of torchrun ends at once.

    While Python takes such a process down, a thread of its process group may still run, and C++ then aborts it («terminate
    called without an active exception»), after everything has been done and written.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or not isinstance(code, int | None):
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)
