"""Texts: those that a package brings, and files that the user has."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

from workings.errors import WorkingsError
from workings.train.data.fetch import archive
from workings.train.data.members import members

_NAMED = ("shakespeare", "moby-dick", "speeches")


def text(named: str | Path, least: int = 1) -> str:
    """The text of a data set (`shakespeare`, `moby-dick`, `speeches`) or of a file (`./shakespeare`)."""
    if str(named) not in _NAMED:
        return read(Path(named), least, among=_NAMED)
    return {"shakespeare": plays, "moby-dick": _novel, "speeches": _speeches}[str(named)]()


def read(path: Path, least: int = 1, what: str = "a text file", among: Sequence[str] = ()) -> str:
    """A file's text: UTF-8, lines ended by one character, long enough. Errors say `what` is needed, or which name."""
    if path.is_dir():
        raise WorkingsError(f"{path} is a folder; {what} is needed.")
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        names = f", or one of: {', '.join(among)}" if among else ""
        raise WorkingsError(f"{path} does not exist. Give {what}{names}.") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise WorkingsError(
            f"{path} is not UTF-8 text: line {line} has the byte 0x{error.object[error.start]:02x}."
        ) from None
    except OSError as error:
        raise WorkingsError(f"Could not read {path}: {error.strerror or error}.") from None
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    if not content.strip():
        raise WorkingsError(f"{path} is empty; {what} is needed.")
    if len(content) < least:
        raise WorkingsError(f"{path} has {len(content):,} characters; at least {least:,} are needed.")
    return content


def lines(text: str) -> list[str]:
    r"""The lines of a text with their ends. Only \n ends one; to `splitlines` U+2028, U+0085 or a form feed do so too.

    >>> lines("one\x0c still one\ntwo")
    ['one\x0c still one\n', 'two']
    """
    return [*io.StringIO(text, newline="\n")]


def plays() -> str:
    """42 works of Shakespeare one after the other, in the order of their names."""
    found = {
        name: content
        for name, content in members(archive("shakespeare"))
        if "shksprdata" in name and name.endswith("_gut.txt")
    }
    return "\n".join(found[name].decode("utf-8-sig").replace("\r\n", "\n") for name in sorted(found))


def _novel() -> str:
    """Moby-Dick, chapter after chapter as the novel has them."""
    chapters = []
    for name, content in members(archive("moby-dick")):
        if name.endswith(("etymology.json", "extracts.json", "epilogue.json")) or re.search(r"/chapter_\d+\.json$", name):
            chapter = json.loads(content)
            chapters.append((_order(str(chapter["chapter"])), str(chapter["text"])))
    return "\n\n".join(words for _, words in sorted(chapters))


def _order(chapter: str) -> int:
    """
    >>> sorted(["10", "2", "epilogue", "1"], key=_order)
    ['1', '2', '10', 'epilogue']
    """
    return int(chapter) if chapter.isdigit() else 10_000 if "pilogue" in chapter else 0


def _speeches() -> str:
    """The State of the Union speeches in the order of their years."""
    found = {name: content for name, content in members(archive("speeches")) if "/data/" in name and name.endswith(".json")}
    return "\n\n".join(str(json.loads(found[name])["text"]) for name in sorted(found))
