"""`workings check`: find the wrong line in a worked solution."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workings.cli.output import say, say_json

if TYPE_CHECKING:
    from workings.check.report.explain import Line
    from workings.check.report.report import Report
    from workings.check.run.workers import Job

_STDIN = "<stdin>"


Level = StrEnum("Level", "error likely note possible")
"""How sure a finding must be."""
Kind = StrEnum("Kind", "markdown latex text notebook")
"""Format of standard input."""


def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE…", help="Documents, folders of documents, or - for standard input.")
    ] = None,
    level: Annotated[
        Level, typer.Option(help="Least certain level to list; a listed finding makes the exit status 1.")
    ] = Level.likely,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML page.")] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0, for editors and CI.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a table of the files, for a spreadsheet.")] = None,
    undecided: Annotated[
        bool, typer.Option("--undecided", help="Also list the claims that were not decided, and why.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="FILE:LINE", help="Print how one line was read: roles, values, outcomes.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a file changes; stop with Ctrl-C.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also list unread formulas, how every relation was read, counts by file.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what could not be checked.")] = False,
    kind: Annotated[Kind, typer.Option(help="Format of standard input.")] = Kind.markdown,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes (default: one per core).")] = None,
    timeout: Annotated[float, typer.Option(min=0.01, help="Time limit per file, in seconds.")] = 60,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore cached results.")] = False,
    run_code: Annotated[
        bool, typer.Option("--run-code", help="Run code listings; by default they are only parsed.")
    ] = False,
) -> None:
    """Check the claims of worked solutions: numbers, matrices, shapes, derivatives.

    Reads Markdown, LaTeX, plain text and notebooks (.md .tex .txt .ipynb). Exit status: 0 if nothing was found, 1 if
    something was, 2 if a file could not be checked.

    \b
    Examples:
      workings check notes.md
      workings check notes.md --undecided --verbose
      workings check --explain notes.md:12
      workings check homework/ --level error --html report.html --csv table.csv
      workings check homework/ --sarif report.sarif --jobs 2 --timeout 10 --no-cache
      workings check notes.md --json --run-code
      workings check notes.md --watch --quiet --html report.html
      cat notes.tex | workings check - --kind latex
    """
    asked = _read_explain(explain, files or [])
    request = _Request(
        [asked.file] if asked is not None else files or [],
        _Form(level.value, json, verbose, undecided, quiet, asked),
        _Outputs(html, sarif, csv),
        _How(kind.value, jobs, timeout, not no_cache, run_code),
    )
    _check_request(request)
    if watch:
        _watch_files(request)
        return
    try:
        status = request.report()
    except KeyboardInterrupt:
        status = 130
    raise typer.Exit(status)


@dataclass(frozen=True)
class _Form:
    """What is printed."""

    level: str
    json: bool
    verbose: bool
    undecided: bool
    quiet: bool
    explain: Line | None


@dataclass(frozen=True)
class _Outputs:
    """The files that are written."""

    html: Path | None
    sarif: Path | None
    csv: Path | None


@dataclass(frozen=True)
class _How:
    """How documents are checked."""

    kind: str
    jobs: int | None
    timeout: float
    cache: bool
    run_code: bool


@dataclass(frozen=True)
class _Request:
    """The command line, read."""

    files: list[str]
    form: _Form
    outputs: _Outputs
    how: _How

    def report(self, clear: str = "") -> int:
        """Check, write and print; the result is the exit status."""
        from time import perf_counter

        start = perf_counter()
        results, skipped = self.results()
        self.write_files(results, skipped)
        if clear:
            typer.echo(clear, nl=False)
        self.print_report(results, skipped, perf_counter() - start)
        if any(result.failure or result.unfinished for result in results):
            return 2
        return int(self.form.explain is None and any(result.findings(self.form.level) for result in results))

    def results(self) -> tuple[list[Report], list[str]]:
        """Everything checked: the files, then standard input, then what could not be found; and what has no source."""
        from workings.check.document.options import Options
        from workings.check.run.cache import Cache
        from workings.check.run.files import check_jobs, find

        found = find([name for name in self.files if name != "-"])
        with _standard_input(self.how.kind if "-" in self.files else None) as more:
            results = check_jobs(
                [*found.jobs, *more],
                Options(run_code=self.how.run_code),
                jobs=self.how.jobs,
                timeout=self.how.timeout,
                cache=Cache() if self.how.cache else None,
                progress=sys.stderr,
            )
        return [*results, *found.failures], found.skipped

    def write_files(self, results: list[Report], skipped: list[str]) -> None:
        """The files that were asked for."""
        from workings.atomic import write_text

        if self.outputs.html is not None:
            from workings.check.report.html import html

            write_text(self.outputs.html, html(results, self.form.level, skipped))
        if self.outputs.sarif is not None:
            from workings.check.report.sarif import sarif

            write_text(self.outputs.sarif, sarif(results, self.form.level))
        if self.outputs.csv is not None:
            from workings.check.report.by_file import csv_form

            write_text(self.outputs.csv, csv_form(results))

    def print_report(self, results: list[Report], skipped: list[str], seconds: float) -> None:
        """The report, then on standard error what could not be checked; the time only on a terminal."""
        from workings.check.report.text import Style, failures, skipped_text, text

        form = self.form
        if form.json:
            from workings.check.report.json_form import json_form

            say_json(json_form(results, form.level, skipped))
        elif not form.quiet:
            width, colour, terminal = _screen()
            style = Style(width, colour, form.level, form.verbose, form.undecided, seconds if terminal else None)
            said = text(results, style)
            if form.explain is not None and not results[0].failure:
                from workings.check.report.explain import explain

                said = explain(results[0], form.explain, style)
            say(said, coloured=colour)
        for said in filter(None, [failures(results), skipped_text(skipped)]):
            say(said, err=True)


def _read_explain(explain: str | None, files: list[str]) -> Line | None:
    """The line that is to be explained."""
    from workings.errors import WorkingsError

    if explain is None:
        if not files:
            raise typer.BadParameter("name a document, a folder, or - for standard input.", param_hint="FILE…")
        return None
    from workings.check.report.explain import read_line

    if files:
        raise WorkingsError(f"--explain names its own file ({explain}); leave out {' '.join(files)}.")
    return read_line(explain)


def _check_request(request: _Request) -> None:
    """Refuse what does not go together, before anything is checked."""
    from workings.errors import WorkingsError

    asked = [path for path in vars(request.outputs).values() if path is not None]
    if len(set(asked)) < len(asked):
        raise WorkingsError(f"Two reports would be written to {max(asked, key=asked.count)}: give each a file of its own.")
    line = request.form.explain
    if line is not None and (request.form.json or os.path.isdir(line.file)):
        what = "prints text, not --json" if request.form.json else f"needs one file, and {line.file} is a folder"
        raise WorkingsError(f"--explain {what}.")
    documents = {os.path.realpath(name) for name in request.files if os.path.isfile(name)}
    for path in asked:
        if os.path.realpath(path) in documents:
            raise WorkingsError(f"{path} is a document to check: a report would overwrite it. Write to another file.")


def _screen() -> tuple[int, bool, bool]:
    """Columns, whether there are colours, whether it is a terminal at all."""
    import shutil

    terminal = sys.stdout.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size((100, 24)).columns if terminal else 100, colour, terminal


@contextmanager
def _standard_input(kind: str | None) -> Iterator[list[Job]]:
    """Standard input as a file for the workers, while they need it; none without a kind."""
    if kind is None:
        yield []
        return
    from tempfile import TemporaryDirectory

    from workings.check.run.files import KINDS
    from workings.check.run.workers import Job

    with TemporaryDirectory(prefix="workings-") as folder:
        path = Path(folder) / f"stdin{KINDS[kind]}"
        path.write_bytes(sys.stdin.buffer.read())
        yield [Job(_STDIN, path)]


def _watch_files(request: _Request) -> None:
    """Report on every change, until Ctrl-C."""
    from workings.check.run.watch import CLEAR, watch
    from workings.errors import WorkingsError

    if "-" in request.files or request.form.json:
        what = "standard input" if "-" in request.files else "--json"
        raise WorkingsError(f"--watch reports on files again and again, which {what} is not for.")
    terminal = sys.stdout.isatty()

    def report() -> None:
        try:
            request.report(CLEAR if terminal else "")
        except WorkingsError as error:
            say(str(error), err=True)  # it may be written at the next change
        if terminal:
            say("watching; stop with Ctrl-C", err=True)

    watch(request.files, report)
