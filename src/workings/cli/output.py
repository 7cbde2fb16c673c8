"""What the verbs print and write: a worked solution on a terminal, a page in a file, plain data as JSON."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import typer

from workings.errors import WorkingsError


def str_for_terminal(work: Any) -> str:
    """Coloured on a terminal, plain when piped."""
    terminal = sys.stdout.isatty()
    return str(work.text(width=shutil.get_terminal_size().columns if terminal else 100, colour=terminal))


def print_work(work: Any, html: Path | None, form: str, before: str = "", after: str = "") -> None:
    """A worked solution as a page, in a form, or as text between two others where neither was asked for."""
    if html is not None:
        write_page(html, work.html())
        typer.echo(f"wrote {html}")
    if form:
        typer.echo(getattr(work, form)())
    elif html is None:
        typer.echo(before + str_for_terminal(work) + after)


def write_page(path: Path, text: str) -> None:
    """Write a page whole; what stands in the way is said."""
    from workings.atomic import write_text

    if path.is_dir():
        raise WorkingsError(f"Could not write {path}: it is a folder. Name a file in it, such as {path / 'work.html'}.")
    write_text(path, text)


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=1, ensure_ascii=False))
