"""Python listings that a reader asks to be run, in a process of their own with limits of time and memory.

All listings of a document run one after the other, as in a notebook, in an empty directory. One that raises is reported and
left out, and the others run again without it. What they print is not compared with anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from workings.check.argument.argument import Argument
from workings.check.document.document import Listing
from workings.check.knowledge.listings import Source, python_tree

SECONDS = 5
"""Seconds that the listings of a document may take."""
_MEMORY = 1 << 30
"""Bytes of memory that they may write to."""
_WRITTEN = 16 << 20
"""Bytes that they may write to a file."""
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
"""The numbers by which Linux knows a network and users of one's own."""
_TOTAL = 30.0
"""Seconds for all runs of one document."""
_FRAME = re.compile(r'File "[^"\n]*listings\.py", line (\d+)')
_MISSING = ("ModuleNotFoundError", "ImportError", "NameError", "FileNotFoundError", "EOFError", "PermissionError", "OSError")
"""What a reader's machine lacks, or what an excerpt leaves out, is no mistake of a listing."""
_PYTHON = ("python", "py", "python3", "pycon", "ipython", "ipython3")


def run_listings(argument: Argument) -> None:
    """Run the Python listings of a document; an exception is reported at the line that raised it."""
    waiting = [listing for listing in argument.document.listings if _is_python(listing)]
    deadline = time.monotonic() + _TOTAL
    while waiting and time.monotonic() < deadline:
        text, starts = _one_program(waiting)
        said = _run(text)
        if said is None:
            return
        row = _raising_row(said)
        index = max((i for i, start in enumerate(starts) if row is not None and start <= row), default=None)
        if index is None or row is None:
            return
        _add_finding(argument, waiting[index], row - starts[index] + 1, said.strip().splitlines()[-1])
        del waiting[index]


def _is_python(listing: Listing) -> bool:
    """Whether a listing says that it is Python, and is."""
    return listing.language in _PYTHON and ">>>" not in listing.text and python_tree(Source.of(listing).text) is not None


def _one_program(listings: list[Listing]) -> tuple[str, list[int]]:
    """One program of all listings, and the row at which each begins."""
    rows: list[str] = []
    starts = []
    for listing in listings:
        starts.append(len(rows) + 1)
        rows += Source.of(listing).text.split("\n")
    return "\n".join(rows) + "\n", starts


def _run(text: str) -> str | None:
    """What a program says when it ends with an exception; none if it ends well, or does not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "listings.py")
        program.write_text(text, encoding="utf-8")
        said = Path(folder, "said")
        with said.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", str(program)],
                cwd=folder,
                env={"HOME": folder, "TMPDIR": folder, "OMP_NUM_THREADS": "1", "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,
                preexec_fn=_limits(),
            )
            try:
                code = process.wait(SECONDS + 1)
            except subprocess.TimeoutExpired:
                code = 0
            finally:
                with contextlib.suppress(OSError, AttributeError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
                process.wait()
        with said.open("rb") as stream:
            stream.seek(max(0, said.stat().st_size - 20_000))
            return stream.read().decode(errors="replace") if code == 1 else None


def _limits() -> Callable[[], None] | None:
    """What the process does to itself before it begins; nothing on a system without such limits."""
    try:
        import resource
    except ImportError:
        return None

    unshare = getattr(ctypes.CDLL(None), "unshare", None)

    def lower(kind: int, most: int) -> None:
        hard = resource.getrlimit(kind)[1]
        most = most if hard < 0 else min(most, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))

    def limit() -> None:
        if unshare is not None and unshare(_CLONE_NEWNET):
            unshare(_CLONE_NEWUSER | _CLONE_NEWNET)  # without a network, where the system lets us
        lower(resource.RLIMIT_CPU, SECONDS)
        lower(resource.RLIMIT_AS, 16 * _MEMORY)
        lower(resource.RLIMIT_DATA, _MEMORY)
        lower(resource.RLIMIT_FSIZE, _WRITTEN)
        lower(resource.RLIMIT_CORE, 0)

    return limit


def _raising_row(said: str) -> int | None:
    """The row of the program that raised."""
    rows = _FRAME.findall(said)
    return int(rows[-1]) if rows else None


def _add_finding(argument: Argument, listing: Listing, row: int, last: str) -> None:
    """Report an exception, unless something is missing that the document need not bring along."""
    if last.partition(":")[0].rpartition(".")[2] in _MISSING or "URLError" in last or "Connection" in last:
        return
    source = Source.of(listing)
    lines = source.lines
    code = lines[row - 1].rstrip() if row <= len(lines) else ""
    indent = len(code) - len(code.lstrip())
    start = source.position(row, indent)
    end = start + max(1, len(code) - indent)
    argument.add_at(start, end, "likely", "listing", "code that runs", f"Running it ends with {last[:300]}")
