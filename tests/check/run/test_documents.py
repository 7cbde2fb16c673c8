"""Whole documents: correct ones stay without an alarm, in wrong ones the wrong lines are named."""

from pathlib import Path

import pytest

from workings.check.extract import read
from workings.check.run.checker import check_document

CORRECT = sorted((Path(__file__).parents[3] / "bench" / "documents").iterdir())
WRONG = Path(__file__).parents[1] / "documents"

LINES = {
    "wrong-attention.md": {"14", "24", "36", "40", "44"},
    "wrong-calculus.md": {"3", "7", "17", "28", "33", "35", "37"},
    "wrong-cnn.md": {"8", "14", "18", "22", "28", "36", "42", "57"},
    "wrong-homework.tex": {"18", "21", "23", "47", "48", "49", "51", "59"},
    "wrong-lenet.ipynb": {"cell 1:7", "cell 1:10", "cell 3:11", "cell 4:9", "cell 5:3", "cell 5:7"},
    "wrong-mixed.txt": {"10", "13", "28", "37", "46", "54", "63", "67"},
    "wrong-mlp.tex": {"12", "14", "18", "21", "23", "25", "27", "29"},
    "wrong-notes.md": {"7", "11", "13", "21", "33", "37", "42", "56", "60"},
    "wrong-prob.txt": {"5", "8", "12", "16", "19", "21", "25", "29"},
    "wrong-third-1.tex": {"11", "16", "18", "22", "25", "30", "33", "39", "41"},
    "wrong-third-2.md": {"15", "19", "27", "39", "41", "47", "52", "58"},
    "wrong-third-3.md": {"11", "13", "19", "34", "47", "55", "61", "63", "67"},
    "wrong-third-4.txt": {"7", "8", "17", "19", "26", "35", "41", "49", "53"},
}
"""For each document the lines with a deliberate error that is found, at least as a note."""
FOLLOWING = {"wrong-notes.md": {"17", "25", "46"}, "wrong-attention.md": {"28"}}
"""Lines that calculate on with a wrong value and do not fit to it."""


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.name)
def test_no_false_alarm(path):
    document = read(path)
    found = check_document(document)
    alarms = [(str(document.place(f.start)), f.says, f.why) for f in found.findings if f.level in ("error", "likely")]
    assert alarms == []
    closed = [relation for relation in found.relations if relation.reason == "" and relation.outcome == "undecided"]
    assert found.counts.decided > 0 and closed == []
    assert found.counts.unread <= 0.03 * found.counts.formulas


@pytest.mark.parametrize("name, lines", LINES.items())
def test_the_wrong_lines_are_named(name, lines):
    found = lines_found(name)
    wrong = lines | FOLLOWING.get(name, set())
    assert found["error"] | found["likely"] <= wrong <= set().union(*found.values())


def test_most_of_the_wrong_lines_are_likely():
    """These documents are full of errors, which makes the checker doubt itself: in most it does not.

    What rests on shapes, derivatives and values of letters was seldom real on documents of others, and is a note here too.
    """
    sure = [lines & (found["error"] | found["likely"]) for name, lines in LINES.items() if (found := lines_found(name))]
    assert sum(map(len, sure)) >= 0.65 * sum(map(len, LINES.values()))


def lines_found(name: str) -> dict[str, set[str]]:
    """The lines of a document with a finding, by level."""
    document = read(WRONG / name)
    found: dict[str, set[str]] = {level: set() for level in ("error", "likely", "note")}
    for finding in check_document(document).findings:
        found.setdefault(finding.level, set()).add(str(document.place(finding.start)).rpartition(":")[0])
    return found
