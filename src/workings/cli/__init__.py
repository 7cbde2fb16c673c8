"""The command line: one file per verb, and heavy imports only inside the verbs."""

import sys
from typing import Annotated

import typer

from workings.cli import data
from workings.cli.check import check
from workings.cli.demo import demo
from workings.cli.evaluate import evaluate
from workings.cli.exact import exact
from workings.cli.generate import generate
from workings.cli.neighbors import neighbors
from workings.cli.shapes import shapes
from workings.cli.show import show
from workings.cli.systems import systems
from workings.cli.train import train
from workings.errors import WorkingsError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: importing rich would double the time it takes
)


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from workings import __version__

        typer.echo(f"workings {__version__}")
        raise typer.Exit


@app.callback()
def workings(
    _version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Deep learning that shows its work.

    Example: workings demo
    """


app.command()(check)
app.command()(demo)
app.command("eval")(evaluate)
app.command()(generate)
app.command()(neighbors)
app.command()(shapes)
app.command()(show)
app.command()(systems)
app.add_typer(data.app, name="data")
# The settings of a recipe are its own options, and its help is made from them.
app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(train)
# Unknown options pass as text, so that an expression may begin with a minus.
app.command(context_settings={"ignore_unknown_options": True})(exact)


def main() -> None:
    """Run the command line; a user's mistake is a message and exit code 2, never a traceback."""
    try:
        app()
    except WorkingsError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)
