"""`workings show`: the worked solution of a function of the library or of your own file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def show(
    what: Annotated[str, typer.Argument(help="A function of the library, or FILE.py:NAME of your own.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=]VALUE", help='Arguments: numbers, "1 0; 0 1", JSON, or a .npy, .csv or .pt file.'),
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="1x3x8", help="A random input of this size (`2x5:int` for tokens)."),
    ] = None,
    backward: Annotated[bool, typer.Option("--backward", help="Add the gradients.")] = False,
    depth: Annotated[
        int, typer.Option(min=1, max=4, help="1 the function, 2 your functions, 3 library modules, 4 fused.")
    ] = 2,
    digits: Annotated[int, typer.Option(min=1, max=50, help="Significant digits of decimals.")] = 4,
    floats: Annotated[bool, typer.Option("--floats", help="Compute with floats instead of exact values.")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Show only this name (repeat for more).")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained page.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of random inputs.")] = 0,
) -> None:
    """Run WHAT and print its worked solution, statement by statement.

    A function in your own file is run as Python runs it: showing a file runs its code.

    \b
    Examples:
      workings show attention Q="1 0; 0 1" K="1 1; 1 0" V="2 0; 0 1"
      workings show attention Q="1 0; 0 1" K="1 1; 1 0" V="2 0; 0 1" --backward
      workings show my.py:attention Q="1 0; 0 1" K=keys.npy V=values.csv --html out.html
      workings show my.py:Net --input 1x1x32x32
    """
    import torch

    from workings.cli.load import load, load_module
    from workings.cli.values import random_input, read_values
    from workings.show import Options
    from workings.show import show as show_work

    torch.manual_seed(seed)
    function = load(what) if ":" in what else library_function(what)
    if isinstance(function, type) and issubclass(function, torch.nn.Module):
        function = load_module(what).eval()
    args, kwargs = read_values(values or [], exact=not floats)
    args += [random_input(size) for size in input or []]
    options = Options(digits=digits, depth=depth, only=frozenset(only or ()))
    work = show_work(function, *args, depth=depth, backward=backward, options=options, **kwargs)
    if html is not None:
        write(html, work.html())
        typer.echo(f"wrote {html}")
    if latex or markdown or json:
        typer.echo(work.latex() if latex else work.markdown() if markdown else work.json())
    elif html is None:
        typer.echo(str_for_terminal(work))
    if work.error is not None:
        raise typer.Exit(2)


def str_for_terminal(work: Any) -> str:
    """Coloured on a terminal, plain when piped."""
    import shutil
    import sys

    terminal = sys.stdout.isatty()
    return str(work.text(width=shutil.get_terminal_size().columns if terminal else 100, colour=terminal))


def library_function(name: str) -> Any:
    """A written-out definition of the library; an unknown name suggests the nearest."""
    import difflib

    from workings.errors import WorkingsError
    from workings.trace.library import FUNCTIONS

    if name in FUNCTIONS:
        return FUNCTIONS[name]
    near = difflib.get_close_matches(name, FUNCTIONS, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(FUNCTIONS))}."
    raise WorkingsError(f"No function of the library is called {name!r}; {hint} Your own: FILE.py:NAME.")


def write(path: Path, text: str) -> None:
    """Write a file whole: to a temporary name first, then renamed."""
    import os

    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        from workings.errors import WorkingsError

        partial.unlink(missing_ok=True)
        raise WorkingsError(f"Could not write {path}: {error.strerror or error}.") from None
