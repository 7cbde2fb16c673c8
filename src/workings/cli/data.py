"""`workings data`: the data sets, fetched with your own package client."""

from __future__ import annotations

from typing import Annotated

import typer

from workings.cli.command import Command, Group
from workings.cli.output import say

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, download, locate and remove data sets.\n\nExample: workings data get mnist",
)


@app.command("list", cls=Command)
def listing() -> None:
    """List the data sets: whether each is here, its size and its source.

    Example: workings data list
    """
    from workings.train.data.fetch import cached_archive
    from workings.train.data.sources import SOURCES

    column = max(map(len, SOURCES))
    for name, source in SOURCES.items():
        here = "here" if cached_archive(name) else "    "
        say(f"{name:{column}}  {here}  {source.size / 1e6:6.1f} MB  {source.client:3}  {source.what} ({source.terms})")
    say(f"{'digits':{column}}  here     0.0 MB  —    1,797 handwritten digits, 8×8, inside scikit-learn")


@app.command(cls=Command)
def get(names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Data sets, or `all`.")]) -> None:
    """Download data sets, so that training works offline.

    Example: workings data get shakespeare mnist
    """
    from workings.train.data.fetch import archive
    from workings.train.data.sources import SOURCES, source

    wanted = list(SOURCES) if names == ["all"] else names
    for name in wanted:
        _refuse_digits(name)
        source(name)  # an unknown name stops before anything is fetched
    for name in wanted:
        say(str(archive(name)))


@app.command(cls=Command)
def where(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A data set; by default the folder of all of them.")
    ] = None,
) -> None:
    """Print where a data set is stored.

    Example: workings data where mnist
    """
    from workings.errors import WorkingsError
    from workings.train.data.fetch import cached_archive, folder

    if name is None:
        say(str(folder()))
        return
    _refuse_digits(name)
    if (path := cached_archive(name)) is None:
        raise WorkingsError(f"{name} is not downloaded yet: workings data get {name}")
    say(str(path))


@app.command("remove", cls=Command)
def removal(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Data sets to delete from this machine.")],
) -> None:
    """Delete downloaded data sets.

    Example: workings data remove cifar
    """
    from workings.train.data.fetch import remove
    from workings.train.data.sources import source

    for name in names:
        _refuse_digits(name)
        source(name)
    for name in names:
        freed = remove(name)
        say(f"{name}: {freed / 1e6:.1f} MB freed" if freed else f"{name} was not here")


def _refuse_digits(name: str) -> None:
    """They are in the list, but there is no file of ours."""
    from workings.errors import WorkingsError

    if name == "digits":
        raise WorkingsError("digits is a part of scikit-learn: it is always here, and neither fetched nor removed.")
