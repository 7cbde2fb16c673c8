"""The results in SARIF 2.1.0, which editors and code hosts read.

A notebook's lines are those of a cell, which SARIF has no region for: there, the cell is a logical location.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from workings.check.document.finding import Finding
from workings.check.document.report_data import ReportData
from workings.checksum import sha256
from workings.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "likely": "warning", "note": "note", "possible": "note"}
_RULES = {
    "number": "A chain of numbers whose sides differ.",
    "matrix": "A vector or matrix with a wrong entry.",
    "shape": "Shapes that do not fit each other, or not the one that is stated.",
    "rows": "A matrix with a row or a column too many or too few.",
    "definition": "A symbol that is given another value than before.",
    "identity": "Two expressions that are not equal for all values.",
    "derivative": "A derivative that is not that of its function.",
    "listing": "A code listing that does not parse, or whose shapes do not fit.",
    "rounding": "A decimal that is not rounded to the digits shown.",
    "prose": "A claim in words that an experiment refutes.",
}
"""What each kind of finding means; another kind speaks for itself."""


def sarif(results: Sequence[ReportData], level: str) -> str:
    """One run: a rule for each kind, a result for each finding at `level` or above."""
    found = [(result, finding) for result in results for finding in result.findings(level)]
    kinds = list(dict.fromkeys(finding.kind for _, finding in found))
    driver = {"name": "workings check", "version": __version__, "rules": [_rule(kind) for kind in kinds]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results)],
        "artifacts": [{"location": {"uri": uri(result.name)}} for result in results],
        "results": [_result(result, finding, kinds.index(finding.kind)) for result, finding in found],
    }
    whole = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"


def uri(name: str) -> str:
    """The file as a URI, relative where its name is.

    >>> uri("my notes/a.md")
    'my%20notes/a.md'
    """
    path = PurePath(name)
    return Path(name).as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")


def _rule(kind: str) -> dict[str, Any]:
    words = _RULES.get(kind, f"A finding of the kind {kind}.")
    return {"id": kind, "shortDescription": {"text": words}, "defaultConfiguration": {"level": "warning"}}


def _invocation(results: Sequence[ReportData]) -> dict[str, Any]:
    failed = [(result, reason) for result in results if (reason := result.failure or result.unfinished)]
    notes = [{"level": "error", "message": {"text": reason}, "locations": [_location(result)]} for result, reason in failed]
    return {"executionSuccessful": not failed, "toolExecutionNotifications": notes}


def _result(result: ReportData, finding: Finding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[finding.level],
        "message": {"text": _message(result, finding)},
        "locations": [_location(result, finding)],
        "partialFingerprints": {"claim/v1": sha256(repr((finding.kind, finding.says)))[:16]},
        "properties": {"level": finding.level, "says": finding.says, "truth": finding.truth, "reading": finding.reading},
    }


def _message(result: ReportData, finding: Finding) -> str:
    first = result.document.place(finding.start)
    cell = f"Cell {first.cell}, line {first.line}, column {first.column}: " if first.cell is not None else ""
    truth = f" True is: {finding.truth}." if finding.truth else ""
    reading = f" Read as: {finding.reading}." if finding.reading else ""
    return f"{cell}{finding.why or finding.kind}{truth}{reading}"


def _location(result: ReportData, finding: Finding | None = None) -> dict[str, Any]:
    file: dict[str, Any] = {"artifactLocation": {"uri": uri(result.name)}}
    if finding is None:
        return {"physicalLocation": file}
    first, last = result.span(finding)
    if first.cell is not None:
        logical = {"name": f"cell {first.cell}", "fullyQualifiedName": f"cell {first.cell}", "kind": "element"}
        return {"physicalLocation": file, "logicalLocations": [logical]}
    region = {"startLine": first.line, "startColumn": first.column, "endLine": last.line, "endColumn": last.column}
    return {"physicalLocation": file | {"region": region}}
