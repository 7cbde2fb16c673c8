"""The report for a terminal, word for word; lines cut around their claim; nothing of a document moves the cursor."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.check.fake_work import checked
from workings.check.report.excerpt import excerpt, plain
from workings.check.report.report import Report
from workings.check.report.text import BOLD, END, RED, Style, failures, text

WHOLE = """\
a.md:2:4  error  number
  so WRONG it is
     ^^^^^
  written   WRONG
  correct   12/7
  why       It is not so.
  read as   log is ln

1 file: 5 formulas (0 unread), no claims"""


def test_a_whole_report():
    assert text([checked("a.md", "one\nso WRONG it is")], Style()) == WHOLE


def test_the_time_and_what_is_not_listed():
    result = checked("a.md", "ROUNDED ODD ODD")
    assert text([result], Style(seconds=0.26)).split("\n") == [
        "1 file: 3 formulas (0 unread), no claims (0.3 s)",
        "1 finding of level note not listed: --level note",
        "2 findings of level possible not listed: --level possible",
    ]
    assert "not listed" not in text([result], Style(level="possible"))


def test_levels_list_themselves_and_what_is_surer():
    result = checked("a.md", "ODD WRONG ROUNDED DOUBTFUL")
    listed = [[found.level for found in result.findings(level)] for level in ("error", "likely", "note", "possible")]
    assert listed == [
        ["error"],
        ["error", "likely"],
        ["error", "note", "likely"],
        ["possible", "error", "note", "likely"],
    ]


def test_verbose_lists_what_was_not_read_and_counts_each_file():
    result = checked("a.md", "an UNREAD one")
    assert text([result], Style(verbose=True)).startswith(
        "a.md:1:4  unread\n  an UNREAD one\n     ^^^^^^\n  why       Nobody can read it.\n\n"
        "a.md: 3 formulas (1 unread), no claims\n\n1 file:"
    )
    assert "Nobody" not in text([result], Style())


def test_colours():
    first, _, carets, *_ = text([checked("a.md", "so WRONG")], Style(colour=True)).split("\n")
    assert first == f"{BOLD}a.md:1:4{END}  {RED}error{END}  number"
    assert carets == f"     {RED}^^^^^{END}"
    assert "\x1b" not in text([checked("a.md", "so WRONG")], Style())


def test_a_claim_of_several_lines_is_underlined_on_each():
    result = checked("a.md", "a WRONG\n\n   b = 2\n c\nd\ne f")
    found = replace(result.results.findings[0], end=len(result.document.text) - 2)
    result.results.findings[:] = [found]
    assert text([result], Style()).split("\n")[1:8] == [
        "  a WRONG",
        "    ^^^^^",
        "     b = 2",
        "     ^^^^^",
        "   c",
        "   ^",
        "  …",
    ]


def test_a_cell_of_a_notebook_is_named():
    result = checked("a.ipynb", "one\n\nso WRONG", cells=[(0, 1), (5, 4)])
    assert text([result], Style()).startswith("a.ipynb:cell 4:1:4  error  number\n  so WRONG\n     ^^^^^\n")


def test_documents_do_not_reach_the_terminal():
    result = checked("a\x1b[2J.md", "\x1b[31m WRONG \x9b \u202e")
    output = text([result], Style())
    assert not any(c in output for c in "\x1b\x9b\u202e")
    assert failures([Report("a", failure="a\x1bb\nc is gone.")]) == "a�b c is gone."


def test_long_sentences_are_wrapped_under_themselves():
    result = checked("a.md", "WRONG")
    result.results.findings[:] = [replace(result.results.findings[0], why="word " * 20)]
    lines = text([result], Style(width=40)).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("  why"))
    assert lines[at : at + 2] == [  # 40 − 12 columns hold five words of 4 and four spaces
        "  why       word word word word word",
        "            word word word word word",
    ]


@pytest.mark.parametrize(
    ("line", "start", "end", "columns", "shown", "carets"),
    [
        ("a = 3", 0, 5, 20, "a = 3", "^^^^^"),
        ("\ta = 3", 1, 2, 20, "    a = 3", "    ^"),
        ("ab\tc = 3", 3, 4, 20, "ab  c = 3", "    ^"),  # a tab goes to the next column of 4
        ("数 = 3", 0, 1, 20, "数 = 3", "^^"),  # two columns wide
        ("x\u0304 = 3", 3, 4, 20, "x\u0304 = 3", "  ^"),  # x̄ takes one column
        ("abc", 3, 3, 20, "abc", "   ^"),  # right behind the line
        # 22 columns leave 20 between the two …; the claim begins 20 // 3 = 6 columns into them.
        ("a" * 50 + "XY" + "b" * 50, 50, 52, 22, "…" + "a" * 6 + "XY" + "b" * 12 + "…", "       ^^"),
        # A claim wider than the window is shown from 4 columns before it.
        ("a" * 50 + "X" * 50, 50, 100, 22, "…aaaa" + "X" * 16 + "…", "     " + "^" * 16),
        ("XY" + "b" * 50, 0, 2, 22, "XY" + "b" * 18 + "…", "^^"),
        ("a" * 50 + "XY", 50, 52, 22, "…" + "a" * 18 + "XY", " " * 19 + "^^"),
    ],
)
def test_excerpts(line, start, end, columns, shown, carets):
    assert excerpt(line, start, end, columns) == (shown, carets)


@given(
    st.text(st.characters(exclude_characters="\n"), max_size=60), st.integers(0, 60), st.integers(0, 60), st.integers(5, 40)
)
def test_an_excerpt_fits_and_its_carets_stand_under_it(line, start, length, columns):
    start = min(start, len(line))
    shown, carets = excerpt(line, start, start + length, columns)
    assert cell_len(shown) <= columns
    assert carets.strip() == "^" * len(carets.strip()) != ""
    assert len(carets) <= columns + 1
    assert not any(ord(c) < 32 for c in shown)


def test_plain_is_one_line():
    assert plain("a\n  b\tc") == "a b c"
