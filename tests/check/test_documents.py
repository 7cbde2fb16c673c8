"""Whole documents: correct ones stay without an alarm, in wrong ones the wrong lines are named."""

from pathlib import Path

import pytest

from workings.check.checker import check
from workings.check.extract import read

CORRECT = sorted((Path(__file__).parents[2] / "bench" / "documents").iterdir())
WRONG = Path(__file__).parent / "documents"

LINES = {
    "wrong-homework.tex": {18, 21, 23, 47, 48, 49, 51, 59},
    "wrong-notes.md": {7, 11, 13, 21, 33, 37, 42, 56, 60},
    "wrong-cnn.md": {8, 14, 22, 28, 36, 42, 57},
    "wrong-mixed.txt": {10, 13, 28, 37, 46, 54, 63, 67},
}
"""For each document the lines with a deliberate error that is found at the level `likely` or above."""
FOLLOWING = {"wrong-notes.md": {25, 46}}
"""Lines that calculate on with a wrong value and do not fit to it."""


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.name)
def test_no_false_alarm(path):
    document = read(path)
    found = check(document)
    alarms = [(str(document.place(f.start)), f.says, f.why) for f in found.findings if f.level in ("error", "likely")]
    assert alarms == []
    assert found.counts.decided >= 0.95 * found.counts.claims > 0
    assert found.counts.unread <= 0.03 * found.counts.formulas


@pytest.mark.parametrize("name, lines", LINES.items())
def test_the_wrong_lines_are_named(name, lines):
    document = read(WRONG / name)
    found = {document.place(f.start).line for f in check(document).findings if f.level in ("error", "likely")}
    assert found == lines | FOLLOWING.get(name, set())
