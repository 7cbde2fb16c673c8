"""Every command, given text that tries to move the cursor, colour or rename the terminal: nothing of it arrives."""

import re

import pytest

from tests.cli.command import workings

COLOUR = "\x1b[45m"
EVIL = f"{COLOUR}\x1b]0;x\x07\x1b[2J\x9b3m\x08\x7f\u202e"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
OWN = re.compile("\x1b\\[[0-9;]*m|\r\x1b\\[K")
"""Our own colours, of which COLOUR is none, and what takes a line of progress back."""

CODE = f'''
import torch
from torch import nn


def f(x, label="{EVIL}"):
    "{EVIL}"
    words = {{"{EVIL}": label, "b": ["{EVIL}"]}}
    y = x * 2  # {EVIL}
    z = y.sum() if words["{EVIL}"] else y
    print(words["b"])
    return z


def g(x):
    y = x * 2
    raise ValueError("{EVIL}")


net = nn.Sequential(nn.Linear(2, 2))
net.add_module("{EVIL}".replace(".", ""), nn.ReLU())


class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({{"{EVIL}": nn.Linear(2, 2)}})

    def extra_repr(self):
        return "{EVIL}"

    def forward(self, x):
        y = self.parts["{EVIL}"](x)
        return y


n = N()


def h(x):
    return net(x)
'''
NOTES = f"""# Problem {EVIL}

Let $a = 2{EVIL}$ and ${EVIL}b = 3$. Then $a + b = 6${EVIL}.

{EVIL} So $2 + 2 = 5$, {EVIL} and $\\text{{{EVIL}}} 3 \\cdot 4 = 13$, and $x{EVIL} = \\foo{{{EVIL}}}$.

```python {EVIL}
print("{EVIL}")
assert 1 == 2, "{EVIL}"
```
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evil.py").write_text(CODE)
    (tmp_path / f"no{EVIL}tes.md").write_text(NOTES)
    (tmp_path / "notes.md").write_text(NOTES)
    (tmp_path / "notes.tex").write_text(NOTES)
    (tmp_path / f"ev{EVIL}il.py").write_text(CODE)
    return tmp_path


COMMANDS = {
    "show": ["show", "evil.py:f", "1 2"],
    "show error": ["show", "evil.py:g", "1 2"],
    "show backward": ["show", "evil.py:f", "1 2", "--backward"],
    "show latex": ["show", "evil.py:f", "1 2", "--latex"],
    "show markdown": ["show", "evil.py:f", "1 2", "--markdown"],
    "show json": ["show", "evil.py:f", "1 2", "--json"],
    "show label": ["show", "evil.py:f", "1 2", f"label={EVIL}"],
    "show net": ["show", "evil.py:h", "1 2", "--depth", "4"],
    "show n": ["show", "evil.py:n", "1 2", "--depth", "4", "--backward"],
    "show value": ["show", "evil.py:f", EVIL],
    "show name": ["show", f"evil.py:{EVIL}", "1"],
    "show file": ["show", f"ev{EVIL}il.py:f", "1 2"],
    "show no file": ["show", f"{EVIL}.py:f", "1 2"],
    "show only": ["show", "evil.py:f", "1 2", "--only", EVIL],
    "show option": ["show", "evil.py:f", "1 2", f"--{EVIL}"],
    "show help": ["show", "evil.py:f", "--help"],
    "show missing": ["show", "evil.py:f"],
    "shapes": ["shapes", "evil.py:net", "--input", "1x2"],
    "shapes n": ["shapes", "evil.py:n", "--input", "1x2"],
    "shapes wrong": ["shapes", "evil.py:n", "--input", "1x3"],
    "shapes latex": ["shapes", "evil.py:net", "--input", "1x2", "--latex"],
    "shapes markdown": ["shapes", "evil.py:net", "--input", "1x2", "--markdown"],
    "shapes size": ["shapes", "evil.py:net", "--input", EVIL],
    "shapes html": ["shapes", "evil.py:net", "--input", "1x2", "--html", f"{EVIL}.html"],
    "show html": ["show", "evil.py:f", "1 2", "--html", f"{EVIL}.html"],
    "check": ["check", "notes.md", "--level", "possible", "--no-cache", "--jobs", "1"],
    "check tex": ["check", "notes.tex", "--level", "possible", "--no-cache", "--jobs", "1"],
    "check file": ["check", f"no{EVIL}tes.md", "--level", "possible", "--no-cache", "--jobs", "1"],
    "check verbose": ["check", "notes.md", f"no{EVIL}tes.md", "--verbose", "--undecided", "--no-cache", "--jobs", "1"],
    "check json": ["check", f"no{EVIL}tes.md", "--json", "--no-cache", "--jobs", "1"],
    "check explain": ["check", "--explain", "notes.md:3", "--no-cache"],
    "check explain 5": ["check", "--explain", f"no{EVIL}tes.md:5", "--no-cache"],
    "check code": ["check", f"no{EVIL}tes.md", "--run-code", "--no-cache", "--jobs", "1", "--level", "possible"],
    "check html": ["check", "notes.md", "--html", f"{EVIL}.html", "--csv", f"{EVIL}.csv", "--sarif", f"{EVIL}.sarif"],
    "check none": ["check", f"{EVIL}.md"],
    "exact": ["exact", f"1 + {EVIL}"],
    "exact letter": ["exact", f"w_{EVIL}"],
    "data": ["data", "path", EVIL],
    "train": ["train", EVIL],
    "train option": ["train", "shakespeare", f"--{EVIL}", "3"],
    "train text": ["train", "shakespeare", "--text", f"{EVIL}.txt"],
    "eval": ["eval", f"{EVIL}"],
    "generate": ["generate", EVIL],
    "neighbors": ["neighbors", EVIL, "--vectors", f"{EVIL}.txt"],
    "systems": ["systems", EVIL],
    "command": [EVIL],
    "option": [f"--{EVIL}"],
}


def _check_harmless(done):
    for printed in (done.stdout, done.stderr):
        assert COLOUR not in printed and not CONTROL.findall(OWN.sub("", printed)), repr(printed)


@pytest.mark.parametrize("name", COMMANDS)
def test_words_code_and_documents(name, folder):
    _check_harmless(workings(*COMMANDS[name], cwd=folder, terminal=True))


SMALL = ("--width", "8", "--hidden", "8", "--steps", "2")
TRAINING = {
    "shakespeare": ["--text", "t.txt", *SMALL, "--depth", "1", "--window", "8", "--rows", "50", "--out", "letters"],
    "bigram": ["--text", "t.txt", "--dev", "t.txt", *SMALL, "--out", f"wo{EVIL}rds"],
    "sentiment": ["--data", "r.csv", "--steps", "5", "--out", "classes"],
    "seq2seq": ["--data", "p.tsv", "--width", "8", "--heads", "2", "--depth", "1", "--steps", "2", "--out", "pairs"],
}
AFTERWARDS = [
    ["generate", "letters", "--prompt", EVIL, "--length", "60"],
    ["generate", "letters", "--length", "300", "--temperature", "3"],
    ["generate", f"wo{EVIL}rds", "--length", "20"],
    ["generate", "pairs", "--prompt", EVIL],
    ["eval", "letters", f"wo{EVIL}rds", "--text", "t.txt", "--text", f"t{EVIL}.txt"],
    ["eval", "letters", "--text", EVIL],
    ["eval", "letters", "--text", "t.txt", "--preprocess", EVIL],
    ["eval", f"wo{EVIL}rds", "--json"],
    ["eval", "classes", "--errors", "3"],
    ["eval", "classes", "--errors", "3", "--json"],
    ["eval", "classes", "--errors", "3", "--edit", f"good => {EVIL}"],
    ["eval", "classes", "--errors", "3", "--html", f"{EVIL}.html"],
    ["eval", "classes", "pairs"],
    ["neighbors", EVIL, "--vectors", f"wo{EVIL}rds"],
    ["neighbors", "be", "--vectors", f"wo{EVIL}rds", "--count", "50"],
    ["neighbors", "be", "--vectors", "v.txt"],
    ["show", "letters", "--input", EVIL],
    ["show", f"wo{EVIL}rds", "--input", f"to be {EVIL}"],
    ["show", "classes", "--input", f"good {EVIL}"],
    ["show", "pairs", "--input", f"ab{EVIL}"],
    ["train", "--resume", f"wo{EVIL}rds"],
    ["train", "--resume", EVIL],
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on hostile texts, and what training them printed."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("t.txt", f"t{EVIL}.txt"):
        (folder / name).write_text(f"to be or {EVIL}not{EVIL} to be that is the question\n" * 40)
    (folder / "p.tsv").write_text("".join(f"{a}{EVIL}{b}\t{b} {EVIL}{a}\n" for a in "abcde" for b in "abcde"))
    rows = [f"good{EVIL} film {i},y{EVIL}es\nbad film {EVIL} {i},no{EVIL}\n" for i in range(20)]
    (folder / "r.csv").write_text("text,label\n" + "".join(rows) + f"good {EVIL},no{EVIL}\n" * 9)
    (folder / "v.txt").write_text(f"be 1 2\n{EVIL} 1 1\nso 3 4\n")
    printed = {name: workings("train", name, *TRAINING[name], cwd=folder, terminal=True) for name in TRAINING}
    return folder, printed


@pytest.mark.parametrize("name", TRAINING)
def test_training(name, runs):
    done = runs[1][name]
    assert done.returncode == 0, done.stderr
    _check_harmless(done)


@pytest.mark.parametrize("words", AFTERWARDS, ids=lambda words: "-".join(w for w in words[:4] if EVIL not in w))
def test_what_was_trained(words, runs):
    done = workings(*words, cwd=runs[0], terminal=True)
    assert done.stdout or done.stderr
    _check_harmless(done)
