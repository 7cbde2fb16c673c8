"""The results as one JSON document; docs/check.md describes its fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from workings.check.document.coverage import Coverage, total
from workings.check.document.finding import LEVELS, Finding
from workings.check.document.relation import Relation
from workings.check.document.report_data import Part, ReportData
from workings.check.report.formulas import formula_of, readable
from workings.check.report.links import Links, same_errors
from workings.check.report.mathml import formula

_VERSION = 2


def json_form(results: Sequence[ReportData], level: str, skipped: Sequence[str] = ()) -> str:
    """Every file with its findings at `level` or above and its relations, the counts of all, errors of several files."""
    listed = [found.level for result in results for found in result.findings(level)]
    whole = {
        "version": _VERSION,
        "level": level,
        "files": [_file(result, level) for result in results],
        "skipped": list(skipped),
        "same": [
            {"kind": kind, "says": says, "truth": truth, "places": [_place(result, found) for result, found in places]}
            for (kind, says, truth), places in same_errors(results, level).items()
        ],
        "counts": _counts(total(result.results for result in results))
        | {"findings": {name: listed.count(name) for name in LEVELS}},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _file(result: ReportData, level: str) -> dict[str, Any]:
    links = Links(result)
    return {
        "file": result.name,
        "kind": None if result.failure else result.document.kind,
        "failure": result.failure or None,
        "unfinished": result.unfinished or None,
        "findings": [_finding(result, links, found) for found in result.findings(level)],
        "relations": [_relation(result, links, relation) for relation in result.relations],
        "unread": [_region(result, part) | {"why": part.why} for part in result.results.unread],
        "counts": _counts(result.coverage),
    }


def _counts(counts: Coverage) -> dict[str, Any]:
    rows = asdict(counts)
    return {name: rows[name] for name in ("formulas", "unread", "claims")} | {
        "decided": counts.decided,
        **{name: rows[name] for name in ("right", "wrong", "follows", "undecided")},
    }


def _finding(result: ReportData, links: Links, found: Finding) -> dict[str, Any]:
    says, tree = formula_of(result, links, found)
    words = {name: getattr(found, name) for name in ("level", "kind", "says", "truth", "why", "reading", "basis", "support")}
    typeset = {"text": readable(says, tree), "mathml": None if tree is None else formula(tree)}
    consequences = [_region(result, part) | {"says": part.says} for part in links.consequences(found)]
    return {"file": result.name} | _region(result, found) | words | typeset | {"consequences": consequences}


def _relation(result: ReportData, links: Links, relation: Relation) -> dict[str, Any]:
    words = {name: getattr(relation, name) for name in ("says", "role", "evidence", "outcome", "reason", "values")}
    cause = links.cause(relation)
    return _region(result, relation) | words | {"cause": None if cause is None else _region(result, cause)}


def _place(result: ReportData, found: Finding) -> dict[str, Any]:
    return {"file": result.name} | _region(result, found)


def _region(result: ReportData, part: Part) -> dict[str, Any]:
    """Lines and columns from 1, in characters; the end column is the one behind the claim."""
    first, last = result.span(part)
    return {"line": first.line, "column": first.column, "end_line": last.line, "end_column": last.column, "cell": first.cell}
