"""Checksums: of a text, of bytes, of a file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path


def sha256(content: str | bytes) -> str:
    """The sha256 of bytes, or of a text in UTF-8, in hexadecimal digits.

    >>> sha256("to be")[:8]
    '0af1207e'
    """
    return hashlib.sha256(_bytes(content)).hexdigest()


def sha256_of_file(path: Path) -> str:
    """The sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_hash(content: str) -> str:
    """A script or a style as a Content-Security-Policy allows it: `'sha256-…'`."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(_bytes(content)).digest()).decode()}'"


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
