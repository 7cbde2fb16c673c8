"""The command line: quick help with examples, exit codes, and messages without tracebacks."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.cli.command import workings
from workings import __version__
from workings.cli import app

VERBS = ["check", "demo", "eval", "exact", "generate", "neighbors", "shapes", "show", "study", "systems", "train"]


def refusal(*arguments: str) -> str:
    """The message with which the command refuses `arguments`, after checking that it refuses properly."""
    done = workings(*arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


def test_the_command_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "workings", "exact", "1 +"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", refusal("exact", "1 +"))


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from workings.cli import app; app(['--help'], standalone_mode=False);"
        "print([m for m in ('torch', 'sympy', 'flint', 'numpy', 'rich', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb):
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    assert f" workings {verb}" in result.output.partition("Example")[2]


def test_the_list_of_verbs_is_complete():
    assert sorted(command.name or command.callback.__name__ for command in app.registered_commands) == VERBS


def test_help_keeps_the_examples_on_lines_of_their_own():
    output = CliRunner().invoke(app, ["exact", "--help"]).output
    assert '\n    workings exact "16*w - 8" --at w=3/10\n' in output


def test_help_says_what_each_verb_does_on_one_line():
    lines = CliRunner().invoke(app, ["--help"]).output.partition("Commands:\n")[2].splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted([*VERBS, "data"])
    assert not any(line.endswith("...") for line in lines)


def test_help_has_our_words_for_values_and_ranges():
    output = CliRunner().invoke(app, ["generate", "-h"]).output
    assert "generate RUN [OPTIONS]\n" in output
    assert "  --length N       Tokens to write.  [default: 200; at least 0]\n" in output
    output = CliRunner().invoke(app, ["shapes", "--help"]).output
    assert "--input SIZES Sizes such as 1x1x32x32; 2x5:int for token indices. [required]" in " ".join(output.split())


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"workings {__version__}\n")


def test_an_unknown_verb_is_refused():
    assert refusal("nonsense") == "workings has no command 'nonsense'. `workings --help` lists them.\n"


def test_an_unknown_option_is_refused():
    assert refusal("demo", "--nonsense") == "workings demo has no option --nonsense. `workings demo --help` lists them.\n"
    assert "--nonsense" in refusal("exact", "1", "--nonsense")


def test_no_digits_are_refused():
    assert refusal("exact", "1", "--digits", "0") == "--digits is a whole number from 1 to 10,000; got '0'.\n"


@pytest.mark.parametrize("text", ["w", "=3", "w=", "3=w"])
def test_a_bad_letter_is_refused(text):
    assert refusal("exact", "w", "--at", text) == f"--at needs LETTER=VALUE, such as w=3/10, but got '{text}'.\n"


def test_a_letter_that_does_not_occur_is_refused():
    assert refusal("exact", "2*w", "--at", "v=1") == "The expression has no letter v; its letters: w.\n"


@pytest.mark.parametrize("text", ["1 +", "(1", "2 $ 3", "", "1 2; 3", "__import__('os')"])
def test_nonsense_is_refused_with_a_message(text):
    assert refusal("exact", text).strip()


def test_a_parse_error_points_at_the_place():
    reason, text, caret = refusal("exact", "2*(1 + w").splitlines()
    assert reason
    assert text == "  2*(1 + w"
    assert caret == "          ^"


def test_exact_prints_the_value_and_its_decimals():
    # 1/√2 = 0.70710678…, e^0.7071… = 2.02811498…, and 2.02811498/3.02811498 = 0.66976155…
    done = workings("exact", "e^(1/sqrt(2)) / (1 + e^(1/sqrt(2)))", "--digits", "6")
    assert done.returncode == 0, done.stderr
    value, decimals = done.stdout.splitlines()
    assert "√2" in value
    assert decimals.startswith("≈ 0.66976")


def test_exact_puts_a_value_for_a_letter():
    # 16 · 3/10 − 8 = −16/5
    done = workings("exact", "16*w - 8", "--at", "w=3/10")
    assert done.stdout.splitlines()[0] in ("-16/5", "−16/5")


def test_exact_leaves_decimals_out_while_letters_are_free():
    done = workings("exact", "16*w - 8")
    assert done.returncode == 0, done.stderr
    assert "≈" not in done.stdout


def test_an_expression_may_begin_with_a_minus():
    assert workings("exact", "-1/2").stdout.splitlines()[0] in ("-1/2", "−1/2")


def test_exact_prints_latex():
    assert r"\frac{1}{2}" in workings("exact", "1/2", "--latex").stdout


def test_demo_works_attention_forward_and_backward():
    # Row 2 of S is (1/√2, 0), so A = (0.6698, 0.3302) there and Z = A V = (1.3395, 0.3302).
    done = workings("demo")
    assert done.returncode == 0, done.stderr
    for piece in ("S = Q Kᵀ / √d", "A = softmax(S)", "Z = A V", "∂L/∂K = (∂L/∂S)ᵀ Q / √d", "0.6698", "1.3395"):
        assert piece in done.stdout


def test_a_command_collects_no_garbage_at_its_end():
    """What PyTorch is made of would be gone through once more; what a cycle holds then is left to the system."""
    cycle = "class C:\n def __del__(self): print('collected')\nc = C(); c.c = c; del c\n"
    for hurried, printed in ("collect_garbage_seldom()", "done\n"), ("", "done\ncollected\n"):
        ended = [sys.executable, "-c", f"from workings.cli import collect_garbage_seldom; {hurried}\n{cycle}print('done')"]
        assert subprocess.run(ended, check=True, capture_output=True, text=True).stdout == printed
