"""`workings study`: run, list, write, refuse."""

import json
import re

import pytest

from tests.cli.command import workings
from workings.studies.index import entries


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def own(tmp_path):
    """The folder with a study of one's own."""
    assert workings("study", "--new", "my-claim", cwd=tmp_path).returncode == 0
    return tmp_path


def test_one_of_your_own_is_written_run_and_kept(own):
    first = workings("study", "my_claim.py:my_claim", cwd=own)
    assert first.returncode == 0 and first.stdout.startswith("my-claim  ✓ holds") and first.stderr == ""
    assert "broken (no division by the root of d), it fails, as it must" in first.stdout
    again = workings("study", "my_claim.py:my_claim", cwd=own)
    assert again.stdout == first.stdout and "--fresh runs it again" in again.stderr


def test_every_form_and_file(own):
    name = "my_claim.py:my_claim"
    data = json.loads(workings("study", name, "--json", cwd=own).stdout)
    assert data["verdict"] == "holds" and data["settings"]["pairs"][0] == ["d", 64]
    assert workings("study", name, "--markdown", cwd=own).stdout.startswith("# Dividing by √d")
    assert workings("study", name, "--standalone", cwd=own).stdout.startswith("\\documentclass")
    page = workings("study", name, "--html", "a.html", "--pictures", "p", cwd=own)
    assert page.stdout == "my-claim: holds\n" and "wrote a.html" in page.stderr
    assert "<!doctype html>" in (own / "a.html").read_text()


def test_the_exit_status_says_whether_it_is_as_it_must_be(own):
    study = own / "my_claim.py"
    broken = workings("study", "my_claim.py:my_claim", "--broken", "no division by the root of d", cwd=own)
    assert broken.returncode == 0 and "✗ fails" in broken.stdout  # broken, it must fail
    study.write_text(study.read_text().replace("Bounds(0.9, 1.1)", "Bounds(1.9, 2.1)"))
    false = workings("study", "my_claim.py:my_claim", cwd=own)
    assert false.returncode == 1 and "✗ fails" in false.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["my_claim.py:my_claim", "--d", "0"], "d goes from 1 to 1024: a width is at least 1; got 0."),
        (["my_claim.py:my_claim", "--d", "wide"], "d is a whole number; got 'wide'."),
        (["my_claim.py:my_claim", "--d"], "--d needs a value."),
        (["my_claim.py:my_claim", "--broken"], "--broken needs a value: 'no division by the root of d'."),
        (
            ["my_claim.py:my_claim", "--seed", "-1"],
            "seed goes from 0 to 2,147,483,648: a seed is a whole number of 31 bits; got -1.",
        ),
        (["my_claim.py:my_claim", "--html", "no/a.html"], "Could not write no/a.html: there is no folder no."),
        (["my_claim.py:my_claim", "--wide", "3"], "workings study my-claim has no option --wide."),
        (["my_claim.py:my_claim", "3"], "workings study takes one study and options; '3' is one word too many."),
        (["my_claim.py:my_claim", "--list"], "--list goes without the name of a study."),
        (["my_claim.py:my_claim", "--json", "--latex"], "One form is printed, but --latex and --json were asked for"),
        (["my_claim.py:torch"], "my_claim.py:torch is no study: decorate the function with @study()"),
        (["nothing"], "There is no study 'nothing'."),
        (["--html", "x"], "Name a study, such as root-d, or add --list or --all."),
        (["--list", "--row", "Z9"], "No study is about Z9. `workings study --list` lists them all."),
        (["--all", "--html", "x.html"], "--all writes a folder of pages: --html x/"),
        (["--new", "my-claim"], "my_claim.py is there already; choose another name, or delete it first."),
    ],
)
def test_mistakes_are_refused_in_words(own, words, message):
    done = workings("study", *words, cwd=own)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_help_of_the_command_and_of_a_study(own):
    assert workings("study").stdout == workings("study", "--help").stdout
    help = workings("study", "my_claim.py:my_claim", "--help", cwd=own).stdout
    assert "--d N" in help and "[default: 64; 1 to 1024]" in help and "'no division by the root of d'" in help


def test_the_list_names_every_study():
    lines = workings("study", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == [*entries()]
    assert re.fullmatch(rf"{len(entries())} studies\. Run one: workings study [a-z-]+", lines[-1])
    assert "key-noise" in workings("study", "--list", "--row", "a16").stdout


def test_all_about_a_row_are_written_as_a_book_and_kept(tmp_path):
    first = workings("study", "--all", "--row", "A16", "--html", "book", cwd=tmp_path)
    assert first.returncode == 0 and "wrote book/index.html" in first.stdout
    index = (tmp_path / "book" / "index.html").read_text()
    assert 'href="key-noise.html"' in index and (tmp_path / "book" / "key-noise.html").is_file()
    assert "kept" in workings("study", "--all", "--row", "A16", cwd=tmp_path).stdout
