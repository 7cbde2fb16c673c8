"""Files that appear whole or not at all: written beside their place, then renamed, which the system does in one go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from workings.errors import WorkingsError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place beside `path` to write to, which becomes `path` when the block ends; after an error nothing is left there.

    The place has a name of its own, so that two processes do not write into one file, and is on the same drive, or it could
    not be renamed. Until then readers see what was at `path` before.
    """
    partial = path.with_name(f".{path.name}.{token_hex(4)}.partial")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True) if partial.is_dir() else partial.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a file whole; what stands in the way is said."""
    try:
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WorkingsError(f"Could not write {path}: {error.strerror or error}.") from None
