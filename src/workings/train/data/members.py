"""Reading members of an archive without unpacking it: tar, zip (a wheel is one) and Debian packages."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from workings.errors import WorkingsError


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive with their names, in its order."""
    try:
        if archive.suffix == ".deb":
            yield from _in_tar(io.BytesIO(_debian(archive)))
        elif zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                for info in opened.infolist():
                    if not info.is_dir():
                        yield info.filename, opened.read(info)
        else:
            with archive.open("rb") as file:
                yield from _in_tar(file)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise WorkingsError(f"{archive} cannot be read as an archive: {error}.") from None


def _in_tar(file: io.BufferedIOBase | io.BufferedReader) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=file) as opened:
        for info in opened:
            if info.isfile() and (part := opened.extractfile(info)) is not None:
                yield info.name, part.read()


def _debian(archive: Path) -> bytes:
    """The data part of a Debian package, which is an `ar` archive: 60-byte headers, members padded to even lengths."""
    content = archive.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        raise WorkingsError(f"{archive} is not a Debian package.")
    at = 8
    while at + 60 <= len(content):
        name, size = content[at : at + 16].strip().decode(), int(content[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return content[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise WorkingsError(f"{archive} has no data.")


def member(archive: Path, ending: str) -> bytes:
    """The file whose name ends so."""
    for name, content in members(archive):
        if name.endswith(ending):
            return content
    raise WorkingsError(f"{archive} has no file {ending}.")
