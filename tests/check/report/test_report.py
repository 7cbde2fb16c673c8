"""The public `Report`: its findings, and each form in which it prints itself."""

import csv
import io
import json

import pytest

from workings.check import Report, check, check_files
from workings.check.report.by_file import csv_form
from workings.check.report.html import html
from workings.errors import WorkingsError

TEXT = "So $2 + 2 = 5$, and $1/4 = 0.75$, and $x = y + 1$."


def test_check_gives_a_report():
    report = check(TEXT)
    assert type(report) is Report
    assert [found.says for found in report.findings()] == ["2 + 2 = 5", "1/4 = 0.75"]
    assert [relation.outcome for relation in report.relations] == ["wrong", "wrong", "no claim"]
    assert str(report.coverage) == "2 of 2 claims decided"


def test_files_give_reports(tmp_path):
    (tmp_path / "a.md").write_text(TEXT)
    [report, missing] = check_files([str(tmp_path / "a.md"), str(tmp_path / "b.md")])
    assert type(report) is Report and type(missing) is Report
    assert missing.text().endswith(f"There is no file {tmp_path}/b.md.")


def test_every_form_is_the_one_of_the_command_line():
    report = check(TEXT)
    assert "correct is 4" in report.text() and report.text("error").count("written") <= report.text().count("written")
    assert "letters without a value" in check("So $a + b \\le 2c + 1$.").text(undecided=True)
    assert json.loads(report.json())["files"][0]["findings"][0]["says"] == "2 + 2 = 5"
    assert report.html() == html([report], "likely")
    assert report.csv() == csv_form([report])
    assert next(csv.DictReader(io.StringIO(report.csv())))["wrong"] == "2"


def test_a_notebook_shows_the_page_without_tools_and_scripts():
    report = check(TEXT)
    shown = report._repr_mimebundle_()
    assert shown["text/plain"] == str(report) == repr(report)
    assert '<main class="check">' in shown["text/html"] and 'class="tools"' not in shown["text/html"]
    rules = shown["text/html"].partition("</style>")[0].split("}\n")
    assert all(".workings" in rule or ".check" in rule or "@" in rule for rule in rules if rule.strip() and rule[0] != " ")
    assert r"\item line 1, likely: \texttt{2 + 2 = 5}" in shown["text/latex"]


def test_a_level_that_is_none():
    with pytest.raises(WorkingsError, match=r"^A level is one of error, likely, note, possible, not 'sure'\.$"):
        check(TEXT).text("sure")
