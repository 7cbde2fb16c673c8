"""LaTeX that compiles and renders: with pdflatex and KaTeX where they are installed."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import workings
from workings.show.options import Options
from workings.show.printers import shape_forms
from workings.show.printers.latex import document, latex, sections, starred
from workings.show.write.escape import latex_text
from workings.trace.shapes.report import shapes

spec = importlib.util.spec_from_file_location("golden_record", Path(__file__).parents[2] / "golden" / "record.py")
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)
EXAMPLES = record.EXAMPLES
OPEN = Options()

RENDER = """
const katex = require('katex');
for (const display of JSON.parse(require('fs').readFileSync(0)))
    katex.renderToString(display, {displayMode: true, throwOnError: true, strict: 'error'});
"""


def katex_folder():
    """Where npm put KaTeX: the folder in $KATEX, or here, or npm's own."""
    folders = [os.environ.get("KATEX", ""), "node_modules"]
    if shutil.which("npm") and shutil.which("node"):
        found = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, timeout=60)
        folders.append(found.stdout.strip())
    return next((str(Path(f).resolve()) for f in folders if f and (Path(f) / "katex").is_dir()), None)


ENGINES = ("pdflatex", "xelatex", "lualatex")
ENGINE = next(filter(shutil.which, ENGINES), None)


def compiles(source, folder):
    """Compile a document with the LaTeX that is here."""
    (folder / "work.tex").write_text(source, encoding="utf-8")
    command = [ENGINE, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "work.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "work.pdf").exists()


@pytest.mark.skipif(ENGINE is None, reason="no LaTeX is installed")
@pytest.mark.parametrize("example", EXAMPLES)
def test_compiles(example, tmp_path):
    compiles(document(EXAMPLES[example](), OPEN), tmp_path)


@pytest.mark.skipif(ENGINE is None, reason="no LaTeX is installed")
def test_a_table_of_shapes_compiles(tmp_path):
    report = shapes(nn.Sequential(nn.Conv2d(1, 8, 5), nn.Flatten(), nn.Linear(6272, 10)), torch.zeros(1, 1, 32, 32))
    compiles(shape_forms.document(report), tmp_path)


def render(displays):
    """Set displays with KaTeX, which refuses what it does not know."""
    folder = katex_folder()
    if folder is None:
        pytest.skip("KaTeX is not installed (npm install katex, then KATEX=node_modules)")
    run = ["node", "-e", RENDER]
    done = subprocess.run(
        run, input=json.dumps(displays), capture_output=True, text=True, timeout=120, env={**os.environ, "NODE_PATH": folder}
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_renders_in_katex():
    render([part for example in EXAMPLES.values() for _, kind, part in sections(example(), OPEN) if kind == "display"])


def test_every_notation_renders_in_katex():
    def f(x, A, S):
        sigma = x.norm(p=1) + x.norm() + A.norm() + torch.linalg.norm(x, float("inf"))
        y = torch.sigmoid(x @ A @ x) * torch.det(A) + torch.trace(torch.linalg.inv(A))
        z = torch.clamp(torch.outer(x, x), 0, 1) / A.norm(dim=-1, keepdim=True)
        p = x.unsqueeze(-1)
        q = S.view(1, 2, 2, 2).transpose(1, 2)
        r = torch.einsum("ij,kl->ijkl", A, A)
        return (y + sigma) * z.sum() + p.sum() + q.sum() + r.sum()

    given = torch.tensor([1.0, 2.0]), torch.tensor([[2.0, 1.0], [0.0, 1.0]]), torch.arange(8.0).reshape(1, 2, 4)
    work = workings.show(f, *given, backward=True)
    render([part for _, kind, part in sections(work, OPEN) if kind == "display"])


def test_a_document_stands_alone():
    work = workings.show(torch.softmax, torch.tensor([0.0, 1.0]), 0)
    alone, fragment = work.latex(standalone=True), work.latex()
    assert fragment.startswith("% needs \\usepackage{amsmath, amssymb}\n\n")
    assert alone.startswith("\\documentclass{article}\n") and alone.endswith("\\end{document}\n")
    assert "\\usepackage{amsmath, amssymb}\n" in alone
    assert fragment.partition("\n\n")[2] in alone


def test_checks_can_be_left_out():
    def loss(x):
        y = x * x
        L = y.sum()
        return L

    work = workings.show(loss, torch.tensor([1.0, 2.0]), backward=True)
    for printed in (work.text, work.latex, work.markdown, work.html):
        assert "rule checked" in printed() and "matches the unmodified run" in printed()
        assert "rule checked" not in printed(checks=False) and "matches the unmodified run" not in printed(checks=False)


def test_what_does_not_match_is_always_said():
    work = workings.show(torch.softmax, torch.tensor([0.0, 1.0]), 0)
    work.agreement, work.matches = "differs from the unmodified run by 1", False
    for printed in (work.text, work.latex, work.markdown, work.html):
        assert "differs from the unmodified run by 1" in printed(checks=False)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_fragment_is_ascii_and_its_braces_match(example):
    fragment = latex(EXAMPLES[example](), OPEN)
    assert fragment.isascii()
    bare = re.sub(r"\\[\\{}]", "", fragment)
    assert bare.count("{") == bare.count("}")
    assert sorted(re.findall(r"\\begin{(\w+\*?)}", fragment)) == sorted(re.findall(r"\\end{(\w+\*?)}", fragment))


def test_attention_by_hand():
    fragment = latex(EXAMPLES["attention"](), Options(substitution="none"))
    assert r"S &= \frac{Q \, K^{\top}}{\sqrt{d}} = \begin{bmatrix} \frac{1}{\sqrt{2}} & \frac{1}{\sqrt{2}} \\" in fragment
    assert r"\approx \begin{bmatrix} 0.5000 & 0.5000 \\ 0.6698 & 0.3302 \end{bmatrix}" in fragment


def test_names_are_escaped():
    fragment = latex(EXAMPLES["hostile"]())
    assert r"\input" not in fragment.replace(r"\textbackslash{}input", "")
    assert latex_text("50% $x_1 #2 {a} & ~^\\") == (
        r"50\% \$x\_1 \#2 \{a\} \& \textasciitilde{}\textasciicircum{}\textbackslash{}"
    )


def test_displays_become_environments():
    assert starred("\\begin{aligned}\na\n\\end{aligned}") == "\\begin{align*}\na\n\\end{align*}"
    assert starred("x = 1") == r"\[x = 1\]"
