"""The worked solution for a terminal."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch

from tests.formulas import code
from workings.control import plain
from workings.show.options import Options
from workings.show.printers.text import text
from workings.show.write.block import width
from workings.trace.formula.tree import Apply, Call, Code, Leaf
from workings.trace.record import Trace
from workings.trace.step import Step

GOLDEN = Path(__file__).parents[2] / "golden"
spec = importlib.util.spec_from_file_location("golden_record", GOLDEN / "record.py")
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)
EXAMPLES = record.EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_golden(example):
    for name, printed in record.outputs(example):
        assert printed == (GOLDEN / name).read_text(encoding="utf-8"), f"{name}: see tests/golden/record.py"


def test_golden_files_have_examples():
    printed = {name for example in EXAMPLES for name, _ in record.outputs(example)}
    recorded = {path.name for kind in record.PRINTERS for path in GOLDEN.glob(f"*.{kind}")}
    assert recorded == printed


def shown(*steps, trace=None, **choices):
    return text(trace or Trace(Step("root", children=list(steps))), Options(**choices))


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_nothing_is_wider_than_the_terminal(columns):
    # The widest thing that cannot be broken is the exact row of Z, 49 columns and its indentation.
    assert width(text(EXAMPLES["attention"](), Options(width=columns))) <= max(columns, 60)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_long_formulas_calls_and_titles_go_on_in_the_next_line(columns):
    names = [f"argument_{i}" for i in range(20)]
    long = Call("self.function_with_a_long_name", tuple(map(Leaf, names)))
    steps = [
        Step("assign", "y", "y = …", long, {}, torch.ones(2)),
        Step("gradient", "∂L/∂y", formula=Apply("add", (long, long)), result=1.0),
        Step("branch", "if", f"if {' and '.join(names)}:", result=True),
        Step("module", "a " * 60, "Linear"),
        Step("error", "z", f"z = f({', '.join(names)})", note="no " * 60),
    ]
    printed = shown(*steps, width=columns)
    assert width(printed) <= columns
    assert all("".join(printed.split()).count(name) >= 4 for name in names)  # in a narrow terminal words break too


def test_no_colour_unless_asked():
    assert "\x1b" not in text(EXAMPLES["hostile"](), Options())
    painted = text(EXAMPLES["attention"](), Options(colour=True, width=140))
    assert "\x1b[1mS\x1b[0m" in painted
    assert re.search(r"\x1b\[2msystems\.py:\d+\x1b\[0m", painted)


def test_colour_changes_nothing_else():
    painted = text(EXAMPLES["nested"](), Options(colour=True, depth=3))
    for sign in ("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"):
        painted = painted.replace(sign, "")
    assert painted == text(EXAMPLES["nested"](), Options(depth=3))


def test_only_and_hide():
    assert shown(trace=EXAMPLES["attention"](), only=frozenset("A"), substitution="none").startswith("A = softmax(S) =")
    hidden = text(EXAMPLES["attention"](), Options(hide=frozenset("QKVd")))
    assert hidden.startswith("S = Q Kᵀ")


def test_substitution_is_a_choice():
    assert "S = Q Kᵀ / √d = ⎡1/√2" in text(EXAMPLES["attention"](), Options(substitution="none"))
    assert "S = Q Kᵀ / √d = ⎡1  0⎤ ⎡1  1⎤ᵀ / √2 = ⎡1/√2" in text(EXAMPLES["attention"](), Options(substitution="short"))
    wide = Step("assign", "y", "y = x + x", Apply("add", (Leaf("x"), Leaf("x"))), {"x": torch.ones(2, 8)}, torch.ones(2, 8))
    assert shown(wide, width=300).startswith("y = x + x = ⎡1  1  1  1  1  1  1  1⎤  (2×8)")
    assert shown(wide, width=300, substitution="long").startswith("y = x + x = ⎡1  1  1  1  1  1  1  1⎤ + ⎡1  1")


def test_a_number_is_not_repeated():
    assert shown(Step("assign", "d", "d = 2", Code("2"), result=2)) == "d = 2"
    read = Step("assign", "d", "d = x.shape[-1]", Leaf("x.shape[-1]"), {"x.shape[-1]": 2}, 2)
    assert shown(read) == "d = x.shape[-1] = 2"


def test_return_shows_a_value_that_is_new():
    step = Step("return", source="return self.h", formula=Leaf("self.h"), operands={"self.h": 1.0}, result=1.0)
    assert shown(step) == "return h = 1"
    assert shown(Step("assign", "self.h", "self.h = 1", result=1.0), step) == "h = 1\nreturn h"


def test_a_statement_without_value():
    assert shown(Step("expression", source="print(x)", formula=Code("print(x)"))) == "print(x)"


def test_the_way_to_an_error_is_open():
    failing = Step("error", "y", "y = 1 / 0", note="ZeroDivisionError: division by zero")
    module = Step("module", "inner", "Inner", children=[failing])
    printed = shown(Step("assign", "z", "z = self.inner(x)", Code("inner(x)"), children=[module]), depth=1)
    assert printed == ("z = inner(x)\n  inner: Inner\n\n    fails: y = 1 / 0\n      ZeroDivisionError: division by zero")


def test_a_closed_module_shows_its_value_once():
    live = torch.ones(2)
    closed = Step("module", "fc", "Linear", result=live, live=live)
    step = Step("assign", "y", "y = self.fc(x)", code("fc(x)"), result=live, live=live, children=[closed])
    assert shown(step, depth=2) == "y = fc(x) = [1  1]  (2)"
    step.result = 2 * live  # of `y = twice(self.fc(x))`
    assert shown(step, depth=2) == "y = fc(x) = [2  2]  (2)\n  fc: Linear = [1  1]  (2)"
    step.formula, step.result = Apply("relu", (code("fc(x)"),)), live
    assert shown(step, depth=2) == "y = max(0, fc(x)) = [1  1]  (2)\n  fc: Linear = [1  1]  (2)"


def test_a_loop_without_turns():
    assert shown(Step("loop", "t", "for t in []:")) == "for t in []: no turns"


def test_a_thousand_steps_are_quick():
    steps = [Step("assign", f"x{i}", f"x{i} = 1", Code("1"), result=torch.eye(3)) for i in range(1000)]
    assert shown(*steps).count("(3×3)") == 1000


def test_control_characters_are_shown_not_obeyed():
    assert plain("\x1b[2J\u202e") == "�[2J�"
