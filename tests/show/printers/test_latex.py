"""LaTeX that compiles and renders: with pdflatex and KaTeX where they are installed."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workings.show.options import Options
from workings.show.printers.latex import document, latex, sections, starred
from workings.show.write.escape import latex_text

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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("example", EXAMPLES)
def test_compiles(example, tmp_path):
    (tmp_path / "work.tex").write_text(document(EXAMPLES[example](), OPEN), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "work.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "work.pdf").exists()


def test_renders_in_katex():
    folder = katex_folder()
    if folder is None:
        pytest.skip("KaTeX is not installed (npm install katex, then KATEX=node_modules)")
    every = [part for example in EXAMPLES.values() for _, kind, part in sections(example(), OPEN) if kind == "display"]
    run = ["node", "-e", RENDER]
    done = subprocess.run(
        run, input=json.dumps(every), capture_output=True, text=True, timeout=120, env={**os.environ, "NODE_PATH": folder}
    )
    assert done.returncode == 0, done.stderr[-2000:]


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
