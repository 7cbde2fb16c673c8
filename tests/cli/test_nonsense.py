"""Nonsense on the command line is a message and exit code 2, never a traceback."""

import shutil
import sys

import pytest

from tests.cli.command import workings
from tests.train.letters import Letters
from tests.train.smoke import trained
from workings.cli import main
from workings.train.recipes import RECIPES


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of digits, one of letters and one of a VAE, beside a plain file and what is left of damaged runs."""
    folder = tmp_path_factory.mktemp("runs")
    RECIPES["letters"] = Letters()
    trained("digits", folder / "digits", steps=2, model="logistic")
    trained("letters", folder / "letters", steps=2)
    trained("vae", folder / "vae", steps=2, hidden="8", latent=2)
    trained("sort", folder / "sort", steps=1, test=5)
    (folder / "file").write_text("hello")
    (folder / "folder").mkdir()
    for name, text in BROKEN.items():
        shutil.copytree(folder / "digits", folder / name)
        (folder / name / "settings.json").write_bytes(text)
    for name, text in {"no-files": None, "bytes": b"\xff", "brackets": b"{{"}.items():
        shutil.copytree(folder / "digits", folder / name)
        file = folder / name / "files" / "pictures.json"
        file.unlink() if text is None else file.write_bytes(text)
    yield folder
    del RECIPES["letters"]


BROKEN = {
    "truncated": b'{"recipe": "digi',
    "list": b"[]",
    "number": b'{"recipe": "digits", "settings": 5, "data": {}}',
    "names": b'{"recipe": ["digits"], "settings": {}, "data": {}}',
    "data": b'{"recipe": "digits", "settings": {}, "data": 3}',
    "wrong": b'{"recipe": "digits", "settings": {"steps": "x"}, "data": {}}',
    "unknown": b'{"recipe": "digitz", "settings": {}, "data": {}}',
    "undecodable": b"\xff\xfe",
}


@pytest.fixture
def exits(runs, monkeypatch, capsys):
    """Run a command among the runs; its exit code and what it complains of."""
    monkeypatch.chdir(runs)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["workings", *words])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, capsys.readouterr().err.strip()

    return run


NEEDS = "settings.json is damaged: it needs recipe, settings and data, and {} is missing or wrong."


@pytest.mark.parametrize("command", [["eval"], ["generate"], ["neighbors", "king", "--vectors"], ["eval", "digits"]])
@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("nowhere", "nowhere does not exist. Name a folder written by `workings train`."),
        ("folder", "folder is not a training run: it has no settings.json. Name a folder written by `workings train`."),
        ("truncated", "truncated/settings.json is damaged: Unterminated string starting at: line 1 column 12 (char 11)."),
        ("list", f"list/{NEEDS.format('recipe')}"),
        ("number", f"number/{NEEDS.format('settings')}"),
        ("names", f"names/{NEEDS.format('recipe')}"),
        ("data", f"data/{NEEDS.format('data')}"),
        ("wrong", "steps is a whole number; got 'x'."),
        ("unknown", "No recipe is called 'digitz'. Did you mean digits?"),
        (
            "undecodable",
            "undecodable/settings.json is damaged: 'utf-8' codec can't decode byte 0xff in position 0: invalid ",
        ),
        ("no-files", "no-files/files is damaged: pictures.json is missing."),
        ("bytes", "bytes/files is damaged: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte."),
        (
            "brackets",
            "brackets/files is damaged: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).",
        ),
    ],
)
def test_a_run_that_is_none(exits, command, run, message):
    if command[0] == "neighbors" and run == "nowhere":
        message = "nowhere is neither a file of vectors, nor the folder of a run, nor glove."
    code, said = exits(*command, run)
    assert code == 2 and said.startswith(message)


@pytest.mark.parametrize("command", ["eval", "generate"])
def test_a_file_instead_of_a_folder(exits, command):
    assert exits(command, "file") == (2, "file is a file. Name a folder written by `workings train`.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("eval", "workings eval needs RUN…: folders written by `workings train`. Example: workings eval runs/digits-1"),
        ("eval digits --nope", "workings eval has no option --nope. `workings eval --help` lists them."),
        ("eval digits --text", "--text needs a value: --text TEXT. A text for language models (repeatable)."),
        ("eval digits --errors 0", "--errors is a whole number of at least 1; got '0'."),
        ("eval letters --text folder", "folder is a folder; a text file is needed."),
        ("eval letters --text nowhere.txt", "nowhere.txt does not exist. Give a text file, or one of: shakespeare, "),
        ("generate letters --prompt a --temperature nan", "--temperature is a number of at least 0; got 'nan'."),
        ("generate letters --prompt a --temperature -1", "--temperature is a number of at least 0; got '-1'."),
        ("generate letters --prompt a --temperature warm", "--temperature is a number of at least 0; got 'warm'."),
        ("generate letters --prompt a --top-k 0", "--top-k is a whole number of at least 1; got '0'."),
        ("generate letters --prompt a --top-p nan", "Top-p sampling keeps a weight p with 0 < p ≤ 1, not nan."),
        ("generate letters --prompt a --top-p 0", "Top-p sampling keeps a weight p with 0 < p ≤ 1, not 0.0."),
        ("generate letters --prompt a --beam 0", "--beam is a whole number of at least 1; got '0'."),
        ("generate letters --prompt a --length -1", "--length is a whole number of at least 0; got '-1'."),
        ("generate letters --prompt a --seed 99999999999999999999", "--seed is a whole number from 0 to 2⁶³ − 1; got 9999"),
        ("generate letters --prompt=", "Generation starts from a prompt: give a --prompt that is not empty."),
        ("generate letters --prompt Z", "The model does not know 'Z': it has 13 characters. Change the prompt."),
        ("generate sort", "A run of sort answers: give a --prompt, such as --prompt DAAC."),
        (
            "generate sort --prompt=",
            "A prompt of dedupe-and-sort has one letter or more of A, B, C, D; this one has nothing.",
        ),
        ("generate vae --out folder", "--out is a PNG file, such as samples.png; got folder."),
        ("generate vae --out file/x.png", "Could not write file/x.png: File exists."),
        ("neighbors", "Give one of a WORD and --analogy a b c."),
        ("neighbors king --vectors file", "file, line 1: needs a word and numbers but has 0 numbers."),
        ("neighbors king --count 0", "--count is a whole number of at least 1; got '0'."),
        ("neighbors king --cuont 3", "workings neighbors has no option --cuont. Did you mean --count?"),
        ("neighbors a b", "workings neighbors takes only WORD; 'b' is one too many. Put what belongs together in quotes."),
        ("neighbors --analogy a b", "--analogy needs 3 values: --analogy A B C. A is to B as C is to the words printed."),
        ("train digits --seed 99999999999999999999", "seed is less than 4294967296; got 99999999999999999999."),
        ("data get nothing", "No data set is called 'nothing'. There are: shakespeare, "),
        ("data get", "workings data get needs NAME…: data sets, or `all`. Example: workings data get shakespeare mnist"),
        ("data lst", "workings data has no command 'lst'. Did you mean list?"),
        ("check", "workings check: name a document, a folder, or - for standard input."),
        ("check --level bogus x.md", "--level is one of error, likely, note, possible; got 'bogus'."),
        ("check x.md --jobs a", "--jobs is a whole number of at least 1; got 'a'."),
        ("check x.md --json=3", "--json takes no value: write it alone."),
        ("check -x y", "workings check has no option -x. `workings check --help` lists them."),
        ("show --digitz 3 relu", "workings show has no option --digitz. Did you mean --digits?"),
        ("show relu --depth x", "--depth is a whole number; got 'x'."),
        ("shapes my.py:net", "workings shapes needs --input: sizes such as 1x1x32x32; 2x5:int for token indices. Example: "),
        ("demo x", "workings demo takes no arguments; 'x' is one too many."),
        ("exact 1 --digits 10001", "--digits is a whole number from 1 to 10,000; got '10001'."),
        ("exact --foo", "workings exact has no option --foo. `workings exact --help` lists them."),
        ("exact 1 --at x", "--at needs LETTER=VALUE, such as w=3/10, but got 'x'."),
        ("exact 1 --at w=2", "The expression has no letter w; its letters: none."),
        ("--bogus", "workings has no option --bogus. `workings --help` lists them."),
        ("nonsense", "workings has no command 'nonsense'. `workings --help` lists them."),
        ("train digits --stepz 4", "workings train digits has no option --stepz. Did you mean --steps?"),
        ("data where", None),
        ("data where digits", "digits is a part of scikit-learn: it is always here, and neither fetched nor removed."),
        ("data get digits", "digits is a part of scikit-learn"),
        ("data remove digits", "digits is a part of scikit-learn"),
    ],
)
def test_words_that_mean_nothing(exits, words, message):
    code, said = exits(*words.split(" "))
    assert (code, said) == (0, "") if message is None else code == 2 and said.startswith(message) and "Usage" not in said


def test_the_real_command(runs):
    done = workings("eval", "list", cwd=runs)
    assert done.returncode == 2 and done.stdout == "" and done.stderr == f"list/{NEEDS.format('recipe')}\n"
