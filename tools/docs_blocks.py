"""The Python of README.md, CONTRIBUTING.md and docs/ as files, so that type checkers can read it.

Example: python tools/docs_blocks.py build/docs      writes build/docs/readme.py, build/docs/show.py, …

Blocks of one document share their names, as they do when the tests run them; lines keep their numbers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


class Block(NamedTuple):
    """A fenced block of a document; it adjoins the one before it when only blank lines part the two."""

    language: str
    text: str
    line: int
    adjoins: bool


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    found, end = list[Block](), 0
    for fence in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", markdown, re.MULTILINE | re.DOTALL):
        adjoins = bool(found) and not markdown[end : fence.start()].strip()
        found.append(Block(fence[1], fence[2], markdown.count("\n", 0, fence.start(2)), adjoins))
        end = fence.end()
    return found


def python_of(markdown: str) -> str:
    """The Python blocks of a document, each at its own lines."""
    code = ""
    for block in blocks(markdown):
        if block.language == "python":
            code += "\n" * (block.line - code.count("\n")) + block.text
    return code


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in DOCUMENTS:
        if path.exists() and (code := python_of(path.read_text(encoding="utf-8"))):
            name = path.stem.lower().replace("-", "_")
            (folder / f"doc_{name}.py").write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()
