"""`workings eval RUN --errors 5`: the mistakes of a classifier, why it makes them, and what a change of a text does."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import torch

from workings.cli.output import print_json, say, write_page
from workings.errors import WorkingsError
from workings.train.capabilities import Classifies, ExplainsWords
from workings.train.evaluation.mistakes import Mistakes, mistakes
from workings.train.evaluation.mistakes_page import page
from workings.train.evaluation.open import check_can
from workings.train.evaluation.preprocess import first_difference
from workings.train.evaluation.words import (
    ARROW,
    apply_edit,
    comparison_table,
    most_similar,
    order_warning,
    shortened,
    signed,
    table,
)
from workings.train.forward_pass import likeliest
from workings.train.recipe import OpenRun
from workings.train.tasks.drawing import shades
from workings.train.text.explain import Explainer

ASK = "A change (such as: good => bad), or nothing to end: "


def print_errors(runs: list[OpenRun], count: int, edit: str | None, html: Path | None, as_json: bool) -> None:
    """The mistakes of one run; then an edit of their texts, or edits line by line with `--edit -`."""
    if len(runs) != 1:
        raise WorkingsError(f"--errors looks at one run; there are {len(runs)}.")
    (run,) = runs
    found = _mistakes_of(run, count)
    explainer = run.recipe.explainer(run) if isinstance(run.recipe, ExplainsWords) else None
    if edit is not None and explainer is None:
        raise WorkingsError(f"--edit changes a text; {run.name} is a run of {run.recipe.name}.")
    if as_json:
        print_json({"run": run.name, **_as_data(found, explainer), **_edits_as_data(found, explainer, edit)})
    else:
        say(f"{run.name}: {found.heading()}")
        say(_of_texts(found, explainer) if found.pictures is None else _of_pictures(found), nl=False)
    if html is not None:
        write_page(html, page(run.name, found, explainer))
        say(f"wrote {html}", err=as_json)
    if explainer is not None and edit is not None and not as_json:
        _ask_for_edits(found, explainer) if edit == "-" else say(_edit_report(found, explainer, edit))


def _mistakes_of(run: OpenRun, count: int) -> Mistakes:
    """Mistakes of a classifier on its test data; another run is refused."""
    check_can(run, Classifies, "--errors")
    assert isinstance(run.recipe, Classifies)
    with torch.no_grad():
        return mistakes(run.recipe.predictions(run), count)


def _of_texts(found: Mistakes, explainer: Explainer | None) -> str:
    """Each text with the words that speak for what it is taken for, and against it, where the recipe knows them."""
    out = ""
    for i, (mistake, text) in enumerate(zip(found.listed, found.texts, strict=True), 1):
        lines = [f"“{shortened(text)}”"]
        if explainer is not None:
            read = explainer.explain(text, mistake.taken)
            lines += [f"margin of {found.classes[mistake.taken]} {signed(read.margin)}; each word's part in it:"]
            lines += [table(read), order_warning(text)]
        out += f"\n{i}. {mistake.describe(found.classes)}\n{indent(chr(10).join(filter(None, lines)), '   ')}\n"
    return out


def _of_pictures(found: Mistakes) -> str:
    """Each picture in shades, with its likeliest classes."""
    assert found.pictures is not None
    out = ""
    for i, (mistake, picture) in enumerate(zip(found.listed, found.pictures, strict=True), 1):
        lines = [shades(picture.unsqueeze(0)), likeliest(torch.tensor(mistake.p), found.classes, most=3)]
        heading = f"{i}. test picture {mistake.number}: {mistake.describe(found.classes)}"
        out += f"\n{heading}\n{indent(chr(10).join(lines), '   ')}\n"
    return out


def _edit_report(found: Mistakes, explainer: Explainer, edit: str) -> str:
    """Before and after of each text that an edit changes; a whole new text is set beside the nearest of them."""
    parts = []
    for i, new in _edits(found, explainer, edit):
        mistake, text = found.listed[i], found.texts[i]
        before, after = (explainer.explain(each, mistake.taken) for each in (text, new))
        taken = found.classes[max(range(len(after.p)), key=after.p.__getitem__)]
        verdict = f"{i + 1}. taken for {found.classes[mistake.taken]}, now for {taken}; it is {found.classes[mistake.truth]}"
        lines = [f"“{shortened(_around(text, new), 160)}”", comparison_table(before, after, found.classes)]
        parts.append(f"{verdict}\n{indent(chr(10).join(lines), '   ')}")
    return f"\nEdit: {shortened(edit, 80)}\n\n" + "\n\n".join(parts)


def _edits(found: Mistakes, explainer: Explainer, edit: str) -> list[tuple[int, str]]:
    """The texts that an edit changes, by their places, as they are after it."""
    if not edit.strip():
        raise WorkingsError("--edit needs a change, such as 'good => bad', or a whole new text.")
    if not found.texts:
        raise WorkingsError("There is no mistake to edit.")
    if not ARROW.search(edit):
        return [(most_similar(found.texts, edit, explainer.cut), edit)]
    new_texts = [(i, new) for i, text in enumerate(found.texts) if (new := apply_edit(text, edit)) is not None]
    if not new_texts:
        raise WorkingsError(f"None of these {len(found.texts)} texts has {ARROW.split(edit)[0].strip()!r}.")
    return new_texts


def _around(old: str, new: str, room: int = 60) -> str:
    """The new text from a little before the first place where it differs."""
    at = first_difference(old, new)
    start = new.rfind(" ", 0, max(0, at - room)) + 1
    return ("… " if start else "") + new[start:]


def _ask_for_edits(found: Mistakes, explainer: Explainer) -> None:
    """Edits from the keyboard, or from lines of a file, until there are no more."""
    while True:
        if sys.stdin.isatty():
            say(ASK, nl=False)
        line = sys.stdin.readline()
        if not line.strip():
            return
        try:
            say(_edit_report(found, explainer, line.strip()))
        except WorkingsError as error:
            say(str(error), err=True)


def _as_data(found: Mistakes, explainer: Explainer | None) -> dict[str, Any]:
    """The mistakes as plain data."""
    rows: list[dict[str, Any]] = []
    for i, mistake in enumerate(found.listed):
        row = {"number": mistake.number, "class": found.classes[mistake.truth], "taken_for": found.classes[mistake.taken]}
        if explainer is not None:
            row |= explainer.explain(found.texts[i], mistake.taken).json(found.classes)
        else:
            row |= {"probabilities": dict(zip(found.classes, mistake.p, strict=True))}
        rows.append(row)
    return {"examples": found.examples, "mistaken": found.total, "errors": rows}


def _edits_as_data(found: Mistakes, explainer: Explainer | None, edit: str | None) -> dict[str, Any]:
    if explainer is None or edit is None:
        return {}
    if edit == "-":
        raise WorkingsError("--edit - is a conversation; with --json name the edit.")
    reads = [(i, explainer.explain(new, found.listed[i].taken)) for i, new in _edits(found, explainer, edit)]
    return {"edits": [{"error": i, **read.json(found.classes)} for i, read in reads]}
