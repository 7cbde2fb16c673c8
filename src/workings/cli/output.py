"""What the verbs print and write: a worked solution on a terminal, a page in a file, plain data as JSON."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import typer

from workings.errors import WorkingsError


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print words that may hold data: names, texts and predictions cannot move the cursor or colour the terminal."""
    from workings.show.write.block import plain

    typer.echo(plain(text), err=err, nl=nl)


def str_for_terminal(work: Any) -> str:
    """Coloured on a terminal, plain when piped."""
    terminal = sys.stdout.isatty()
    return str(work.text(width=shutil.get_terminal_size().columns if terminal else 100, colour=terminal))


def print_work(work: Any, html: Path | None, form: str, before: str = "", after: str = "", standalone: bool = False) -> None:
    """A worked solution as a page, in a form, or as text between two others where neither was asked for."""
    if html is not None:
        write_page(html, work.html())
        typer.echo(f"wrote {html}")
    if form:
        typer.echo(work.latex(standalone=standalone) if form == "latex" else getattr(work, form)())
    elif html is None:
        typer.echo(before + str_for_terminal(work) + after)


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
    written = json.dumps(data, indent=1, ensure_ascii=False)
    typer.echo(re.sub("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", lambda c: f"\\u{ord(c[0]):04x}", written))
