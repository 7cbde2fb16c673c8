"""A matrix of palette numbers as a PNG (ISO/IEC 15948): what a heatmap of thousands of cells is drawn with."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence

Colour = tuple[int, int, int, int]
"""Red, green, blue and opacity, each 0 … 255."""


def png(cells: Sequence[Sequence[int]], palette: Sequence[Colour]) -> bytes:
    """One pixel for each cell, which is the number of a colour.

    >>> png([[0, 1]], [(255, 0, 0, 255), (0, 0, 255, 0)])[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    used = palette[: 1 + max((max(row, default=0) for row in cells), default=0)]
    header = struct.pack(">IIBBBBB", len(cells[0]), len(cells), 8, 3, 0, 0, 0)
    colours = b"".join(bytes(colour[:3]) for colour in used)
    lines = b"".join(b"\0" + bytes(row) for row in cells)
    chunks = [("IHDR", header), ("PLTE", colours), ("tRNS", bytes(colour[3] for colour in used))]
    chunks += [("IDAT", zlib.compress(lines, 9)), ("IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind.encode(), data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_address(image: bytes) -> str:
    return f"data:image/png;base64,{b64encode(image).decode()}"
