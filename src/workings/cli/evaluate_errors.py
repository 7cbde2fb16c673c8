"""`workings eval RUN --errors 5`: the mistakes of a classifier, why it makes them, and what a change of a text does."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import typer

from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.train.evaluation.mistakes import Mistakes
    from workings.train.evaluation.opened import Opened
    from workings.train.evaluation.words import Reader

ASK = "A change (such as: good => bad), or nothing to end: "


def print_errors(found: list[Opened], count: int, edit: str | None, html: Path | None, as_json: bool) -> None:
    """The mistakes of one run; then an edit of their texts, or edits line by line with `--edit -`."""
    from workings.train.evaluation.mistakes import mistakes
    from workings.train.evaluation.words import Reader

    if len(found) != 1:
        raise WorkingsError(f"--errors looks at one run; there are {len(found)}.")
    some = mistakes(found[0], count)
    reader = Reader.of(found[0]) if some.pictures is None else None
    if edit is not None and reader is None:
        raise WorkingsError(f"--edit changes a text; {found[0].name} is a run of {found[0].recipe.name}.")
    if as_json:
        from workings.cli.evaluate import print_json

        print_json({"run": found[0].name, **as_data(some, reader), **edited_data(some, reader, edit)})
    else:
        typer.echo(f"{found[0].name}: {some.heading()}")
        typer.echo(of_pictures(some) if reader is None else of_texts(some, reader), nl=False)
    if html is not None:
        from workings.cli.show import write
        from workings.train.evaluation.mistakes_page import page

        write(html, page(found[0].name, some, reader))
        typer.echo(f"wrote {html}", err=as_json)
    if reader is not None and edit is not None and not as_json:
        converse(some, reader) if edit == "-" else typer.echo(edited(some, reader, edit))


def of_texts(some: Mistakes, reader: Reader) -> str:
    """Each text with the words that speak for what it is taken for, and against it."""
    from workings.train.evaluation.words import shortened, signed, table, turns

    out = ""
    for i, (mistake, text) in enumerate(zip(some.some, some.texts, strict=True), 1):
        read = reader.read(text, mistake.taken)
        lines = [
            f"“{shortened(text)}”",
            f"margin of {some.classes[mistake.taken]} {signed(read.margin)}; each word's part in it:",
        ]
        lines += [table(read), turns(text)]
        out += f"\n{i}. {mistake.told(some.classes)}\n{indent(chr(10).join(filter(None, lines)), '   ')}\n"
    return out


def of_pictures(some: Mistakes) -> str:
    """Each picture in shades, with its likeliest classes."""
    from workings.train.recipes.drawing import shades

    assert some.pictures is not None
    out = ""
    for i, (mistake, picture) in enumerate(zip(some.some, some.pictures, strict=True), 1):
        lines = [shades(picture.unsqueeze(0)), likeliest(mistake.p, some.classes)]
        heading = f"{i}. test picture {mistake.number}: {mistake.told(some.classes)}"
        out += f"\n{heading}\n{indent(chr(10).join(lines), '   ')}\n"
    return out


def likeliest(p: Any, classes: Any, most: int = 3) -> str:
    """
    >>> likeliest((0.1, 0.6, 0.3), "abc", most=2)
    'b 60.0%, c 30.0%'
    """
    order = sorted(range(len(p)), key=lambda k: -p[k])[:most]
    return ", ".join(f"{classes[k]} {p[k]:.1%}" for k in order)


def edited(some: Mistakes, reader: Reader, edit: str) -> str:
    """Before and after of each text that an edit changes; a whole new text is set beside the nearest of them."""
    from workings.train.evaluation.words import beside, shortened

    parts = []
    for i, new in edits(some, edit):
        mistake, text = some.some[i], some.texts[i]
        before, after = (reader.read(each, mistake.taken) for each in (text, new))
        taken = some.classes[max(range(len(after.p)), key=after.p.__getitem__)]
        verdict = f"{i + 1}. taken for {some.classes[mistake.taken]}, now for {taken}; it is {some.classes[mistake.truth]}"
        lines = [f"“{shortened(around(text, new), 160)}”", beside(before, after, some.classes)]
        parts.append(f"{verdict}\n{indent(chr(10).join(lines), '   ')}")
    return f"\nEdit: {shortened(edit, 80)}\n\n" + "\n\n".join(parts)


def edits(some: Mistakes, edit: str) -> list[tuple[int, str]]:
    """The texts that an edit changes, by their places, as they are after it."""
    from workings.train.evaluation.words import ARROW, changed, nearest

    if not edit.strip():
        raise WorkingsError("--edit needs a change, such as 'good => bad', or a whole new text.")
    if not some.texts:
        raise WorkingsError("There is no mistake to edit.")
    if not ARROW.search(edit):
        return [(nearest(some.texts, edit), edit)]
    found = [(i, new) for i, text in enumerate(some.texts) if (new := changed(text, edit)) is not None]
    if not found:
        raise WorkingsError(f"None of these {len(some.texts)} texts has {ARROW.split(edit)[0].strip()!r}.")
    return found


def around(old: str, new: str, room: int = 60) -> str:
    """The new text from a little before the first place where it differs."""
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = new.rfind(" ", 0, max(0, at - room)) + 1
    return ("… " if start else "") + new[start:]


def converse(some: Mistakes, reader: Reader) -> None:
    """Edits from the keyboard, or from lines of a file, until there are no more."""
    while True:
        if sys.stdin.isatty():
            typer.echo(ASK, nl=False)
        line = sys.stdin.readline()
        if not line.strip():
            return
        try:
            typer.echo(edited(some, reader, line.strip()))
        except WorkingsError as error:
            typer.echo(str(error), err=True)


def as_data(some: Mistakes, reader: Reader | None) -> dict[str, Any]:
    """The mistakes as plain data."""
    rows: list[dict[str, Any]] = []
    for i, mistake in enumerate(some.some):
        row = {"number": mistake.number, "class": some.classes[mistake.truth], "taken_for": some.classes[mistake.taken]}
        if reader is not None:
            row |= reader.read(some.texts[i], mistake.taken).json(some.classes)
        else:
            row |= {"probabilities": dict(zip(some.classes, mistake.p, strict=True))}
        rows.append(row)
    return {"examples": some.examples, "mistaken": some.total, "errors": rows}


def edited_data(some: Mistakes, reader: Reader | None, edit: str | None) -> dict[str, Any]:
    if reader is None or edit is None:
        return {}
    if edit == "-":
        raise WorkingsError("--edit - is a conversation; with --json name the edit.")
    reads = [(i, reader.read(new, some.some[i].taken)) for i, new in edits(some, edit)]
    return {"edits": [{"error": i, **read.json(some.classes)} for i, read in reads]}
