"""What the verbs print and write: a worked solution on a terminal, a page in a file, plain data as JSON.

Everything that is printed goes through `say` or `say_json`: it may hold data, and data cannot move the cursor, rename the
window or turn the direction of writing.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import typer

from workings.control import plain, plain_json
from workings.errors import WorkingsError

_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")


def say(text: str = "", *, err: bool = False, nl: bool = True, coloured: bool = False) -> None:
    """Print words without their control characters; `coloured` words, which a printer made, keep their colours."""
    parts = _COLOUR.split(text) if coloured else [text]
    typer.echo("".join(part if i % 2 else plain(part) for i, part in enumerate(parts)), err=err, nl=nl)


def say_json(written: str) -> None:
    """Print JSON."""
    typer.echo(plain_json(written))


def str_for_terminal(work: Any) -> str:
    """Coloured on a terminal, plain when piped."""
    terminal = sys.stdout.isatty()
    return str(work.text(width=shutil.get_terminal_size().columns if terminal else 100, colour=terminal))


def print_work(work: Any, html: Path | None, form: str, before: str = "", after: str = "", standalone: bool = False) -> None:
    """A worked solution as a page, in a form, or as text between two others where neither was asked for."""
    if html is not None:
        write_page(html, work.html())
        say(f"wrote {html}")
    if form == "json":
        say_json(work.json())
    elif form:
        say(work.latex(standalone=standalone) if form == "latex" else getattr(work, form)())
    elif html is None:
        say(plain(before) + str_for_terminal(work) + plain(after), coloured=True)


def one_form(**asked: bool) -> str:
    """The form to print, if one was asked for; two do not go to one place.

    >>> one_form(latex=True, json=False)
    'latex'
    """
    forms = [name for name, wanted in asked.items() if wanted]
    if len(forms) > 1:
        names = " and ".join(f"--{name}" for name in forms)
        raise WorkingsError(f"One form is printed, but {names} were asked for; run once for each, or add --html FILE.")
    return forms[0] if forms else ""


def latex_form(latex: bool, standalone: bool, **others: bool) -> bool:
    """Whether LaTeX is asked for, by its name or as a document of its own; nothing else is made a document of.

    >>> latex_form(False, True, markdown=False), latex_form(False, False, markdown=True)
    (True, False)
    """
    other = next((name for name, wanted in others.items() if wanted), None)
    if standalone and other:
        raise WorkingsError(f"--standalone makes a document of LaTeX; --{other} needs none.")
    return latex or standalone


def write_page(path: Path, text: str) -> None:
    """Write a page whole; what stands in the way is said."""
    from workings.atomic import write_text

    if path.is_dir():
        raise WorkingsError(f"Could not write {path}: it is a folder. Name a file in it, such as {path / 'work.html'}.")
    write_text(path, text)


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def print_json(data: Any) -> None:
    say_json(json.dumps(data, indent=1, ensure_ascii=False))
