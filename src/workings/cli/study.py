"""`workings study`: run a claim of the course, or one of your own, with its negative controls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from workings.cli.command import check_option
from workings.cli.output import one_form, option, say, say_json, write_page
from workings.cli.study_help import FLAGS, VALUES, listed, manual
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.studies.definition import Study
    from workings.studies.result import Result

_OWN = frozenset({*FLAGS, *VALUES})


def study(context: typer.Context) -> None:
    """Run a claim of the course, or one of your own, as an experiment that can fail.

    \b
    Examples:
      workings study root-d
      workings study key-noise --sigma 0.2 --html key-noise.html
    """
    words = list(context.args)
    name = words.pop(0) if words and not words[0].startswith("-") else ""
    if not name and (not words or {"--help", "-h"} & {*words}):
        say(manual())
        return
    made = _find(name) if name else None
    given = _read(words, made)
    if given.get("help"):
        say(manual(made))
    elif made is None:
        _without_name(given)
    else:
        _run_one(made, given)


def _without_name(given: dict[str, Any]) -> None:
    if "new" in given:
        _write_new(given["new"])
    elif "list" in given:
        say(listed(given.get("row")))
    elif "all" in given:
        _run_all(given)
    else:
        raise WorkingsError("Name a study, such as root-d, or add --list or --all. Example: workings study root-d")


def _find(name: str) -> Study:
    """A study of the course by its name, or the user's own: FILE.py:NAME."""
    from workings.studies.definition import Study

    if ":" in name:
        from workings.cli.arguments.load import load

        found = load(name)
        if not isinstance(found, Study):
            raise WorkingsError(
                f"{name} is no study: decorate the function with @study(), as `workings study --new NAME` shows."
            )
        return found
    from workings.studies.index import entry_of

    return entry_of(name).load()


# ---- options
def _read(words: Sequence[str], made: Study | None) -> dict[str, Any]:
    """The options on the command line: this command's own, and the parameters of the study."""
    parameters = made.parameters if made else {}
    known = [*map(option, _OWN), *map(option, parameters)]
    given: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        flag = "--help" if flag == "-h" else flag
        if not flag.startswith("--"):
            raise WorkingsError(f"workings study takes one study and options; {word!r} is one word too many.")
        check_option(flag, known, "workings study" + (f" {made.name}" if made else ""))
        name = flag[2:].replace("-", "_")
        if name in FLAGS or (name in parameters and parameters[name].kind is bool and not equals):
            given[name] = True
            continue
        if not equals:
            if not rest:
                choices = " | ".join(repr(one) for one in parameters[name].choices if one) if name in parameters else ""
                raise WorkingsError(f"{flag} needs a value" + (f": {choices}." if choices else "."))
            value = rest.pop(0)
        given[name] = _typed(value, parameters[name]) if name in parameters else value
    return given


def _typed(text: str, parameter: Any) -> Any:
    """A value of the parameter's type; one that is not comes as text, and is refused with what is needed."""
    if parameter.kind is bool:
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if parameter.kind in (int, float):
        with suppress(ValueError):
            return int(text.replace(",", "").replace("_", ""))
        with suppress(ValueError):
            return float(text)
    return text


# ---- running
def _run_one(made: Study, given: dict[str, Any]) -> None:
    from workings.studies.claim import Verdict

    for name in ("all", "list", "new", "row"):
        if name in given:
            raise WorkingsError(f"{option(name)} goes without the name of a study.")
    form = one_form(markdown="markdown" in given, latex=bool({"latex", "standalone"} & {*given}), json="json" in given)
    if "html" in given and not Path(given["html"]).parent.is_dir():
        raise WorkingsError(f"Could not write {given['html']}: there is no folder {Path(given['html']).parent}.")
    result, known = _result(made, given)
    if "html" in given:
        write_page(Path(given["html"]), result.html())
        say(f"wrote {given['html']}", err=True)
    if "pictures" in given:
        _write_pictures(Path(given["pictures"]), result)
    _print(result, form, standalone="standalone" in given, quiet="html" in given and not form)
    if known:
        say("(from an earlier run with the same parameters and code; --fresh runs it again)", err=True)
    broken = bool(result.settings["broken"])
    if (result.verdict is Verdict.FAILS) != broken:
        raise typer.Exit(1)


def _result(made: Study, given: dict[str, Any]) -> tuple[Result, bool]:
    from workings.studies.running.cache import cached_run

    parameters = {name: value for name, value in given.items() if name not in _OWN}
    try:
        return cached_run(
            made, parameters, thorough="thorough" in given, controls="no_control" not in given, fresh="fresh" in given
        )
    except KeyboardInterrupt:
        say("Stopped; nothing was kept of it.", err=True)
        raise typer.Exit(130) from None


def _print(result: Result, form: str, *, standalone: bool, quiet: bool) -> None:
    import shutil
    import sys

    if form == "latex":
        say(result.latex(standalone=standalone))
    elif form == "json":
        say_json(result.json())
    elif form:
        say(getattr(result, form)())
    elif quiet:
        say(f"{result.name}: {result.verdict}")
    else:
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else 100
        say(result.text(width=width, colour=terminal), coloured=True)


def _run_all(given: dict[str, Any]) -> None:
    """Every study, or those about a row, one after the other; what was run before is not run again, so it can go on."""
    from workings.studies.claim import Verdict
    from workings.studies.index import about_row, entries
    from workings.studies.report.book import write_book, write_study

    chosen = about_row(given["row"]) if "row" in given else [*entries().values()]
    if not chosen:
        raise WorkingsError(f"No study is about {given['row']}. `workings study --list` lists them.")
    folder = Path(given["html"]) if "html" in given else None
    if folder is not None and folder.suffix == ".html":
        raise WorkingsError(f"--all writes a folder of pages: --html {folder.with_suffix('')}/")
    results = []
    for i, entry in enumerate(chosen):
        result, known = _result(entry.load(), given)
        results.append(result)
        if folder is not None:
            write_study(folder, result)
        took = "kept" if known else f"{result.seconds:.1f} s"
        say(f"{i + 1:3}/{len(chosen)}  {result.verdict:9}  {result.name:28} {took:>8}  {result.title}")
    if folder is not None:
        say(f"wrote {write_book(folder, results)}")
    failed = [result.name for result in results if result.verdict is Verdict.FAILS]
    if failed:
        say(f"{len(failed)} of {len(results)} fail: {', '.join(failed)}")
        raise typer.Exit(1)


def _write_pictures(folder: Path, result: Result) -> None:
    """Each picture as SVG and PNG."""
    from workings.atomic import replacing, write_text
    from workings.studies.pictures.draw import png, svg
    from workings.studies.pictures.kinds import PICTURES

    os.makedirs(folder, exist_ok=True)
    pictures = [part for part in result.parts if isinstance(part, PICTURES)]
    for i, picture in enumerate(pictures):
        path = folder / f"{result.name}-{i + 1}"
        write_text(path.with_suffix(".svg"), svg(picture))
        with replacing(path.with_suffix(".png")) as partial:
            partial.write_bytes(png(picture))
    say(f"wrote {len(pictures)} pictures to {folder}", err=True)


# ---- a new one
def _write_new(name: str) -> None:
    from workings.atomic import write_text
    from workings.studies.running.skeleton import skeleton

    path = Path(f"{name.replace('-', '_')}.py")
    if path.exists():
        raise WorkingsError(f"{path} is there already; choose another name, or delete it first.")
    write_text(path, skeleton(name))
    say(f"wrote {path}. Run it: workings study {path}:{path.stem}")
