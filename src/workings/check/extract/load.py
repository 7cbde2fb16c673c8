"""From a file to its text: UTF-8, of a bearable size, or a message that says what to do."""

from __future__ import annotations

import codecs
from pathlib import Path

from workings.errors import WorkingsError

LARGEST = 20_000_000
"""Bytes. A book of a thousand pages has about three million."""

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def load(path: Path) -> str:
    """The text of the file at `path`, its line ends as they are."""
    try:
        if not path.exists():
            raise WorkingsError(f"There is no file {path}.")
        if path.is_dir():
            raise WorkingsError(f"{path} is a directory: name the documents in it.")
        if not path.is_file():
            raise WorkingsError(f"{path} is not an ordinary file.")
        size = path.stat().st_size
        if size > LARGEST:
            raise WorkingsError(
                f"{path} has {size / 1e6:.0f} MB; documents of up to {LARGEST // 1_000_000} MB are read. "
                f"Split it, or take the figures out of it."
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkingsError(f"{path} cannot be read: {reason}.") from error
    if not data.strip():
        raise WorkingsError(f"{path} is empty.")
    return _decoded(data, str(path))


def _decoded(data: bytes, name: str) -> str:
    """The text of `data`, which must be UTF-8; a mark at its beginning is dropped."""
    for mark, encoding in _WIDE:
        if data.startswith(mark):
            raise WorkingsError(f"{name} is {encoding}, not UTF-8. {_advice(encoding, name)}")
    if encoding := _wide_without_mark(data[:8192]):
        raise WorkingsError(f"{name} looks like {encoding}, not UTF-8. {_advice(encoding, name)}")
    if (position := data.find(b"\0")) >= 0:
        raise WorkingsError(
            f"{name} is not a text: byte {position} is zero. Check its source (.md, .tex, .txt, .ipynb) instead."
        )
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise WorkingsError(_not_utf8(data, name)) from None


def _wide_without_mark(sample: bytes) -> str:
    """UTF-16 text in a Latin alphabet has a zero in nearly every second byte."""
    half = len(sample) // 2
    for zeros, others in ((sample[1::2], sample[::2]), (sample[::2], sample[1::2])):
        if half >= 2 and zeros.count(0) > 0.8 * half and others.count(0) < 0.1 * half:
            return "UTF-16"
    return ""


def _not_utf8(data: bytes, name: str) -> str:
    """Say which byte is not UTF-8, where it stands, and what the file probably is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        position = error.start
    line = data.count(b"\n", 0, position) + 1
    where = f"{name} is not UTF-8: byte {position} (line {line}) is 0x{data[position]:02X}."
    controls = sum(byte < 32 and byte not in b"\t\n\r\f" for byte in data[:8192])
    if controls > 0.02 * len(data[:8192]):
        return f"{where} It is not a text: check its source (.md, .tex, .txt, .ipynb) instead."
    encoding = "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for byte in data[:65536]) else "LATIN1"
    said = {"WINDOWS-1252": "Windows-1252", "LATIN1": "Latin-1"}[encoding]
    return f"{where} It looks like {said}. {_advice(encoding, name)}"


def _advice(encoding: str, name: str) -> str:
    """How to convert the file."""
    return f"Save it as UTF-8, for example: iconv -f {encoding} -t UTF-8 {name} > utf8-{Path(name).name}"
