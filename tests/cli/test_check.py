"""`workings check`: exit codes, forms, standard input, and help that is quick."""

import importlib
import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.check.fake_work import fake
from tests.cli.command import workings
from workings.check.run import files
from workings.cli import app


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "check_job", fake)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "good.md").write_text("all is well")
    (tmp_path / "bad.md").write_text("so WRONG")
    (tmp_path / "odd.md").write_text("ODD")


def check(*arguments, **options):
    return CliRunner().invoke(app, ["check", *arguments], **options)


def test_exit_codes():
    assert check("good.md").exit_code == 0
    assert check("bad.md").exit_code == 1
    assert check("good.md", "bad.md").exit_code == 1
    assert check("gone.md").exit_code == 2
    assert check("bad.md", "gone.md").exit_code == 2
    assert check("odd.md").exit_code == 0
    assert check("odd.md", "--level", "possible").exit_code == 1


def test_other_files_are_checked_when_one_is_missing():
    done = check("gone.md", "bad.md")
    assert done.stdout.startswith("bad.md:1:4  error  number\n  so WRONG\n     ^^^^^\n")
    assert done.stderr == "There is no file gone.md.\n"


def test_piped_reports_are_plain_and_the_same_each_time():
    first, second = check("bad.md"), check("bad.md")
    assert first.stdout == second.stdout
    assert "\x1b" not in first.stdout
    assert "\n1 file: 2 formulas (0 unread), no claims\n" in first.stdout


def test_quiet_and_verbose():
    done = check("bad.md", "gone.md", "--quiet")
    assert (done.stdout, done.stderr, done.exit_code) == ("", "There is no file gone.md.\n", 2)
    assert "bad.md: 2 formulas" in check("bad.md", "--verbose").stdout


def test_json_is_one_document():
    done = check("bad.md", "gone.md", "--json")
    whole = json.loads(done.stdout)
    assert [file["file"] for file in whole["files"]] == ["bad.md", "gone.md"]
    assert whole["counts"]["findings"]["error"] == 1
    assert done.exit_code == 2


def test_standard_input():
    done = check("-", "--kind", "latex", input="so WRONG ö")
    assert done.stdout.startswith("<stdin>:1:4  error  number\n  so WRONG ö\n")
    assert done.exit_code == 1
    assert check("-", input=b"\xff").exit_code == 2
    assert (
        str(check("-", "--kind", "word", input="x").exception)
        == "--kind is one of markdown, latex, text, notebook; got 'word'."
    )


def test_a_message_about_standard_input_does_not_name_a_temporary_file():
    assert check("-", input="REFUSED").stderr == "<stdin> is refused.\n"


def test_html_and_sarif_are_written(tmp_path):
    done = check("bad.md", "--html", "out.html", "--sarif", "out.sarif")
    assert done.exit_code == 1
    assert "<mark" in (tmp_path / "out.html").read_text()
    assert json.loads((tmp_path / "out.sarif").read_text())["version"] == "2.1.0"
    failed = CliRunner().invoke(app, ["check", "bad.md", "--html", "no/out.html"])
    assert str(failed.exception) == "Could not write no/out.html: No such file or directory."


def test_the_cache_is_used_unless_refused(tmp_path):
    check("bad.md", "--no-cache")
    assert not (tmp_path / "cache").exists()
    check("bad.md")
    assert len(list((tmp_path / "cache" / "workings" / "check").iterdir())) == 1


def test_run_code_is_passed_on():
    assert "correct   12/7" in check("bad.md").stdout
    assert "correct   run" in check("bad.md", "--run-code").stdout


def test_without_a_document_nothing_is_counted():
    assert check("gone.md").stdout.strip() == ""


def test_a_time_limit(tmp_path):
    (tmp_path / "slow.md").write_text("SLOW")
    done = check("slow.md", "bad.md", "--timeout", "0.5")
    assert (
        done.stderr
        == "slow.md: it takes longer than 0.5 s, the limit (--timeout). It was still being read: no claim was reached.\n"
    )
    assert "bad.md:1:4" in done.stdout


def test_at_the_time_limit_what_was_found_is_reported(tmp_path):
    (tmp_path / "slow.md").write_text("SLOW and WRONG")
    done = check("slow.md", "--timeout", "0.5", "--csv", "out.csv")
    assert done.stdout.startswith("slow.md:1:10  error")
    assert done.exit_code == 2
    assert done.stderr.startswith("slow.md: it takes longer than 0.5 s, the limit (--timeout). What was found")
    assert "What was found until then is listed." in (tmp_path / "out.csv").read_text()


def test_undecided_and_explain(tmp_path):
    (tmp_path / "work.md").write_text("a = 1\nb = x LEFT\nc = 2 WRONG")
    assert "work.md:2:1  b = x  letters without a value\n" in check("work.md", "--undecided").stdout
    done = check("--explain", "work.md:2")
    assert done.stdout.startswith("work.md:2\n  b = x LEFT\n\n  1         b = x\n  role      claim: an equality sign\n")
    assert done.exit_code == 0  # a finding elsewhere is not what was asked
    assert check("--explain", "gone.md:2").exit_code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--explain", "bad.md"], "--explain needs FILE:LINE, for example notes.md:12"),
        (["--explain", "bad.md:7"], "There is no bad.md:7: it has 1 lines."),
        (["--explain", "bad.md:1", "good.md"], "--explain names its own file (bad.md:1); leave out good.md."),
        (["--explain", "bad.md:1", "--json"], "--explain prints text, not --json."),
        (["--explain", "folder:1"], "--explain needs one file, and folder is a folder."),
        (["bad.md", "--html", "x", "--csv", "x"], "Two reports would be written to x: give each a file of its own."),
        (
            ["bad.md", "--csv", "./bad.md"],
            "bad.md is a document to check: a report would overwrite it. Write to another file.",
        ),
        (["bad.md", "--csv", "no/x.csv"], "Could not write no/x.csv: No such file or directory."),
    ],
)
def test_what_does_not_go_together_message(words, message, tmp_path):
    (tmp_path / "folder").mkdir()
    done = check(*words)
    assert str(done.exception).startswith(message)
    assert (tmp_path / "bad.md").read_text() == "so WRONG"


def test_without_a_file_the_message_says_what_to_name():
    done = workings("check")
    assert (done.returncode, done.stderr) == (2, "workings check: name a document, a folder, or - for standard input.\n")


def test_files_without_a_source_are_named(tmp_path):
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a.md").write_text("fine")
    (tmp_path / "n" / "exam.pdf").write_bytes(b"%PDF")
    done = check("n")
    assert done.stderr.startswith("Not read: n/exam.pdf. A PDF, an image")
    assert done.exit_code == 0
    assert json.loads(check("n", "--json").stdout)["skipped"] == ["n/exam.pdf"]


def test_csv_is_written(tmp_path):
    check("bad.md", "good.md", "--csv", "out.csv")
    assert [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()] == ["file", "bad.md", "good.md"]


def test_every_option_has_an_example():
    options = {word for word in re.findall(r"--[a-z-]+", check("--help").stdout.partition("Examples:")[2])}
    examples = {
        word for word in re.findall(r"--[a-z-]+", check("--help").stdout.partition("Examples:")[2].partition("\n\n")[0])
    }
    assert options - {"--help", "--install-completion", "--show-completion"} == examples


@pytest.mark.parametrize(("more", "what"), [(["-"], "standard input"), (["--json"], "--json")])
def test_watching_refuses_what_it_cannot_repeat_message(more, what):
    done = check("good.md", "--watch", *more)
    assert str(done.exception) == f"--watch reports on files again and again, which {what} is not for."


def test_colours_are_for_terminals(monkeypatch):
    command = importlib.import_module("workings.cli.check")

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setattr(command.sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert command._screen()[1:] == (True, True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert command._screen()[1:] == (False, True)


def test_the_help_has_an_example_and_loads_nothing_heavy():
    code = (
        "import sys; from workings.cli import app; app(['check', '--help'], standalone_mode=False);"
        "print([m for m in ('torch', 'sympy', 'flint', 'numpy', 'rich', 'workings.check') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\n    workings check notes.md\n" in done.stdout
    assert done.stdout.endswith("[]\n")


def test_the_printers_load_no_torch():
    code = (
        "import sys; import workings.check.run.files, workings.check.run.watch, workings.check.report.html,"
        "workings.check.report.sarif, workings.check.report.json_form; print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_hook_for_pre_commit_is_the_command():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, ".pre-commit-hooks.yaml"), encoding="utf-8") as file:
        lines = [line.strip() for line in file.read().replace("- id", "id").splitlines()]
    assert "id: workings-check" in lines
    assert "entry: workings check" in lines
    assert "language: python" in lines
    assert r"files: \.(md|tex|ipynb|txt)$" in lines


def test_names_that_are_no_text():
    with open(b"\xff.md", "w") as file:
        file.write("so WRONG")
    name = os.fsdecode(b"\xff.md")
    done = check(name, "--html", "out.html", "--sarif", "out.sarif")
    assert done.exit_code == 1
    assert done.stdout.startswith("�.md:1:4  error")
    with open("out.sarif", encoding="utf-8") as file:
        assert json.load(file)["runs"][0]["artifacts"][0]["location"]["uri"] == "%FF.md"
    assert json.loads(check(name, "--json").stdout)["files"][0]["file"] == name


def test_the_checker_itself(monkeypatch):
    monkeypatch.undo()
    done = check("-", "--no-cache", "--json", input="So $1/2 + 1/3 = 4/6$, but $2 + 2 = 4$.\n")
    counts = json.loads(done.stdout)["counts"]
    assert (counts["claims"], counts["right"], counts["wrong"], done.exit_code) == (2, 1, 1, 1)
