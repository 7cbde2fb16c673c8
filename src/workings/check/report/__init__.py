"""Printers: the same results as text for a terminal, JSON, a page of HTML and SARIF."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from workings.errors import WorkingsError


def write(path: Path, content: str) -> None:
    """Write a file whole: aside first, then renamed, so that nobody reads half of it."""
    partial = ""
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)  # as any new file has it
        os.replace(partial, path)
    except OSError as error:
        if partial:
            Path(partial).unlink(missing_ok=True)
        raise WorkingsError(f"Could not write {path}: {error.strerror or error}.") from None
