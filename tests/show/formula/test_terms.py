"""Long formulas of a page break before their signs, so that gradients fit into their column."""

import shutil

import pytest
import torch
from torch import nn

import workings
from workings.show.formula.notation import mathml_formula
from workings.show.formula.terms import terms, widest
from workings.trace.formula.tree import Apply, Leaf, Number

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LONG = [Leaf(f"a_long_name_of_a_tensor_{i}") for i in range(8)]


def product(*parts):
    first, *rest = parts
    for part in rest:
        first = Apply("mul", (first, part))
    return first


def test_a_long_product_breaks_before_every_sign():
    markup = mathml_formula(product(*LONG))
    parts = terms(markup)
    assert len(parts) == 8 and all(part.startswith("<mrow><mo>⊙</mo>") for part in parts[1:])
    for leaf in LONG:
        assert sum(leaf.text.rpartition("_")[2] in part for part in parts)


def test_a_short_formula_stays_whole():
    markup = mathml_formula(product(Leaf("a"), Leaf("b")))
    assert terms(markup) == [markup]


def test_what_has_no_sign_outside_its_roots_stays_whole():
    markup = mathml_formula(Apply("sqrt", (product(*LONG),)))
    assert terms(markup) == [markup]


def test_long_brackets_are_opened_but_not_around_matrices():
    markup = mathml_formula(product(Leaf("x"), Apply("add", (product(*LONG), Leaf("y")))))
    assert len(terms(markup)) == 10
    fenced = markup.replace("<mi>y</mi>", "<mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable>")
    assert len(terms(fenced)) == 2


def test_how_wide_a_formula_is():
    x = Leaf("x")
    assert widest(Apply("div", (product(x, x), Number(2))), {"x": 20}) == (43, 43)
    assert widest(product(x, x, x), {"x": 20}) == (20, 66)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(3), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        h = torch.tanh(self.fc1(self.norm(x)))
        y = x + self.fc2(h)
        loss = (y.abs() / (1 + y**2)).sum() * torch.exp(-y).mean()
        return loss


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize(("width", "most"), [(1280, 40), (390, 120)])
def test_no_line_of_a_gradient_reaches_far_beyond_its_column(tmp_path, width, most):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    file = tmp_path / "page.html"
    file.write_text(workings.show(Net(), torch.randn(3, 3), backward=True).html(), encoding="utf-8")
    beyond = "e => Math.max(...e.map(x => x.scrollWidth - x.clientWidth))"
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(file.as_uri())
        found = page.eval_on_selector_all(".gradient .pieces", beyond)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert found <= most
