"""Results are kept by content: a document that was checked before, by the same checker, is not checked again.

    key = sha256(checker, kind of file, options, bytes)

An entry is a JSON file in the user's cache folder. One that is damaged counts as none and is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from functools import cache as once
from pathlib import Path

from workings.atomic import replacing
from workings.check.document.options import Options
from workings.check.document.report_data import to_row
from workings.check.report.report import Report
from workings.check.run.workers import Job
from workings.checksum import sha256

_MOST = 2_000
"""Entries that are kept; beyond, the ones that were not used for longest go."""
LARGEST = 32 << 20
"""Bytes of a document that is worth an entry."""
_STALE = 3600.0
"""Seconds after which a file that was never finished is rubbish."""


def folder() -> Path:
    """Where results are kept: `workings/check` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "workings" / "check"


@once
def checker_version() -> str:
    """A checksum of the checker's own source: another checker may say something else."""
    here = Path(__file__).parents[1]
    files = sorted(here.rglob("*.py"))
    return sha256(b"".join(str(path.relative_to(here)).encode() + b"\0" + path.read_bytes() + b"\0" for path in files))


class Cache:
    """The results in a folder."""

    def __init__(self, place: Path | None = None, most: int = _MOST) -> None:
        self.place = place or folder()
        self.most = most

    def key(self, job: Job, options: Options) -> str:
        """What a document's result depends on, as a checksum; empty for one that is not kept."""
        try:
            if not job.path.is_file() or job.path.stat().st_size > LARGEST:
                return ""
            content = job.path.read_bytes()
        except OSError:
            return ""
        facts = f"{checker_version()}\0{job.path.suffix.lower()}\0{options}\0".encode()
        return sha256(facts + content)

    def get(self, key: str, job: Job) -> Report | None:
        """The result of an earlier run, if there is one."""
        path = self.place / f"{key}.json"
        try:
            found = Report.from_row(job.name, json.loads(path.read_text(encoding="utf-8")), _source_of(job)) if key else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it was used now
        return found

    def put(self, key: str, job: Job, options: Options, result: Report) -> None:
        """Keep a result, written aside and renamed. A folder that cannot be written keeps nothing."""
        if not key or self.key(job, options) != key:  # it was changed while it was checked
            return
        with contextlib.suppress(OSError):
            self.place.mkdir(parents=True, exist_ok=True)
            with replacing(self.place / f"{key}.json") as partial:
                partial.write_text(json.dumps(to_row(result, _source_of(job))), encoding="utf-8")

    def prune(self) -> None:
        """Delete the entries beyond `most` that were not used for longest, and what was never finished."""
        with contextlib.suppress(OSError):
            entries = sorted(self.place.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in entries[self.most :]:
                path.unlink(missing_ok=True)
            for path in self.place.glob(".*.partial"):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink(missing_ok=True)


def _source_of(job: Job) -> str:
    """The text of a file, as it stands there; empty where it has none."""
    try:
        return job.path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
