"""What `workings check` costs from the command: `make bench-check_speed`; with `--json` for bench/against.py.

Processor time of one worker without the cache. What it finds, and its speed without the start, is in bench/check.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

from command import command_seconds

DOCUMENTS = Path(__file__).parent / "documents"


def figures(repeats: int) -> dict[str, float]:
    """Median seconds, by name."""
    asked = {
        "check one document": [DOCUMENTS / "norm.tex"],
        "check Markdown": sorted(DOCUMENTS.glob("*.md")),
        "check LaTeX, text and notebooks": sorted(p for p in DOCUMENTS.iterdir() if p.suffix in (".tex", ".txt", ".ipynb")),
    }
    options = ("--no-cache", "--jobs", "1", "--quiet")
    return {
        name: median(command_seconds("check", *map(str, paths), *options) for _ in range(repeats))
        for name, paths in asked.items()
    }


def main() -> None:
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(figures(repeats=1)))
        return
    for name, seconds in figures(repeats=5).items():
        print(f"{name:36s}{seconds:9.3f} s")


if __name__ == "__main__":
    main()
