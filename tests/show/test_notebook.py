"""Works, exact tensors, answers and reports in notebooks: executed in Jupyter and in marimo, rendered in a browser."""

import re
import shutil
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest
import torch

from workings import exact, show
from workings.check import check

MIME = {"text/plain", "text/html", "text/latex"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FENCES = """() => [...document.querySelectorAll("mo[form=prefix]")]
  .filter((mo) => mo.nextElementSibling?.tagName === "mtable")
  .map((mo) => mo.getBoundingClientRect().height / mo.nextElementSibling.getBoundingClientRect().height)"""
ATTENTION = """def attention(Q, K, V):
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z
"""
SHOWN = 'work = show(attention, exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1"), backward=True)'


def f(x):
    y = x * x
    return y


def values() -> dict:
    work = show(f, exact("1 1/2; sqrt(2) 0"))
    return {
        "work": work,
        "exact": exact("1 1/2; sqrt(2) 0"),
        "why": work.why("y", (0, 1)),
        "diff": work.diff(work),
        "check": check("So $1/2 + 1/3 = 4/6$ holds.", kind="markdown"),
    }


@pytest.mark.parametrize("kind", ["work", "exact", "why", "diff", "check"])
def test_every_answer_has_text_html_and_latex(kind):
    value = values()[kind]
    found = value._repr_mimebundle_()
    assert set(found) == MIME and all(found.values())
    assert "<script" not in found["text/html"] and "<style>" in found["text/html"]
    assert ("@font-face" in found["text/html"]) == ("<math" in found["text/html"])


def test_an_exact_tensor_by_hand():
    found = exact("1 1/2")._repr_mimebundle_()
    assert found["text/latex"] == r"$\displaystyle \left[1,\ \frac{1}{2}\right] = \left[1.0,\ 0.5\right]$"
    assert found["text/plain"] == repr(exact("1 1/2"))
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in found["text/html"]


def test_an_answer_is_text_that_prints_without_quotes():
    answer = show(f, torch.tensor([3.0])).why("y", 0)
    assert answer == "y[0] = 9, since y = x ⊙ x\n  x[0] = 3" == repr(answer)
    assert answer._repr_mimebundle_()["text/latex"].splitlines() == [
        r"\begin{align*}",
        r"& y[0] = 9,\ \text{since } y = x \odot x \\",
        r"& \quad x[0] = 3",
        r"\end{align*}",
    ]
    assert answer._repr_mimebundle_()["text/html"].count("<li>") == 2


def test_the_latex_of_a_report_holds_no_formula_of_the_document_as_it_is():
    found = check(r"So $1/2 + 1/3 = 4/6 \text{ & } $ and $2 + 2 = 5$.", kind="markdown")._repr_mimebundle_()
    assert re.search(r"\\item line 1, (error|likely): \\texttt\{2 \+ 2 = 5\}", found["text/latex"])
    assert found["text/html"].count('class="finding error"') >= 1


def test_text_of_others_stays_text_in_a_report():
    page = check("So $2 + 2 = 5$ <img src=x onerror=alert(1)>", kind="markdown")._repr_mimebundle_()["text/html"]
    assert "<img" not in page and "&lt;img" in page


# ------------------------------------------------------------------------------------------- real notebooks


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.mark.filterwarnings("ignore")  # those of the tools
def test_in_jupyter(browser, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="Jupyter is not installed")
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    convert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    cells = [
        'from workings import exact, show\nfrom workings.check import check\nexact("1 0; 1/sqrt(2) 1")',
        f"{ATTENTION}\n{SHOWN}\nwork",
        'work.why("A", (1, 0))',
        'check("So $1/2 + 1/3 = 4/6$ holds.", kind="markdown")',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    for cell in notebook.cells:
        (output,) = (out for out in cell.outputs if out.output_type == "execute_result")
        assert set(output.data) == MIME
    page, _ = convert.HTMLExporter().from_notebook_node(notebook)
    file = tmp_path / "notebook.html"
    file.write_text(page, encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(file.as_uri())
    assert all(0.95 < ratio < 1.15 for ratio in tab.evaluate(FENCES)) and len(tab.evaluate(FENCES)) > 10
    assert tab.locator(".work .steps").first.bounding_box()["x"] == tab.locator(".work h1").first.bounding_box()["x"]
    assert tab.locator(".check .finding").is_visible()
    tab.close()


APP = """import marimo

app = marimo.App()


@app.cell
def _():
    from workings import exact, show

{attention}
    {shown}
    work
    return (work,)


@app.cell
def _(work):
    work.why("A", (1, 0))
"""


def test_in_marimo(browser, tmp_path):
    """Served by marimo itself; what it exports loads its front end from the network."""
    pytest.importorskip("marimo", reason="marimo is not installed")
    attention = "".join(f"    {line}\n" for line in ATTENTION.splitlines())
    (tmp_path / "app.py").write_text(APP.format(attention=attention, shown=SHOWN), encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", "--port", "28471"]
    served = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        wait_for("http://127.0.0.1:28471/health")
        tab.goto("http://127.0.0.1:28471/")
        tab.locator(".why li").first.wait_for(timeout=60_000)
        assert tab.locator(".work h1").text_content() == "attention"
        assert all(0.95 < ratio < 1.15 for ratio in tab.evaluate(FENCES)) and len(tab.evaluate(FENCES)) > 10
        tab.close()
    finally:
        served.terminate()
        served.wait()


def wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)
