"""One process trains in a folder at a time.

The lock is the system's own, on the file `.lock` in the folder: it ends with the process that has it, however that ends. So
the file that a killed process leaves behind is in nobody's way. Where the folder cannot be locked (some network drives),
training goes on without.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from workings.errors import WorkingsError
from workings.train.process.distributed import World

PATIENCE = 2.0
"""Seconds to wait for the lock: a process that was killed takes a moment to end."""

_MINE: dict[Path, int] = {}
"""The files that this process has locked, with its id: the system would let it lock them again."""


class Busy(Exception):
    """Somebody else has the lock."""


@contextmanager
def locked(folder: Path, world: World) -> Iterator[None]:
    """A folder where nobody else trains; the first process has the lock for all."""
    path = folder / ".lock"
    handle, holder = take(path) if world.first else (None, "")
    if holder := world.broadcast(holder):
        raise WorkingsError(
            f"{folder} is in use: {holder} trains in it. Wait until that ends, or choose another folder by --out."
        )
    try:
        yield
    finally:
        if handle is not None:
            release(path, handle)


def take(path: Path) -> tuple[int | None, str]:
    """The open file whose lock was taken, or who has it."""
    end = monotonic() + PATIENCE
    while True:
        try:
            return try_lock(path), ""
        except Busy as busy:
            if monotonic() > end:
                return None, str(busy)
        sleep(0.05)


def try_lock(path: Path) -> int | None:
    """The open file, locked; none where that cannot be had."""
    if _MINE.get(path.resolve()) == os.getpid():
        raise Busy("this very process")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # what is wrong with the folder is said when the run is written
        return None
    try:
        _lock(handle, path)
    except (BlockingIOError, PermissionError, FileNotFoundError):
        os.close(handle)
        raise Busy(_owner(path)) from None
    except (OSError, ImportError):
        os.close(handle)
        return None
    _MINE[path.resolve()] = os.getpid()
    return handle


def _lock(handle: int, path: Path) -> None:
    """Lock an open file and sign it; an error where another process has it, or removed it in the meantime."""
    import fcntl

    fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if not os.path.samestat(os.fstat(handle), os.stat(path)):
        raise FileNotFoundError(path)
    with suppress(OSError):  # a full disk
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())


def _owner(path: Path) -> str:
    """Who signed a lock."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") or "another process"
    except OSError:
        return "another process"


def release(path: Path, handle: int) -> None:
    """Give the lock up, and leave nothing behind. A fork of the process that has it does not have it."""
    if _MINE.get(path.resolve()) != os.getpid():
        return
    with suppress(OSError):
        path.unlink()
    os.close(handle)
    del _MINE[path.resolve()]
