"""Every example of every `--help`, of README and docs runs in an environment made by `make demo` alone."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.examples import not_brought, of_documents, of_help_texts
from workings.train.data.fetch import folder as folder_of_data

EXAMPLES = sorted({*of_help_texts(), *of_documents()})
WATCH = [example for example in EXAMPLES if "--watch" in example]
NEEDS_RUN = [example for example in EXAMPLES if "runs/" in example]
DOWNLOADS = [e for e in EXAMPLES if re.match(r"workings (train|neighbors|data (?!list))", e) and e not in NEEDS_RUN]
LONG = [example for example in EXAMPLES if "study --all" in example]  # tests/studies/test_all.py runs each study
OFFLINE = [example for example in EXAMPLES if example not in {*WATCH, *NEEDS_RUN, *DOWNLOADS, *LONG}]
RUNS = sorted({name for example in NEEDS_RUN for name in re.findall(r"runs/([a-z0-9]+)-1", example)})
DATA = folder_of_data()  # of the user: archives are large, and fetched once
MY = """
import torch
from torch import nn
from workings.nn import attention

net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 30 * 30, 10))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        y = self.layer(x)
        return y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

    def forward(self, tokens):
        return self.out(self.table(tokens).mean(dim=1))
"""
TEXT = "the model reads a line and the line has words in it\n" * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the examples name, in the folder where they run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("my.py").write_text(MY)
    for name in ("notes.md", "notes.tex"):
        Path(name).write_text("\n" * 11 + "The mean is $(1 + 2 + 6)/3 = 3$.\n")  # in line 12, which an example asks for
    Path("homework").mkdir()
    shutil.copy("notes.md", "homework/one.md")
    np.save("keys.npy", np.array([[1.0, 1.0], [1.0, 0.0]]))
    Path("values.csv").write_text("2,0\n0,1\n")
    for name in ("a.txt", "b.txt", "train.txt", "dev.txt"):
        Path(name).write_text(TEXT)
    return tmp_path


def failures(commands):
    """Run commands in one process without the packages of the extras; those that failed, with their messages."""
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "src")])
    done = subprocess.run(
        [sys.executable, __file__.replace("test_help_examples", "examples"), json.dumps(commands)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return [(command, *result) for command, result in zip(commands, found, strict=True) if result[0]]


def test_examples_are_found():
    verbs = {
        "check",
        "demo",
        "eval",
        "exact",
        "generate",
        "neighbors",
        "shapes",
        "show",
        "study",
        "systems",
        "train",
        "data",
    }
    assert {re.search(r"workings (\w+)", example)[1] for example in EXAMPLES} == verbs
    assert len(OFFLINE) >= 15 and len(NEEDS_RUN) >= 10 and len(DOWNLOADS) >= 12


def test_packages_of_extras_are_missing():
    missing = not_brought()
    assert {"pytest", "hypothesis", "transformers", "mypy"} <= missing
    assert not {"torch", "numpy", "flint", "typer", "rich", "PIL", "sklearn", "matplotlib"} & missing


def test_offline_examples_run_and_broken_ones_are_seen(folder):
    broken = ["workings show atention", "workings demo --nonsense"]
    found = failures([*broken, *OFFLINE])
    assert [(command, code) for command, code, _ in found] == [(command, 2) for command in broken], found


SUMMARY = "1 file: 1 formula (0 unread), 1 of 1 claim decided (1 right, 0 wrong)\n"


@pytest.mark.parametrize("command", WATCH)
def test_watching_reports_until_it_is_stopped(folder, command):
    words = [sys.executable, "-m", *command.split()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        if "--quiet" in command:
            while watching.poll() is None and not Path("report.html").exists():
                time.sleep(0.05)
        said = "" if "--quiet" in command else watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert said == ("" if "--quiet" in command else SUMMARY)
        assert watching.wait(60) in (0, 130)


def online_failures(commands):
    """As `failures`; skips where the machine is offline, which a message says."""
    found = failures(commands)
    if any("offline" in message for _, _, message in found):
        pytest.skip("offline")
    return found


@pytest.mark.slow
def test_examples_of_data_sets_run(folder):
    assert online_failures([example for example in DOWNLOADS if " data " in example]) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [example for example in DOWNLOADS if " data " not in example])
def test_examples_that_download_run(folder, monkeypatch, command):
    monkeypatch.setenv("WORKINGS_DATA", str(DATA))
    assert online_failures([f"{command} --steps 2" if " train " in command else command]) == []


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RUNS)
def test_examples_of_finished_runs_run(folder, monkeypatch, recipe):
    """A run of two steps is finished, too. An example that names two runs needs both."""
    monkeypatch.setenv("WORKINGS_DATA", str(DATA))
    examples = [example for example in NEEDS_RUN if re.search(rf"runs/{recipe}-1", example)]
    named = {found for example in examples for found in re.findall(r"runs/([a-z0-9]+)-1", example)}
    training = [f"workings train {name} --steps 2 --out runs/{name}-1" for name in sorted(named)]
    assert online_failures(training + examples) == []
