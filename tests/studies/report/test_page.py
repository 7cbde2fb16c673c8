"""The page of a study in a real browser: pictures are seen on both grounds, nothing is asked for, no side scrolls."""

import shutil
from typing import Literal

import pytest

from workings.studies import Bounds, Curves, Heatmap, Line, Part, Seed, Table, compared, run, study

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@study(rows=("A1",))
def drawn(seed: Seed = 0, broken: Literal["", "doubled"] = "") -> list[Part]:
    """A long title with a formula, softmax(QKᵀ/√d)V, that has to break on a telephone."""
    return [
        compared("ε is at most 1", 2.0 if broken else 0.5, Bounds(high=1), "ε"),
        Curves("Curves", [1, 2, 3], [Line("a", [1, 2, 3], [0, 1, 2], [2, 3, 4])], "x", "y"),
        Heatmap("A map", [[0.1, 0.9], [0.5, 0.5]], ["to", "be"], ["to", "be"]),
        Table("Many columns", [f"column {i}" for i in range(12)], [[0.123456] * 12]),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "study.html"
    path.write_text(run(drawn).html(), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize(("width", "ground"), [(1280, "light"), (390, "dark")])
def test_pictures_are_seen_and_no_side_scrolls(page, width, ground):
    said = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=ground).new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("request", lambda request: said.append(request.url) if request.url[:5] not in ("file:", "data:") else None)
        tab.goto(page)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        sizes = tab.evaluate("[...document.images].map(i => [i.complete, i.naturalWidth, i.currentSrc.length])")
        light = tab.evaluate("[...document.images].map(i => i.src === i.currentSrc)")
        shown = tab.evaluate("getComputedStyle(document.querySelector('.verdict')).color")
        browser.close()
    assert said == [] and len(sizes) == 2
    assert all(complete and wide > 100 for complete, wide, _ in sizes)
    assert light == [ground == "light"] * 2
    assert shown != "rgb(0, 0, 0)"  # the style is allowed by the page's own policy
