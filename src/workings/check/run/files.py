"""Which files are meant, and all of them checked: from the cache where it knows them, else by workers.

for result in check_files(["notes.md", "chapters/"]): ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from workings.check.document.options import Options
from workings.check.report.report import Report
from workings.check.run.cache import Cache
from workings.check.run.workers import TIMEOUT, Job, check_job, check_with_workers

_SUFFIXES = (".md", ".tex", ".ipynb", ".txt")
KINDS = {"markdown": ".md", "latex": ".tex", "notebook": ".ipynb", "text": ".txt"}
"""The suffix that stands for each kind of document."""
_WORTH = 40_000
"""Bytes of documents that make another worker worth its start."""


@dataclass(frozen=True)
class Found:
    """The documents that a command line means, and what of it could not be found."""

    jobs: list[Job]
    failures: list[Report]
    skipped: list[str] = field(default_factory=list)
    """Files in the folders that may hold work but no source of it: PDF, images, word processors' files."""


def find(names: Iterable[str]) -> Found:
    """The files, and the documents in the folders; each once, in the order asked for."""
    jobs: dict[str, Job] = {}
    failures, skipped = [], []
    for name in names:
        paths = [name]
        if os.path.isdir(name):
            inside = sorted(_files(name))
            paths = [path for path in inside if path.lower().endswith(_SUFFIXES) and _has_content(path)]
            skipped += [path for path in inside if _is_without_source(path)]
            if not paths:
                failures.append(Report(name, failure=f"The folder {name} has no document ({' '.join(_SUFFIXES)})."))
        elif not os.path.exists(name):
            failures.append(Report(name, failure=f"There is no file {name}."))
            continue
        for path in paths:
            jobs.setdefault(os.path.realpath(path), Job(path, Path(path)))
    return Found(list(jobs.values()), failures, list(dict.fromkeys(skipped)))


def _files(folder: str) -> Iterator[str]:
    """Files below a folder; hidden ones and those of installed packages are not the reader's."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _others(os.path.join(here, name))]
        yield from (os.path.normpath(os.path.join(here, name)) for name in files if not name.startswith("."))


def _is_without_source(path: str) -> bool:
    """Whether a file is of a kind that shows formulas without their source."""
    from workings.check.extract import BINARY

    return path.lower().rpartition(".")[2] in BINARY


def _has_content(path: str) -> bool:
    """An empty file is no document, unless it is named."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _others(folder: str) -> bool:
    name = os.path.basename(folder)
    return name.startswith(".") or name == "node_modules" or os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def check_files(
    names: Iterable[str],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    cache: Cache | None = None,
    progress: TextIO | None = None,
) -> list[Report]:
    """Check files and folders; the results come in the order asked for, what could not be found last."""
    found = find(names)
    return check_jobs(found.jobs, options, jobs=jobs, timeout=timeout, cache=cache, progress=progress) + found.failures


def check_jobs(
    work: list[Job],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    cache: Cache | None = None,
    progress: TextIO | None = None,
) -> list[Report]:
    """Check documents: those that the cache knows at once, the others by as many workers as pay."""
    options = options or Options()
    results: dict[int, Report] = {}
    keys = {i: cache.key(job, options) for i, job in enumerate(work)} if cache else {}
    if cache:
        known = {i: cache.get(key, work[i]) for i, key in keys.items()}
        results |= {i: result for i, result in known.items() if result is not None}
    left = [i for i in range(len(work)) if i not in results]
    tick = bar(len(work), progress)
    todo = [work[i] for i in left]
    for at, result in check_with_workers(todo, options, workers(todo, jobs), timeout, check_job):
        i = left[at]
        results[i] = result
        tick(len(results), result.name)
        if cache and not result.failure and not result.unfinished:
            cache.put(keys[i], work[i], options, result)
    tick(-1, "")
    if cache and left:
        cache.prune()
    return [results[i] for i in range(len(work))]


def workers(work: list[Job], jobs: int | None) -> int:
    """How many processes pay: no more than asked for, than files, than their size is worth."""
    size = sum(job.path.stat().st_size for job in work if job.path.is_file())
    return max(1, min(jobs or os.cpu_count() or 1, len(work), 1 + size // _WORTH))


def bar(files: int, stream: TextIO | None) -> Callable[[int, str], None]:
    """A function that draws how many of the files are done; it draws only on a terminal, and for more than one file."""
    if stream is None or files < 2 or not stream.isatty():
        return lambda done, name: None

    def draw(done: int, name: str) -> None:
        full = 20 * done // files
        stream.write(
            "\r\x1b[K" + (f"{'━' * full}{'─' * (20 - full)} {done}/{files}  {_short_name(name)}" if done >= 0 else "")
        )
        stream.flush()

    return draw


def _short_name(name: str) -> str:
    """The end of a long name, without what would move the cursor."""
    return "".join(c if c.isprintable() else "�" for c in name[-40:])
