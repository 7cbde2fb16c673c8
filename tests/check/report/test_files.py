"""JSON, SARIF and the page: places, levels, required fields, and text that stays text."""

import json
import os
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.check.fake_work import checked
from workings.atomic import write_text
from workings.check.document.report_data import to_row
from workings.check.report.html import html
from workings.check.report.json_form import json_form
from workings.check.report.report import Report
from workings.check.report.sarif import sarif, uri
from workings.errors import WorkingsError

GONE = Report("b.md", failure="There is no file b.md.")


COUNTS = {
    **{"formulas": 5, "unread": 1, "claims": 0, "decided": 0, "right": 0, "wrong": 0, "follows": 0},
    "undecided": {},
}
MATHML = f'<math displaystyle="true">{"".join(f"<mi>{letter}</mi>" for letter in "WRONG")}</math>'


def test_the_whole_json():
    assert json.loads(json_form([checked("a.md", "one\nso WRONG, ROUNDED UNREAD"), GONE], "likely", ["c.pdf"])) == {
        "version": 2,
        "level": "likely",
        "files": [
            {
                "file": "a.md",
                "kind": "markdown",
                "failure": None,
                "unfinished": None,
                "findings": [
                    {
                        "file": "a.md",
                        "line": 2,
                        "column": 4,
                        "end_line": 2,
                        "end_column": 9,
                        "cell": None,
                        "level": "error",
                        "kind": "number",
                        "says": "WRONG",
                        "truth": "12/7",
                        "why": "It is not so.",
                        "reading": "log is ln",
                        "basis": "closed",
                        "support": "",
                        "text": "WRONG",
                        "mathml": MATHML,
                        "consequences": [],
                    }
                ],
                "relations": [],
                "unread": [
                    {"line": 2, "column": 19, "end_line": 2, "end_column": 25, "cell": None, "why": "Nobody can read it."}
                ],
                "counts": COUNTS,
            },
            {
                "file": "b.md",
                "kind": None,
                "failure": "There is no file b.md.",
                "unfinished": None,
                "findings": [],
                "relations": [],
                "unread": [],
                "counts": dict.fromkeys(COUNTS, 0) | {"undecided": {}},
            },
        ],
        "skipped": ["c.pdf"],
        "same": [],
        "counts": {
            **COUNTS,
            "findings": {"error": 1, "likely": 0, "note": 0, "possible": 0},
        },
    }


def test_json_of_a_notebook_names_the_cell():
    result = checked("a.ipynb", "one\n\nso WRONG", cells=[(0, 1), (5, 4)])
    found = json.loads(json_form([result], "error"))["files"][0]["findings"][0]
    assert [found[name] for name in ("cell", "line", "column", "end_column")] == [4, 1, 4, 9]


def test_a_claim_that_ends_with_its_line_ends_on_it():
    # Positions 0…6 of "WRONG\n\nx": the claim of the first line and its break ends behind the break, on line 1.
    result = checked("a.md", "WRONG\n\nx")
    result.results.findings[:] = [replace(result.results.findings[0], end=6)]
    found = json.loads(json_form([result], "error"))["files"][0]["findings"][0]
    assert (found["end_line"], found["end_column"]) == (1, 7)


def test_rows_come_back_as_they_went():
    result = checked("a.ipynb", "one\n\nso WRONG UNREAD", cells=[(0, 1), (5, 4)])
    assert Report.from_row("a.ipynb", json.loads(json.dumps(to_row(result)))) == result
    assert to_row(result, result.document.text)["text"] is None
    assert Report.from_row("a.ipynb", to_row(result, result.document.text), result.document.text) == result


@pytest.mark.parametrize(
    "damage",
    [
        {"text": 3},
        {"failure": None},
        {"counts": {"formulas": 1}},
        {"findings": [{"start": 0}]},
        {"unread": [{"start": 0, "end": "1", "why": ""}]},
        {"unread": [{"start": 0, "end": 99, "why": ""}]},
        {"cells": [[1]]},
    ],
)
def test_damaged_rows_are_refused(damage):
    with pytest.raises((ValueError, KeyError, TypeError)):
        Report.from_row("a.md", to_row(checked("a.md", "WRONG")) | damage)


# ------------------------------------------------------------------------------------------------- SARIF

REQUIRED = {
    "": {"version": str, "runs": list},
    "runs": {"tool": dict},
    "tool": {"driver": dict},
    "driver": {"name": str},
    "rules": {"id": str},
    "results": {"message": dict},
    "invocations": {"executionSuccessful": bool},
    "toolExecutionNotifications": {"message": dict},
    "message": {"text": str},
    "shortDescription": {"text": str},
}
"""The fields that the schema of SARIF 2.1.0 requires of each object that is written."""
ALLOWED = {
    "region": {"startLine", "startColumn", "endLine", "endColumn"},
    "physicalLocation": {"artifactLocation", "region"},
    "locations": {"physicalLocation", "logicalLocations"},
    "artifactLocation": {"uri"},
    "location": {"uri"},
    "artifacts": {"location"},
    "logicalLocations": {"name", "fullyQualifiedName", "kind"},
    "results": {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties"},
    "rules": {"id", "shortDescription", "defaultConfiguration"},
    "runs": {"tool", "columnKind", "invocations", "artifacts", "results"},
}


def objects(value, name=""):
    """Every object of a JSON document, with the name it goes by."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item, name)
    elif isinstance(value, dict):
        yield name, value
        for key, item in value.items():
            yield from objects(item, key)


def test_sarif_has_what_its_schema_requires():
    results = [checked("a.md", "WRONG DOUBTFUL\nROUNDED ODD"), GONE, checked("c.ipynb", "WRONG", cells=[(0, 2)])]
    whole = json.loads(sarif(results, "possible"))
    assert whole["version"] == "2.1.0"
    seen = set()
    for name, found in objects(whole):
        seen.add(name)
        assert all(isinstance(found.get(key), kind) for key, kind in REQUIRED.get(name, {}).items()), (name, found)
        assert set(found) <= ALLOWED.get(name, set(found)), (name, found)
    assert set(REQUIRED) | set(ALLOWED) <= seen
    run = whole["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert result["level"] in ("none", "note", "warning", "error")
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert len(result["locations"]) == 1
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")


def test_sarif_regions_and_levels():
    run = json.loads(sarif([checked("a b/ä.md", "WRONG DOUBTFUL\nsee ROUNDED ODD")], "possible"))["runs"][0]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note", "note"]
    assert run["results"][2]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/%C3%A4.md"},
        "region": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 12},
    }
    assert run["results"][0]["message"]["text"] == "It is not so. True is: 12/7. Read as: log is ln."
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_of_failures_and_notebooks():
    run = json.loads(sarif([GONE, checked("c.ipynb", "WRONG", cells=[(0, 2)])], "likely"))["runs"][0]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "There is no file b.md."
    location = run["results"][0]["locations"][0]
    assert "region" not in location["physicalLocation"]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "cell 2"
    assert run["results"][0]["message"]["text"].startswith("Cell 2, line 1, column 1: It is not so.")


def test_absolute_names_are_file_uris(tmp_path):
    assert uri(str(tmp_path / "a b.md")) == (tmp_path / "a b.md").as_uri()


# ------------------------------------------------------------------------------------------------- the page

VOID = {"meta", "br"}


class Nesting(HTMLParser):
    """Notices tags that are not closed in order, and collects what is in them."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.marks = [], [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        self.ids += filter(None, [found.get("id")])
        self.links += filter(None, [found.get("href")])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "mark" in self.open:
            self.marks.append(data)


def test_the_page_marks_claims_and_links_to_findings():
    text = "\n" * 20 + "so WRONG\nis DOUBTFUL" + "\n" * 20
    page = html([checked("a.md", text), GONE, checked("c.md", "all good")], "likely")
    found = Nesting(page)
    assert found.marks == ["WRONG", "DOUBTFUL"]
    assert [name for name in found.ids if name.startswith("finding")] == ["finding-1", "finding-2"]
    assert {link.removeprefix("#") for link in found.links} == {"finding-1", "finding-2", "file-1", "file-2", "file-3"}
    assert set(found.ids) >= {link.removeprefix("#") for link in found.links}
    assert "<summary>lines 1 to 17</summary>" in page  # line 21 and three before it are unfolded
    assert "<summary>lines 26 to 42</summary>" in page
    assert '<p class="failure">There is no file b.md.</p>' in page
    assert len(re.findall('<details class="file" id="file-[0-9]" open>', page)) == 2
    assert "http" not in re.sub("http-equiv", "", page)


def test_text_stays_text_on_the_page():
    evil = "<script>WRONG</script>&amp;\x00\u202e"
    page = html([checked('<img src="x">.md', evil)], "likely")
    found = Nesting(page)
    assert found.tags.count("script") == 1 and "img" not in found.tags
    assert "&lt;script&gt;<a" in page
    assert "\x00" not in page and "\u202e" not in page


def test_claims_that_overlap_share_a_mark_of_the_gravest():
    result = checked("a.md", "abc WRONG def\nnext")
    outer = replace(result.results.findings[0], start=0, end=16, level="note")
    result.results.findings.append(outer)
    page = html([result], "note")
    assert Nesting(page).marks == ["abc ", "WRONG", " def", "ne"]
    assert page.index('<mark class="note">ne') < page.index('<details class="finding note"')
    assert '<mark class="error">WRONG' in page


def test_a_page_without_findings():
    page = html([checked("a.md", "fine")], "likely")
    Nesting(page)
    assert "No findings." in page


# ------------------------------------------------------------------------------------------------- writing


def test_files_are_written_whole(tmp_path):
    path = tmp_path / "out.html"
    path.write_text("old")
    write_text(path, "new ∑\n")
    assert path.read_text(encoding="utf-8") == "new ∑\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_the_message_where_nothing_can_be_written(tmp_path):
    with pytest.raises(WorkingsError) as caught:
        write_text(tmp_path / "no" / "out.html", "x")
    assert str(caught.value) == f"Could not write {tmp_path / 'no' / 'out.html'}: No such file or directory."
    (tmp_path / "folder").mkdir()
    with pytest.raises(WorkingsError, match="Is a directory"):
        write_text(tmp_path / "folder", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    assert not list(Path(tmp_path / "folder").iterdir())
