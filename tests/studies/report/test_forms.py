"""Every form of a result says the same; JSON gives it back."""

from math import inf, nan
from typing import Literal

import pytest

from workings import exact, show
from workings.errors import WorkingsError
from workings.studies import (
    Bars,
    Bounds,
    Boxes,
    Curves,
    Heatmap,
    Histogram,
    Images,
    Line,
    Part,
    Result,
    Scatter,
    Seed,
    Surface,
    Table,
    Text,
    Worked,
    compared,
    proved,
    run,
    study,
)
from workings.studies.pictures.draw import png, svg
from workings.studies.pictures.style import DARK, LIGHT
from workings.studies.report.book import write_book

PICTURES = [
    Curves(
        "A <curve>",
        [1, 10, 100],
        [Line("measured", [1, nan, 3], [0, 1, 2], [2, 3, 4]), Line("law", [1, 2, 3], dashed=True)],
        "d",
        "variance",
        "log",
        claimed=(0.5, 3.5),
        marks=[(10, "here")],
    ),
    Bars("Bars", ["a", "b"], {"x": [1, 2], "y": [2, 1]}, "how much", errors={"x": [0.1, 0.2]}),
    Histogram(
        "How often",
        {"one": [0.1, 0.2, 0.9], "two": [0.5, 0.6, 0.4]},
        "weight",
        bins=5,
        density=Line("law", [1, 1]),
        at=[0, 1],
    ),
    Scatter("Points", {"k": ([0, 1], [1, 0]), "q": ([0.5], [0.5])}, "x", "y", labels=["first", "second"], equal=True),
    Heatmap("Weights", [[0.5, nan], [-0.25, 0.75]], ["to", "be"], ["to", "be"], "key", "query", diverging=True),
    Surface(
        "A ravine",
        [-1, 0, 1],
        [-1, 0, 1],
        [[2, 1, 2], [1, 0.1, 1], [2, 1, 2]],
        {"SGD": ([-1, 0], [1, 0])},
        "x",
        "y",
        log=True,
    ),
    Images("Digits", [[[[0, 1], [1, 0]], [[1, 1], [0, 0]]]], [["zero", "one"]], ["row"]),
    Boxes("A network", [("Conv", "28×28"), ("Linear", "10")]),
]


@study(rows=("A1", "A2"))
def everything(seed: Seed = 0, broken: Literal["", "the sum"] = "") -> list[Part]:
    """One of <each>.

    What else there is to say.
    """

    def double(x):
        y = 2 * x
        return y

    total = 3 if broken else 2
    return [
        proved("1 + 1 = 2 & no more", total == 2, f"1 + 1 is {total}", reference="Peano"),
        compared("ε is small", 0.1 * (1 if not broken else 20), Bounds(high=1), "ε"),
        Table("Figures | of all kinds", ["what", "value"], [["a", 0.123456], ["b|c", None], ["d", inf]], "A note."),
        Worked("Worked exactly", show(double, exact("1/2"))),
        Text("Some words about_it."),
        *PICTURES,
    ]


@pytest.fixture(scope="module")
def result() -> Result:
    return run(everything)


def test_json_gives_it_back(result):
    again = Result.from_json(result.json())
    assert again.json() == result.json()
    assert again.text() == result.text() and again.html() == result.html() and again.verdict is result.verdict


def test_damaged_json_is_refused(result):
    for text in ("", "{}", result.json()[:-20], result.json().replace('"format": 1', '"format": 9')):
        with pytest.raises(WorkingsError, match="result"):
            Result.from_json(text)


def test_text(result):
    text = result.text(width=80)
    for words in (
        "everything  A1 A2  ✓ holds",
        "1 + 1 = 2 & no more",
        "exact arithmetic; Peano",
        "broken (the sum), it fails, as it must",
        "ε 0.1 (wanted: at most 1)",
        "0.1235",
        "A note.",
        "measured  ▁ █",
        "y = 2·x = 2·(1/2) = 1",
    ):
        assert words in text, words
    assert max(map(len, text.split("\n"))) <= 80 or "torch" in text
    assert "\x1b[32m✓ holds\x1b[0m" in result.text(colour=True)


def test_markdown_and_latex_escape_what_others_wrote(result):
    assert "One of &lt;each&gt;" in result.markdown() and "b\\\\|c" in result.markdown()
    latex = result.latex()
    assert r"1 + 1 = 2 \& no more" in latex and "\\addplot+[dashed, mark=none] coordinates {(1,1) (10,2) (100,3)};" in latex
    assert "(U+" not in latex
    assert result.latex(standalone=True).startswith("\\documentclass")


def test_the_page_is_closed_and_shows_both_grounds(result):
    page = result.html()
    assert "One of &lt;each&gt;" in page and "<each>" not in page
    assert page.count("<img ") == len(PICTURES) == page.count("prefers-color-scheme: dark")
    assert "http:" not in page.replace("http://www.w3.org", "") and "default-src 'none'" in page
    assert '<svg class="interval"' in page and "aria-label=" in page


def test_a_broken_result_says_so():
    broken = run(everything, {"broken": "the sum"})
    assert broken.verdict == "fails" and broken.controls == ()
    assert "Broken on purpose: the sum. Its claims must fail." in broken.html()
    assert "broken on purpose: the sum" in broken.text()


def test_the_book_lists_every_study(result, tmp_path):
    index = write_book(tmp_path / "book", [result]).read_text()
    assert 'href="everything.html"' in index and "1 studies, 2 claims" in index
    assert "All studies" in (tmp_path / "book" / "everything.html").read_text()


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: type(picture).__name__)
def test_pictures_are_drawn_on_both_grounds(picture):
    assert png(picture).startswith(b"\x89PNG")
    light, dark = svg(picture, LIGHT), svg(picture, DARK)
    assert light.startswith("<svg") and LIGHT.ink in light and DARK.ink in dark and "<text" not in light
    assert svg(picture, LIGHT) == light  # the same picture is the same file


def test_a_row_of_a_table_fits_its_columns():
    with pytest.raises(WorkingsError, match=r"^'t' has 2 columns, but a row of 1: \[1\]\.$"):
        Table("t", ["a", "b"], [[1]])


def test_a_notebook_gets_html_and_text(result):
    bundle = result._repr_mimebundle_()
    assert bundle["text/html"].startswith('<div class="workings">') and "<script" not in bundle["text/html"]
    assert bundle["text/plain"] == str(result)
