"""The page in a real browser, on a machine with one plain text font: brackets grow, keys, search, links, both widths."""

import os
import shutil
from pathlib import Path

import matplotlib
import pytest
import torch

from workings import exact, show
from workings.show.options import Options
from workings.show.printers.html import html
from workings.trace.record import Trace
from workings.trace.step import Step

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium that knows no font but Computer Modern Roman in its old form, without a MATH table."""
    folder = tmp_path_factory.mktemp("fonts")
    shutil.copy(Path(matplotlib.get_data_path()) / "fonts/ttf/cmr10.ttf", folder)
    config = folder / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>", encoding="utf-8")
    with playwright.sync_playwright() as running:
        environment = {**os.environ, "FONTCONFIG_FILE": str(config)}
        launched = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=environment)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page; at the end, it has logged nothing and asked for nothing."""
    contexts, said = [], []

    def open_(page: str, viewport=WIDE, **settings):
        file = tmp_path / f"{len(contexts)}.html"
        file.write_text(page, encoding="utf-8")
        contexts.append(browser.new_context(viewport=viewport, **settings))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: said.append(request.url) if request.url[:5] not in ("file:", "data:") else None)
        tab.goto(file.as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert said == []


def attention(Q, K, V):
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


@pytest.fixture(scope="module")
def worked() -> str:
    return show(attention, exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1"), backward=True).html()


def network(x):
    def block(h, i):
        W = torch.full((12, 12), 0.1 * i)
        h = torch.tanh(h @ W)
        return h

    for i in range(8):
        x = block(x, i)
    y = x.sum()
    return y


@pytest.fixture(scope="module")
def long() -> str:
    torch.manual_seed(0)
    return show(network, torch.randn(12, 12)).html(depth=1)


FENCE = """() => {
  const [fence, table] = [...document.querySelectorAll("mo[form=prefix]")].map((mo) => [mo, mo.nextElementSibling]).at(-1);
  return fence.getBoundingClientRect().height / table.getBoundingClientRect().height;
}"""


@pytest.mark.parametrize("rows", [2, 5, 8])
def test_brackets_grow_without_a_font_for_mathematics_on_the_machine(opened, rows):
    page = html(Trace(Step("root", children=[Step("assign", "m", result=torch.ones(rows, 2))])), Options())
    assert 0.98 < opened(page).evaluate(FENCE) < 1.1
    without = page.replace('@font-face { font-family: "Workings Math"', '@font-face { font-family: "Unused"')
    tab = opened(without.replace("<meta http-equiv", "<meta name"))  # the policy knows the style by its hash
    assert tab.evaluate(FENCE) < 0.7


def test_forward_and_backward_stand_side_by_side_where_there_is_room(opened, worked):
    left, right = "#A > .forward", "#A > .gradients"
    wide, narrow = opened(worked), opened(worked, NARROW)
    assert wide.locator(right).bounding_box()["x"] > wide.locator(left).bounding_box()["x"] + 300
    assert wide.locator(right).bounding_box()["y"] == pytest.approx(wide.locator(left).bounding_box()["y"], abs=12)
    assert narrow.locator(right).bounding_box()["y"] > narrow.locator(left).bounding_box()["y"] + 50


@pytest.mark.parametrize("viewport", [WIDE, NARROW, {"width": 320, "height": 600}], ids=["1280", "390", "320"])
def test_nothing_scrolls_sideways_but_a_formula(opened, worked, long, viewport):
    several = {"a_rather_long_key": torch.randn(40), "loss": 1, "long": "word" * 200}
    wide = html(
        Trace(Step("root", children=[Step("input", "i", result=torch.arange(40)), Step("assign", "o", result=several)])),
        Options(),
    )
    for page in (worked, long, wide):
        tab = opened(page, viewport)
        assert tab.locator(".solution").bounding_box()["width"] > 0.75 * viewport["width"]
        assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def test_every_line_of_an_equation_begins_on_its_sign(opened, worked):
    tab = opened(worked, NARROW)
    lefts = tab.evaluate(
        """() => [...document.querySelectorAll("#S > .forward .pieces > math")].map((piece) => {
          const sign = piece.querySelector("mo").getBoundingClientRect();
          return [Math.round(piece.getBoundingClientRect().left), Math.round(sign.left)];
        })"""
    )
    starts = {left for left, _ in lefts}
    assert len(lefts) == 4 and min(starts) == lefts[-1][0] == lefts[0][0]  # the last piece stands on a line of its own
    assert all(sign - left < 6 for left, sign in lefts)


def test_decimal_points_stand_under_each_other(opened):
    x = torch.tensor([[1.5], [-20.25], [0.0], [100.125]])
    tab = opened(html(Trace(Step("root", children=[Step("assign", "m", result=x)])), Options()))
    edges = tab.evaluate(
        """() => [...document.querySelectorAll("mtd")].map((cell) => {
          const range = document.createRange();
          const digits = cell.querySelector("mn").firstChild;
          const point = digits.data.indexOf(".");
          range.setStart(digits, 0);
          range.setEnd(digits, point < 0 ? digits.data.length : point);
          return range.getBoundingClientRect().right;
        })"""
    )
    assert max(edges) - min(edges) < 1


def test_keys_step_through_the_statements(opened, worked):
    tab = opened(worked)
    current = "document.querySelector('.step[aria-current]')?.id"
    ids = []
    for key in "jjjjkk":
        tab.keyboard.press(key)
        ids.append(tab.evaluate(current))
    assert ids == ["Q", "K", "V", "S", "V", "K"]
    assert tab.evaluate("location.hash") == "#K" and tab.evaluate("document.activeElement.id") == "K"


def test_an_address_unfolds_the_statement_it_names(opened, long):
    tab = opened(long)
    wanted = tab.evaluate("[...document.querySelectorAll('.step')].find((s) => s.id.endsWith('.W')).id")
    step = tab.locator(f"[id='{wanted}']")
    assert not step.is_visible()
    tab.evaluate("(id) => { location.hash = encodeURIComponent(id); }", wanted)
    step.wait_for(state="visible")
    assert step.get_attribute("aria-current") == "step"


def test_search_lists_statements_and_leads_to_them(opened, long):
    tab = opened(long)
    tab.keyboard.press("/")
    tab.keyboard.type("tanh")
    found = tab.locator("#found a")
    assert tab.locator("#found li").first.text_content() == "8 found"
    assert found.count() == 8 and found.first.locator("mark").text_content() == "tanh"
    found.nth(4).click()
    current = tab.locator(".step[aria-current]")
    assert current.is_visible() and "tanh" in current.locator("code").first.text_content()
    tab.keyboard.press("Escape")
    assert tab.locator("#found").is_hidden() and tab.locator(".contents > ul").is_visible()


def test_buttons_unfold_and_fold_all(opened, long):
    tab = opened(long)
    tab.get_by_role("button", name="Unfold all").click()
    assert tab.locator("details.inside:not([open])").count() == 0
    tab.get_by_role("button", name="Fold all", exact=True).click()
    assert tab.locator("details.inside[open]").count() == 0


def test_both_themes_and_a_switch(opened, long):
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(long, color_scheme="light"), opened(long, color_scheme="dark")
    before = light.evaluate(colour)
    assert before != dark.evaluate(colour)
    light.get_by_role("button", name="Theme").click()
    assert light.evaluate(colour) == dark.evaluate(colour)


def test_a_cell_of_a_picture_says_its_number(opened):
    x = torch.arange(200.0).reshape(10, 20)
    page = html(Trace(Step("root", children=[Step("assign", n, result=x) for n in "ab"])), Options())
    tab = opened(page)
    for name in "ab":  # the second picture is the first once more
        picture = tab.locator(f"#{name} svg.heatmap")
        box = picture.bounding_box()
        tab.mouse.move(box["x"] + 20, box["y"] + 4)
        said = tab.locator(f"#{name} output").text_content()
        assert said == "row 0, column 1: 1"
        picture.focus()
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowDown")
        assert tab.locator(f"#{name} output").text_content() == "row 1, column 0: 20"


def test_a_printed_page_is_unfolded(opened, long):
    tab = opened(long)
    folded = tab.locator("details:not([open])").count()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert folded and tab.locator("details:not([open])").count() == 0
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details:not([open])").count() == folded


def test_what_can_be_reached_by_keyboard_has_a_name(opened, long):
    tab = opened(long)
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll("a, button, input, summary, [tabindex='0']")].filter((part) =>
          !(part.getAttribute("aria-label") || part.textContent.trim())).map((part) => part.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []


def test_without_scripts_the_work_is_there(opened, long):
    tab = opened(long, java_script_enabled=False)
    assert tab.locator(".contents > ul a").first.is_visible()
    summary = tab.locator("details.inside > summary").first
    summary.click()
    assert tab.locator("details.inside .step").first.is_visible()
