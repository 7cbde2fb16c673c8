"""Run everything and write docs/conformance.md: `python conformance/run.py [--jobs 2]`.

The exit status is 1 when fewer entries of PyTorch's operator database pass than before, or when another row fails.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from rich.console import Console
from rich.progress import Progress

from conformance import graphs, models, modules, opinfo, optimizers, programs, report
from conformance.row import Row

ROOT = Path(__file__).resolve().parents[1]
LEAST_PASSES = 560
SUITES = {"models": models, "modules": modules, "programs": programs, "optimizers": optimizers, "graphs": graphs}
PAGE = ROOT / "docs" / "conformance.md"


class Job(NamedTuple):
    """A suite, or one entry of the operator database."""

    suite: str
    entry: str = ""


def jobs() -> list[Job]:
    """Everything there is to run, the long ones first."""
    return [*map(Job, SUITES), *[Job("opinfo", opinfo.name_of(op)) for op in opinfo.entries()]]


def work(job: Job) -> tuple[Job, list[Any]]:
    """Run one job, in a process of its own."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # the database itself calls deprecated functions
    if job.suite != "opinfo":
        return job, list(SUITES[job.suite].rows())
    return job, [opinfo.check(op) for op in opinfo.entries() if opinfo.name_of(op) == job.entry]


def outcomes(processes: int, console: Console) -> Iterator[tuple[Job, list[Any]]]:
    """The jobs as they end, with a progress bar on a terminal."""
    todo = jobs()
    # A fresh process now and then: the values of finished entries are given back.
    pool = multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=60)
    with pool, Progress(console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("conformance", total=len(todo))
        for job, found in pool.imap_unordered(work, todo):
            progress.update(bar, advance=1, description=job.entry or job.suite)
            yield job, found


def failures(found: list[Any], rows: dict[str, list[Row]]) -> list[str]:
    """What makes the run fail, one line each."""
    passes = sum(outcome.status == "pass" for outcome in found)
    lines = [f"{passes} entries of the operator database pass, fewer than {LEAST_PASSES}"] if passes < LEAST_PASSES else []
    for suite, some in rows.items():
        outside = getattr(SUITES[suite], "OUTSIDE", set())
        lines += [f"{suite}: {row.name}: {row.status}: {row.reason}" for row in some if fails(row, outside)]
        lines += [f"{suite}: {name} is in OUTSIDE, but no such row is unsupported" for name in sorted(stale(some, outside))]
    return lines


def fails(row: Row, outside: set[str]) -> bool:
    return row.status != "pass" and not (row.status == "unsupported" and row.name in outside)


def stale(rows: list[Row], outside: set[str]) -> set[str]:
    return outside - {row.name for row in rows if row.status == "unsupported"}


def summary(found: list[Any], rows: dict[str, list[Row]]) -> Iterator[str]:
    """A line for the database and for each suite."""
    counts = Counter(outcome.status for outcome in found)
    yield "operator database: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())
    for suite, some in rows.items():
        statuses = Counter(row.status for row in some)
        worst = max((row.error for row in some if row.status == "pass"), default=0.0)
        yield f"{suite}: {', '.join(f'{n} {s}' for s, n in statuses.most_common())}; largest difference {worst:.0e}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the conformance suites and write docs/conformance.md.")
    parser.add_argument("--jobs", type=int, default=2, help="processes to run at once (2)")
    console = Console()
    found: list[Any] = []
    rows: dict[str, list[Row]] = {suite: [] for suite in SUITES}
    for job, some in outcomes(parser.parse_args().jobs, console):
        (found if job.suite == "opinfo" else rows[job.suite]).extend(some)
    report.write(PAGE, report.page(found, rows))
    for line in summary(found, rows):
        console.print(line, highlight=False, markup=False)
    wrong = failures(found, rows)
    for line in wrong:
        console.print(f"FAILS {line}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Wrote {PAGE.relative_to(ROOT)}.", highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
