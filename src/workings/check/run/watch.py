"""Check again whenever a document changes: the files' times are looked at every 0.3 s."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from workings.check.run.files import find

_PAUSE = 0.3
"""Seconds between looks."""
CLEAR = "\x1b[2J\x1b[3J\x1b[H"

State = dict[str, tuple[int, int]]


def state(names: Iterable[str]) -> State:
    """When each document was changed, and how large it is; one that is not there has no entry."""
    found: State = {}
    for job in find(names).jobs:
        try:
            facts = os.stat(job.path)
        except OSError:
            continue  # gone since it was found
        found[job.name] = (facts.st_mtime_ns, facts.st_size)
    return found


def watch(names: list[str], report: Callable[[], object], pause: float = _PAUSE) -> None:
    """Report at once and after every change, until Ctrl-C."""
    before: State | None = None
    try:
        while True:
            now = state(names)
            if now != before:
                before = now
                report()
            time.sleep(pause)
    except KeyboardInterrupt:
        return
