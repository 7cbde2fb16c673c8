"""The worked solution in Markdown."""

import importlib.util
import re
from pathlib import Path

import pytest

from workings.show.options import Options
from workings.show.printers.markdown import markdown
from workings.show.write.escape import markdown_code, markdown_text

spec = importlib.util.spec_from_file_location("golden_record", Path(__file__).parents[2] / "golden" / "record.py")
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)
EXAMPLES = record.EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_display_is_closed(example):
    printed = markdown(EXAMPLES[example](), Options(depth=9))
    fences = re.findall(r"^>* ?\$\$$", printed, re.MULTILINE)
    assert len(fences) % 2 == 0
    assert printed.count(r"\begin{aligned}") + printed.count(r"\begin{gathered}") == len(fences) // 2


def test_what_is_inside_is_quoted():
    printed = markdown(EXAMPLES["nested"](), Options(depth=3))
    assert "\n> **blocks.0: Block**\n" in printed
    assert "\n>>> **blocks.0.attn: CausalAttention**\n" in printed


def test_large_values_are_a_table():
    printed = markdown(EXAMPLES["large"]())
    assert "| value | type | shape |" not in printed
    assert "| `ids` | 100 | int64 | 0 … 99  ████████████ | 49.5 | 28.87 |" in printed


def test_an_error_lists_its_operands():
    printed = markdown(EXAMPLES["cnn"]())
    assert "**fails:** `scores = fc(x)`\n\n- `x` is (1×144)\n\nnn.Linear(120, 10) received 144 features" in printed


def test_names_are_text():
    printed = markdown(EXAMPLES["hostile"]())
    assert "<script>" not in re.sub(r"`[^`]*`", "", printed)
    assert markdown_text("1. *a* | <b>") == r"1\. \*a\* \| &lt;b&gt;"
    assert markdown_code("``") == "``` `` ```"
