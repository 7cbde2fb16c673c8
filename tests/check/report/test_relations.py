"""What was understood, in every report: coverage, undecided claims, causes and consequences, an error in several files."""

import csv
import io
import json
from dataclasses import replace

import pytest

from tests.check.fake_work import checked
from workings.check.document.coverage import Coverage, coverage, total
from workings.check.document.report_data import to_row
from workings.check.report.by_file import csv_form
from workings.check.report.explain import explain, read_line
from workings.check.report.html import html
from workings.check.report.json_form import json_form
from workings.check.report.links import Links, same_errors
from workings.check.report.report import Report
from workings.check.report.sarif import sarif
from workings.check.report.text import Style, outcome_text, skipped_text, text
from workings.errors import WorkingsError

WORK = "so a = 6 WRONG it is\nb = 12 THEN\nc = x/2 LEFT\nd = 1 DEF\ne = 2"


def test_coverage_counts_claims_and_reasons():
    counts = checked("a.md", WORK).coverage
    # four of the five relations are claims: one wrong, one following from it, one undecided, one right
    assert (counts.claims, counts.decided, counts.right, counts.wrong, counts.follows) == (4, 3, 1, 1, 1)
    assert counts.undecided == {"letters without a value": 1}
    assert str(counts) == "3 of 4 claims decided; 1 not: 1 letters without a value"


def test_coverage_adds_up_with_the_commonest_reason_first():
    reports = [checked(name, "a = x LEFT").results for name in "ab"]
    other = checked("c", "a = x LEFT").results
    other.relations[:] = [replace(relation, reason=reason) for relation in other.relations for reason in "zyyy"]
    assert list(coverage(other).undecided) == ["y", "z"]
    assert list(total([*reports, other]).undecided.items()) == [("y", 3), ("letters without a value", 2), ("z", 1)]
    assert str(coverage(checked("d", "").results)) == "no claims"


def test_rare_reasons_are_told_together():
    reasons = dict(zip("abcdef", (6, 5, 4, 3, 2, 1), strict=True))
    assert str(Coverage(claims=21, undecided=reasons)).endswith("21 not: 6 a, 5 b, 4 c, 3 d, 3 for other reasons")
    assert str(Coverage(claims=1, right=1)) == "1 of 1 claim decided"


def test_relations_come_back_as_they_went():
    result = replace(checked("a.md", WORK), unfinished="It stopped.")
    assert Report.from_row("a.md", json.loads(json.dumps(to_row(result)))) == result


# ------------------------------------------------------------------------------------------------- text


def test_a_finding_names_what_follows_from_it():
    output = text([checked("a.md", WORK)], Style())
    assert "  written   a = 6WRONG\n" in output  # the smallest relation around it, from the document's text
    assert "  follows   line 2: b = 12\n" in output
    assert "1 following from an error" in output


def test_undecided_claims_are_listed_with_place_and_reason():
    assert "a.md:3:1  c = x/2  letters without a value" in text([checked("a.md", WORK)], Style(undecided=True))
    assert "a.md:3:1" not in text([checked("a.md", WORK)], Style())
    assert "Nobody can read it." in text([checked("a.md", "UNREAD")], Style(undecided=True))


def test_verbose_says_how_each_relation_was_read():
    lines = text([checked("a.md", WORK)], Style(verbose=True)).split("\n")
    assert "a.md:2:1  b = 12  claim, follows from the error on line 1, with a = 6 (line 1)" in lines
    assert "a.md:4:1  d = 1  definition, no claim" in lines


def test_several_files_have_a_table():
    results = [checked("a.md", WORK), checked("long name.md", "a = 1"), Report("c.md", failure="gone")]
    assert "\n".join(text(results, Style()).split("\n\n")[-2].split("\n")) == (
        "file          claims  decided  error\na.md               4        3      1\nlong name.md       1        1      ·"
    )
    assert "claims  decided" not in text(results[:1], Style())


def test_of_very_many_files_those_with_findings_are_listed():
    results = [checked(f"{i}.md", "a = 1") for i in range(50)] + [checked("bad.md", "WRONG")]
    output = text(results, Style())
    assert "50 files without findings not listed" in output
    assert "\nbad.md " in output and "\n7.md " not in output


def test_the_same_error_in_several_files_is_told_once():
    results = [checked("a.md", "WRONG"), checked("b.md", "so WRONG"), checked("c.md", "DOUBTFUL")]
    output = text(results, Style())
    assert output.count("It is not so.") == 2
    assert "  also in   b.md:1:4\n" in output
    [(_, places)] = same_errors(results, "likely").items()
    assert [result.name for result, _ in places] == ["a.md", "b.md"]
    assert not same_errors([checked("a.md", "WRONG WRONG")], "likely")  # one file has its own errors twice
    assert text([checked("a.md", "WRONG WRONG")], Style()).count("It is not so.") == 2


def test_files_without_a_source_are_named():
    said = skipped_text([f"{i}.pdf" for i in range(10)])
    assert said.startswith("Not read: 0.pdf, 1.pdf, ") and ", and 2 more. A PDF" in said
    assert skipped_text([]) == ""


def test_a_consequence_whose_cause_is_not_listed_is_still_one():
    result = checked("a.md", "b = 12 THEN")
    [relation] = result.relations
    assert outcome_text(result, Links(result), relation) == "follows"


# ------------------------------------------------------------------------------------------------- one line explained


def test_a_line_is_explained():
    assert explain(checked("a.md", WORK), read_line("a.md:2"), Style()) == (
        "a.md:2\n  b = 12 THEN\n\n"
        "  1         b = 12\n"
        "  role      claim: an equality sign\n"
        "  values    a = 6 (line 1)\n"
        "  outcome   follows from the error on line 1"
    )


def test_the_finding_and_the_reason_are_part_of_it():
    assert "  error     It is not so." in explain(checked("a.md", WORK), read_line("a.md:1"), Style())
    assert "  outcome   undecided: letters without a value" in explain(checked("a.md", WORK), read_line("a.md:3:1"), Style())
    assert "  unread    Nobody can read it." in explain(checked("a.md", "UNREAD"), read_line("a.md:1"), Style())


def test_a_line_without_a_relation_names_the_nearest():
    output = explain(checked("a.md", f"{WORK}\n\nno more"), read_line("a.md:7"), Style())
    assert output.endswith(
        "  nothing   No relation of a formula stands on this line. The nearest lines that have one: 3, 4, 5."
    )


def test_a_cell_of_a_notebook_is_explained():
    result = checked("a.ipynb", "one\n\na = 1", cells=[(0, 1), (5, 4)])
    assert explain(result, read_line("a.ipynb:4:1"), Style()).startswith("a.ipynb:4:1\n  a = 1\n\n  1         a = 1\n")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("a.md", "--explain needs FILE:LINE, for example notes.md:12 (in a notebook FILE:CELL:LINE); it got 'a.md'."),
        ("a.md:0", "--explain needs FILE:LINE, for example notes.md:12 (in a notebook FILE:CELL:LINE); it got 'a.md:0'."),
    ],
)
def test_the_message_for_a_line_that_is_none(asked, message):
    with pytest.raises(WorkingsError) as caught:
        read_line(asked)
    assert str(caught.value) == message


def test_the_messages_for_lines_that_are_not_there():
    with pytest.raises(WorkingsError) as caught:
        explain(checked("a.md", WORK), read_line("a.md:9"), Style())
    assert str(caught.value) == "There is no a.md:9: it has 5 lines."
    notebook = checked("a.ipynb", "one", cells=[(0, 3)])
    with pytest.raises(WorkingsError) as caught:
        explain(notebook, read_line("a.ipynb:1"), Style())
    assert str(caught.value) == "a.ipynb is a notebook: name the cell and its line, FILE:CELL:LINE (a.ipynb:3:1)."
    with pytest.raises(WorkingsError) as caught:
        explain(notebook, read_line("a.ipynb:1:1"), Style())
    assert str(caught.value) == "There is no a.ipynb:1:1: cells with text are 3."


# ------------------------------------------------------------------------------------------------- files


def test_json_has_relations_and_consequences():
    whole = json.loads(json_form([checked("a.md", WORK), checked("b.md", WORK)], "likely"))
    file = whole["files"][0]
    [found] = file["findings"]
    assert [(part["line"], part["says"]) for part in found["consequences"]] == [(2, "b = 12")]
    assert [relation["outcome"] for relation in file["relations"]] == ["wrong", "follows", "undecided", "no claim", "right"]
    assert file["relations"][1]["cause"]["line"] == 1
    assert file["relations"][2]["reason"] == "letters without a value"
    assert file["counts"]["undecided"] == {"letters without a value": 1}
    [same] = whole["same"]
    assert [place["file"] for place in same["places"]] == ["a.md", "b.md"]
    assert whole["counts"]["claims"] == 8


def test_csv_is_a_row_for_each_file():
    results = [checked("a, b.md", WORK), Report("=1.md", failure="There is no file =1.md.")]
    head, first, second = csv.reader(io.StringIO(csv_form(results)))
    assert head == ("file formulas unread claims decided right wrong follows error likely note possible problem".split())
    assert first == ["a, b.md", "22", "0", "4", "3", "1", "1", "1", "1", "0", "0", "0", ""]
    assert second[0] == "'=1.md"  # a spreadsheet computes nothing
    assert second[-1] == "There is no file =1.md."


def test_the_page_links_cause_and_consequence():
    page = html([checked("a.md", WORK)], "likely")
    assert '<a href="#line-1-2">line 2</a> follows from it' in page
    assert 'follows from <a href="#finding-1">line 1</a>' in page
    assert page.count('id="line-1-2"') == 1


def test_the_page_unfolds_how_a_line_was_read():
    page = html([checked("a.md", WORK)], "likely")
    assert page.count('<details class="read">') == 5
    assert "<b>claim, undecided: letters without a value</b> an equality sign" in page
    assert [page.count(f'<span class="mark {kind}"') for kind in ("wrong", "follows", "undecided", "right")] == [1] * 4
    assert "3 of 4 claims decided; 1 not: 1 letters without a value" in page


def test_the_page_of_several_files_has_their_table_and_groups():
    page = html([checked("a.md", WORK), checked("b.md", WORK)], "likely", ["c.pdf"])
    assert '<a href="#file-2">b.md</a></th><td>4</td><td>3</td><td class="error">1</td>' in page
    assert page.count("and 1 more like it") == 1  # one entry for both
    assert '<dt>also in</dt><dd><a href="#finding-2">b.md:1:10</a></dd>' in page
    assert "Not read: c.pdf." in page


def test_the_font_is_on_the_page_where_there_is_mathematics():
    assert "font/woff2;base64," in html([checked("a.md", WORK)], "likely")
    assert "font/woff2" not in html([checked("a.md", "fine")], "likely")


def test_a_document_that_was_not_checked_to_its_end():
    result = replace(checked("a.md", WORK), unfinished="a.md: it takes longer than 1 s.")
    assert '<p class="failure">a.md: it takes longer than 1 s.</p>' in html([result], "likely")
    assert json.loads(json_form([result], "likely"))["files"][0]["unfinished"] == "a.md: it takes longer than 1 s."
    run = json.loads(sarif([result], "likely"))["runs"][0]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["results"]) == 1


def test_a_whole_document_of_relations_is_read_in_one_pass():
    result = checked("a.md", "\n".join(f"{i} = {i}" for i in range(3000)) + "\nWRONG")
    [found] = result.findings()
    assert Links(result).relation_of(found) is None
    found = replace(found, start=0, end=1)
    assert Links(result).relation_of(found) is result.relations[0]
