"""The worked examples of CONTRIBUTING.md: short, and what they add works everywhere (`test_docs.py` runs them)."""

import pytest
from typer.testing import CliRunner

from tests.test_docs import check_python
from tools.docs_blocks import ROOT, blocks
from workings.cli import app
from workings.train.recipes import RECIPES

EXAMPLES = [block for block in blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) if block.language == "python"]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"line {block.line}")
def test_an_example_is_short(block):
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 30


def test_the_recipe_trains_and_answers(tmp_path, monkeypatch):
    monkeypatch.setitem(RECIPES, "parity", check_python(EXAMPLES, "CONTRIBUTING.md")["Parity"]())
    run = str(tmp_path / "run")
    for words in (["train", "parity", "--rate", "0.1", "--steps", "60", "--out", run], ["generate", run, "--prompt", "7"]):
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert done.stdout == "odd\n"
