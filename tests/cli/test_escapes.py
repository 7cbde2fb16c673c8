"""What comes from data cannot move the cursor or colour the terminal."""

import io
import json
import re
from pathlib import Path

import pytest

from workings import cli
from workings.cli.output import print_json, say
from workings.train.process.progress import ProgressLines

EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe\r\n"


@pytest.mark.parametrize("err", [False, True])
def test_words_of_the_command_line(capsys, err):
    say(f"cosine 0.5  {EVIL}", err=err)
    printed = capsys.readouterr()[err]
    assert "red" in printed and not any(c in printed for c in "\x1b\x07\x9b\u202e\r")


def test_samples_notes_and_warnings_of_training():
    stream = io.StringIO()
    lines = ProgressLines(stream)
    lines.sample(1, EVIL)
    lines.note(EVIL)
    lines.warn(EVIL)
    assert "red" in stream.getvalue() and not any(c in stream.getvalue() for c in "\x1b\x07\x9b\u202e\r")


def test_json_keeps_the_text_in_escapes_of_its_own(capsys):
    print_json({"text": EVIL})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": EVIL}
    assert not any(c in printed for c in "\x1b\x07\x9b\u202e\r")


OWN_WORDS = {"__init__.py": 1, "check.py": 1, "output.py": 2}
"""Where the command line prints past `say`: its version, the sequence that clears the screen, and `say` itself."""


def test_everything_is_printed_through_one_door():
    folder = Path(cli.__file__).parent
    found = {
        str(path.relative_to(folder)): len(re.findall(r"typer\.echo\(|(?<![\w.>])print\(", path.read_text()))
        for path in folder.rglob("*.py")
    }
    assert {name: count for name, count in found.items() if count} == OWN_WORDS
