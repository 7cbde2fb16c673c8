"""`workings show`: the worked solution of a function of the library or of your own file."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from workings.cli.output import say


def _print_list(wanted: bool) -> None:
    """Print the names that can be shown and stop."""
    if wanted:
        from workings.cli.arguments.library import listing

        say(listing())
        raise typer.Exit


def show(
    what: Annotated[str, typer.Argument(help="A library function, your own FILE.py:NAME, or a run.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=]VALUE…", help='Arguments: numbers, "1 0; 0 1", JSON, or a .npy, .csv or .pt file.'),
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="1x3x8", help="A random input of this size (`2x5:int`: tokens); for a run, text or a picture."
        ),
    ] = None,
    backward: Annotated[bool, typer.Option("--backward", help="Also show the gradients.")] = False,
    depth: Annotated[
        int, typer.Option(metavar="1…4", help="1: the function, 2: your functions, 3: library modules, 4: fused kernels.")
    ] = 2,
    digits: Annotated[int, typer.Option(metavar="1…50", help="Significant digits of decimals.")] = 4,
    floats: Annotated[bool, typer.Option("--floats", help="Compute with floats instead of exact values.")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Show only this name (repeat for more).")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML page.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="Print LaTeX as a document of its own, ready to compile.")
    ] = False,
    complete: Annotated[
        bool, typer.Option("--complete", help="Print every recorded step: all turns of loops, decorators, checks, settings.")
    ] = False,
    no_checks: Annotated[
        bool, typer.Option("--no-checks", help="Leave out that rules were checked and that the run matches.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of random inputs.")] = 0,
    _list: Annotated[
        bool, typer.Option("--list", callback=_print_list, is_eager=True, help="List the library functions.")
    ] = False,
) -> None:
    """Run WHAT and print its worked solution, statement by statement.

    Showing a function of your own file runs that file.

    \b
    Examples:
      workings show attention Q="1 0; 0 1" K="1 1; 1 0" V="2 0; 0 1"
      workings show attention Q="1 0; 0 1" K="1 1; 1 0" V="2 0; 0 1" --backward
      workings show my.py:attention Q="1 0; 0 1" K=keys.npy V=values.csv --html out.html
      workings show attention Q="1 0; 0 1" K="1 1; 1 0" V="2 0; 0 1" --backward --no-checks --standalone
      workings show my.py:Net --input 1x1x32x32
      workings show runs/shakespeare-1 --input "to be" --html out.html
      workings show --list
    """
    from workings.cli.output import latex_form, one_form
    from workings.show.options import DEEPEST, MOST_DIGITS, Options, check_whole

    check_whole("--depth", depth, 1, DEEPEST)
    check_whole("--digits", digits, 1, MOST_DIGITS)
    options = Options(digits=digits, only=frozenset(only or ()), checks=not no_checks, complete=complete)
    form = one_form(latex=latex_form(latex, standalone, markdown=markdown, json=json), markdown=markdown, json=json)

    from workings.cli.show_run import is_run, show_run

    if is_run(what):
        return show_run(what, input or [], depth, backward, options, html, form, standalone)

    import torch

    from workings.cli.arguments.direct import direct
    from workings.cli.arguments.values import random_input, read_values
    from workings.cli.output import print_work
    from workings.show import show as show_work

    torch.manual_seed(seed)
    with direct():
        function = resolve(what)
        args, kwargs = read_values(values or [], function, exact=not floats)
        args += [random_input(size) for size in input or []]
        _check_arguments(what, function, args, kwargs)
        work = show_work(partial(function, *args, **kwargs), depth=depth, backward=backward, options=options)
        print_work(work, html, form, standalone=standalone)
    if work.error is not None:
        _hint_at_numbers(work.error, values or [])
        _hint_at_whole_numbers(work.error, values or [])
        raise typer.Exit(2)


def resolve(what: str) -> Any:
    """What to show: of the library by its name, of a file by FILE.py:NAME; a class of modules is made without arguments."""
    import torch

    from workings.cli.arguments.library import find
    from workings.cli.arguments.load import load, module_from

    function = load(what) if ":" in what else find(what)
    if not callable(function):
        from workings.errors import WorkingsError

        raise WorkingsError(
            f"{what} is of type {type(function).__name__}; show takes a function, a module or a class of modules."
        )
    is_module = inspect.isclass(function) and issubclass(function, torch.nn.Module)
    return module_from(what, function).eval() if is_module else function


def _check_arguments(what: str, function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Say which arguments are missing or unknown, before anything runs."""
    from workings.errors import WorkingsError

    name = what.rpartition(":")[2]
    try:
        signature = inspect.signature(getattr(function, "forward", function))
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        takes = ", ".join(signature.parameters)
        missing = _missing(signature, args, kwargs)
        if not missing:
            raise WorkingsError(f"{name}({takes}): {error}. Give values as NAME=VALUE, or sizes as --input 2x3.") from None
        given = " ".join(f'{parameter}="1 0; 0 1"' for parameter in missing)
        raise WorkingsError(
            f"{name}({takes}) needs {_listed(missing)} too. Give values as NAME=VALUE, for example {given}, "
            "or sizes as --input 2x3, one for each."
        ) from None


def _missing(signature: inspect.Signature, args: list[Any], kwargs: dict[str, Any]) -> list[str]:
    """The parameters that have no value; none where the arguments do not fit for another reason."""
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return []
    single = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in single if p.default is p.empty and p.name not in bound]


def _listed(names: list[str]) -> str:
    """K and V"""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _hint_at_numbers(error: BaseException, values: list[str]) -> None:
    """A value that was read as one number may be why an attribute or an axis of a tensor was missing."""
    whole = [text for text in values if text.rpartition("=")[2].strip().lstrip("-").isdigit()]
    if whole and (isinstance(error, (AttributeError, TypeError, IndexError)) or "is []" in str(error)):
        text = whole[0]
        name, equals, value = text.rpartition("=")
        say(
            f'{text} was read as one number, which has no axes. For a vector write {name}{equals}"[{value}]", '
            f'for a matrix {name}{equals}"[[{value}]]".',
            err=True,
        )


def _hint_at_whole_numbers(error: BaseException, values: list[str]) -> None:
    """Numbers were needed that are whole by their type, as tokens and classes are: how to write such on a command line."""
    import re

    from workings.cli.arguments.values import is_of_whole_numbers, split

    found = [(name or "NAME", value) for name, marked, value in map(split, values) if not marked]
    found = [(name, value) for name, value in found if is_of_whole_numbers(value)]
    if found and re.search(r"\blong\b|\bint64\b", str(error), re.IGNORECASE):
        name, value = found[-1]
        say(
            "Numbers are read as exact values, or as floats with --floats. For whole numbers (int64), such as tokens and "
            f'classes, write :int after the name, as in {name}:int="{value}".',
            err=True,
        )
