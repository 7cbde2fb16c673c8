"""`workings eval`: the figures of finished runs, on their test data or on any text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workings.cli.command import Command
from workings.cli.output import print_json, say
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.train.recipe import OpenRun


def evaluate(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Folders written by `workings train`.")],
    text: Annotated[list[str] | None, typer.Option(help="A text for language models (repeatable).")] = None,
    preprocess: Annotated[
        str | None, typer.Option(help="Steps for the text: lower, digits, numbers, punctuation, apart, accents, spaces.")
    ] = None,
    errors: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="sentiment, digits: list N mistakes, with the contribution of each word."),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option(
            metavar="[TEXT]",
            help="With --errors: compare with an edit, 'good => bad' or a whole new text; without a value, ask for edits.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="With --errors: write them to an HTML page.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Evaluate runs on their test data, or language models on texts.

    \b
    Examples:
        workings eval runs/digits-1
        workings eval runs/shakespeare-1 runs/bigram-1 --text a.txt --text b.txt
        workings eval runs/shakespeare-1 --text a.txt --preprocess lower,digits
        workings eval runs/digits-1 --errors 5 --html mistakes.html
        workings eval runs/sentiment-1 --errors 5 --edit "great => awful"
        workings eval runs/sentiment-1 --errors 5 --edit
    """
    from workings.cli.evaluate_errors import print_errors
    from workings.train.evaluation.open import open_run

    if errors is None and (edit is not None or html is not None):
        raise WorkingsError(f"{'--edit' if edit is not None else '--html'} goes with --errors N.")
    if errors is not None and (text or preprocess is not None):
        raise WorkingsError(f"--errors looks at the test data; leave out {'--text' if text else '--preprocess'}.")
    found = [open_run(run) for run in dict.fromkeys(runs)]
    if errors is not None:
        print_errors(found, errors, edit, html, json)
    elif preprocess is not None:
        _print_steps(found, text or [], preprocess, json)
    elif text:
        _print_texts(found, text, json)
    else:
        _print_figures(found, json)


class EvalCommand(Command):
    """The command, which takes an `--edit` that stands alone for `--edit -`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        after = [*args[1:], "--"]  # one longer than no words at all
        alone = [word == "--edit" and following.startswith("--") for word, following in zip(args, after, strict=False)]
        args = [part for word, bare in zip(args, alone, strict=True) for part in ([word, "-"] if bare else [word])]
        return super().parse_args(ctx, args)


def _print_figures(found: list[OpenRun], as_json: bool) -> None:
    """Each run on its own test data."""
    import torch

    from workings.train.capabilities import Classifies
    from workings.train.evaluation.figures import confusion_of, figures, lines, matrix

    rows: list[dict[str, Any]] = []
    for one in found:
        row: dict[str, Any] = {"run": one.name, "recipe": one.recipe.name, "step": one.step, "figures": figures(one)}
        for name in one.changed_data():
            say(f"{one.name}: the data {name} is not what it was trained with.", err=True)
        said = [f"{one.name} ({one.recipe.name}), best at step {one.step:,}", *lines(row["figures"], one.recorded)]
        if isinstance(one.recipe, Classifies):
            with torch.no_grad():
                predictions = one.recipe.predictions(one)
            C, classes = confusion_of(predictions), list(predictions.classes)
            row |= {"classes": classes, "confusion": C.tolist()}
            said += ["", "rows: the class, columns: what it is taken for", matrix(C, classes)]
        rows.append(row)
        if not as_json:
            say("\n".join(said))
    if as_json:
        print_json({"runs": rows})


def _print_texts(found: list[OpenRun], texts: list[str], as_json: bool) -> None:
    """Language models by texts."""
    from workings.train.data.texts import text as read
    from workings.train.evaluation.comparison import comparison, details, legend, warnings
    from workings.train.evaluation.open import language_of
    from workings.train.text.language import measure

    languages = {one.name: language_of(one, "--text") for one in found}
    contents = {name: read(name) for name in texts}
    table = {
        run: {name: measure(language, content, name) for name, content in contents.items()}
        for run, language in languages.items()
    }
    if as_json:
        rows = [{"run": run, "texts": {name: m.json() for name, m in row.items()}} for run, row in table.items()]
        return print_json({"runs": rows, "warnings": warnings(table)})
    say(details(table))
    if len(table) > 1:
        say(f"\n{comparison(table)}")
    if signs := legend(table):
        say(f"\n{signs}")
    for warning in warnings(table):
        say(warning, err=True)


def _print_steps(found: list[OpenRun], texts: list[str], names: str, as_json: bool) -> None:
    """One language model on one text, before and after each step."""
    from workings.train.data.texts import text as read
    from workings.train.evaluation.open import language_of
    from workings.train.evaluation.preprocess import WARNING, as_text, parse_steps, preprocess

    wanted = parse_steps(names)
    if len(found) != 1 or len(texts) != 1:
        raise WorkingsError(f"--preprocess follows one run on one --text; there are {len(found)} and {len(texts)}.")
    steps = preprocess(language_of(found[0], "--preprocess"), read(texts[0]), wanted, texts[0])
    if not as_json:
        return say(as_text(steps))
    rows = [{"step": s.name, "before": s.before, "after": s.after, **s.figures.json()} for s in steps]
    print_json({"run": found[0].name, "text": texts[0], "steps": rows, "warnings": [WARNING]})
