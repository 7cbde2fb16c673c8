"""The results as one JSON document; docs/check.md describes its fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from workings.check.document.checked import Checked, total
from workings.check.document.finding import LEVELS, Finding, Unread

VERSION = 1


def json_form(results: Sequence[Checked], level: str) -> str:
    """Every file with its findings at `level` or above, and the counts of all."""
    listed = [found.level for result in results for found in result.findings(level)]
    whole = {
        "version": VERSION,
        "level": level,
        "files": [_file(result, level) for result in results],
        "counts": asdict(total(results)) | {"findings": {name: listed.count(name) for name in LEVELS}},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _file(result: Checked, level: str) -> dict[str, Any]:
    return {
        "file": result.name,
        "kind": None if result.failure else result.document.kind,
        "failure": result.failure or None,
        "findings": [_finding(result, found) for found in result.findings(level)],
        "unread": [region(result, part) | {"why": part.why} for part in result.report.unread],
        "counts": asdict(result.report.counts),
    }


def _finding(result: Checked, found: Finding) -> dict[str, Any]:
    words = {name: getattr(found, name) for name in ("level", "kind", "says", "truth", "why", "reading")}
    return {"file": result.name} | region(result, found) | words


def region(result: Checked, part: Finding | Unread) -> dict[str, Any]:
    """Lines and columns from 1, in characters; the end column is the one behind the claim."""
    first, last = result.span(part)
    return {"line": first.line, "column": first.column, "end_line": last.line, "end_column": last.column, "cell": first.cell}
