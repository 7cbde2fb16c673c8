"""A block on unmodified code has the steps that `show` has for the same statements in a function."""

import ast
import contextlib
import doctest
import importlib.util
import itertools
import linecache
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
import torch

import workings
from workings.trace.capture.loops import MOST_TURNS
from workings.trace.follow.block import ONCE
from workings.trace.follow.frame import UNREAD

PREAMBLE = """
import contextlib
import functools
import torch
import torch.nn.functional as F
from torch import nn
import workings

CALLS = []
CALLED, NUMBER, t = 3, 4, 5

def double(a, by=2):
    c = a * by
    return c

def outer(a):
    b = double(a)
    d = double(b, by=3) + 1
    return d

def fails(a):
    e = a * 2
    raise ValueError("no")

def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)

class Encoder:
    scale = 3
    def __init__(self):
        self.h = torch.zeros(2)
    def mix(self, a):
        self.h = a * self.scale
        return self.h
    @staticmethod
    def plain(a):
        return a + 1
    @classmethod
    def made(cls, a):
        k = a * cls.scale
        return k
    @property
    def computed(self):
        CALLS.append("computed")
        return self.h
    @computed.setter
    def computed(self, value):
        self.h = value

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.act = nn.ReLU()
    def forward(self, x):
        h = x @ self.W
        return self.act(h)

class Scaled:
    def __call__(self, a):
        s = a * 4
        return s

def pieces(a):
    for i in range(2):
        b = a + i
        yield b
    yield a * 9

def together(a):
    one = a + 1
    yield one
    two = one * 2
    yield two
    three = two + one

descent = torch.optim.SGD([torch.tensor(1.0, requires_grad=True)], lr=0.5)
scaled, tripled = Scaled(), functools.partial(double, by=3)
encoder, net, EXACT = Encoder(), Net(), workings.exact("1 2; 3 4")
"""
NUMBER = itertools.count()


def module(path, text):
    """The text as a module of its own, from a file, so that it has a source."""
    name = f"block_example_{next(NUMBER)}"
    file = path / f"{name}.py"
    file.write_text(PREAMBLE + text)
    spec = importlib.util.spec_from_file_location(name, file)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def blocked(path, body, *args, depth=2):
    """The work of a block with this body, in a function of x and y."""
    inner = textwrap.indent(body, " " * 8)
    text = f"def f(box, x, y):\n    with workings.trace(depth={depth}) as box.work:\n{inner}\n"
    box = type("Box", (), {})()
    box.error = None
    try:
        box.value = module(path, text).f(box, *args)
    except Exception as error:
        box.error = error
    assert sys.gettrace() is None or not hasattr(sys.gettrace(), "__self__")
    return box


def shown(path, body, *args, depth=2):
    inner = textwrap.indent(body, " " * 4)
    return workings.show(module(path, f"def f(x, y):\n{inner}\n").f, *args, depth=depth)


def rows(work):
    """Every step with what it says; the inputs of the whole apart, which are arguments here and names there, and gradients,
    which `show` adds where they are asked for."""
    first = work.root.children[:1]
    top = first[0] if first and (first[0].kind, first[0].name) == ("call", "f") else work.root
    steps = [s for child in top.children if child.kind != "input" for s in child.walk() if s.kind != "gradient"]
    return [(s.kind, s.name, s.source, listed(s.result, s.kind), s.note, s.formula) for s in steps]


def listed(value, kind=""):
    if kind == "branch":
        return bool(value)
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: listed(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [listed(v) for v in value]
    return value if isinstance(value, (int, float, str, type(None))) else type(value).__name__


def given():
    return torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [2.0, 1.0]])


COMPREHENSIONS = {
    "a list": "z = [t * 2 for t in x]\nreturn z",
    "a set": "z = {t + 1 for t in (1, 2)}\nw = {t * 2 for t in (1, 1)}\nreturn z",
    "a dictionary": "z = {i: double(t) + 1 for i, t in enumerate(x)}\nw = {double(t): t + 1 for t in (1, 2)}\nreturn z",
    "a key twice": "z = {0: t + 1 for t in x}\nreturn z",
    "sum": "s = sum(double(t) * y for t in x)\nm = max(t * 2 for t in x)\nreturn s",
    "stopped early": "s = any(t + 1 > 0 for t in x)\na = s\nr = all(t * 2 < 3 for t in x)\nreturn a",
    "for in for": "z = [a + b for a in x for b in y[0]]\nreturn z",
    "the same for again": "z = [a * b + c for a in (1, 2) for b in (3, 4) for c in range(a)]\nreturn z",
    "in one another": "z = [[a * b for a in x] for b in [c + 1 for c in x]]\nreturn z",
    "conditions": "z = [a + b for a in x if a > 1 for b in y[0] if b if a > b]\nreturn z",
    "no turns in it": "z = [t * 2 for t in []]\nw = [t + s for t in x for s in []]\nreturn z",
    "simple": "z = [t for t in x]\nw = [t[0] for t in y]\nreturn z",
    "several lines in it": "z = [\n    double(\n        t\n    )\n    + 1\n    for t in x\n    if t\n]\nreturn z",
    "two on one line": "z = [t * 2 for t in x] + [t * 3 for t in x]; w = [t + 1 for t in x]\nreturn z",
    "walrus in it": "z = [(n := t * 2) + n for t in x]\nw = [m + 1 for t in x if (m := double(t)) > 2]\nreturn z",
    "choice in it": "z = [t * 2 if t > 1 else t + 5 for t in x]\nreturn z",
    "in a loop": "for k in range(2):\n    z = [t * k for t in x]\nreturn [t + 1 for t in z]",
    "alone": "[double(t) for t in x]\n[t + 1 for t in x]\nreturn x",
    "in a function": "def g(t):\n    return [s * t for s in x]\nz = g(3)\nreturn z",
    "in a condition": "if sum(t * 2 for t in x) > 3:\n    z = x\nreturn z",
    "a generator in it": "z = [v * 2 for v in pieces(x)]\nreturn z",
    "calls in it": "z = [net(t * x) for t in x]\nw = torch.stack([F.relu(t) for t in z])\nreturn w",
    "in place in it": "h = torch.zeros(2)\nz = [h.add_(t) for t in x]\nreturn z",
    "an error that was caught": "try:\n    z = [fails(t) for t in x]\nexcept ValueError:\n    z = 0\nw = z + 1\nreturn w",
    "exact in it": "B = [E @ E for E in (EXACT, EXACT)]\nreturn B",
    "many": "z = [t * 2 for t in range(60) if t % 3 < 2]\nw = z[0] + 1\ns = sum(t + 1 for t in range(70))\nreturn w",
    "many, stopped early": "s = any(t + 1 > 61 for t in range(70))\na = 1 if s else 2\nreturn a",
    "many of no known length": "z = [t * 2 for t in iter(range(60)) if t % 3 < 2]\ns = sum(t + 1 for t in iter(range(70)))"
    "\nd = {t: t * 2 for t in iter(range(60))}\nreturn z",
    "many, the last without an element": "z = [t * 2 for t in range(60) if t % 3 < 2 or t < 50]\nreturn z",
    "many in each": "z = [a + b for a in range(2) for b in range(60) if b % 7]\nw = z[0] + 1\nreturn w",
    "many in a dictionary": "z = {t % 55: t * 2 for t in range(60)}\nw = {t: t * 2 for t in range(60)}\nreturn w",
}
SAME = {
    "assignments": "a = x + 1\nb = a * 2\nreturn b",
    "one line": "a = x + 1; b = a * 2; c = b - a\nreturn c",
    "several lines": "a = (\n    x\n    + double(\n        x,\n    )\n)\nreturn a",
    "tuples": "a, b = x, y\n(c, d), *e = (a, b), x, x\np = q = x * 3\nreturn p",
    "augmented": "x = x + 0\nx += 1\nx *= double(x)\nz = [x, x]\nz[0] += 1\nreturn x",
    "typed": "a: torch.Tensor = x + 1\nreturn a",
    "attributes": "encoder.h = x * 2\nEncoder.t = x\nnet.kept = encoder.h + 1\nreturn x",
    "subscripts": "z = y.clone()\nz[0] = 5\nz[0, 1] = 7\nz[1:, :1] *= 2\no = {}\no['k'] = x\nreturn z",
    "in place": "z = x.clone()\nz.add_(1)\nz.mul_(z)\nnn.init.zeros_(z)\nreturn z",
    "bare": "x\nx @ y\nx.sum().item()\nx.relu().tolist()\ndouble(x)\nnet(x)\nprint('')\nreturn x",
    "for": "for i in range(3):\n    x = x + i\n    for j in range(2):\n        w = x * j\nreturn x",
    "for else": "for i in range(2):\n    x = x + i\nelse:\n    x = x * 5\nreturn x",
    "no turns": "for i in []:\n    x = x + i\nreturn x",
    "one-line loop": "for i in range(3): x = x + i; w = x * 2\nreturn x",
    "continue": "for i in range(4):\n    if i % 2: continue\n    x = x + i\nreturn x",
    "break": "for i in range(9):\n    x = x + i\n    if i == 2:\n        break\nreturn x",
    "while": "k = 0\nwhile k < 3:\n    k += 1\n    x = x + k\nelse:\n    x = x - 1\nreturn x",
    "while true": "k = 0\nwhile True:\n    k = k + 1\n    if k > 2:\n        break\nreturn x",
    "while true around for": "k = 0\nwhile True:\n    for i in range(2):\n        k = k + 1\n    if k > 5: break\nreturn x",
    "endless around for": "k = 0\nwhile True:\n    for i in range(2):\n        k = k + 1\n        if k > 5: return k",
    "endless on one line": "i = iter([1, 2])\ntry:\n    while True: k = next(i)\nexcept StopIteration:\n    k = 0\nreturn k",
    "a call in a header": "for v in double([1, 2]):\n    w = v\nwhile double(w) < 3: w += 1\nreturn w",
    "twice the same loop": "for i in range(2):\n    for j in range(2):\n        x = x + 1\nreturn x",
    "if": "if x.sum() > 2:\n    a = x\nelif x.sum() > 1:\n    a = y\nelse:\n    a = 1\nif x.sum() > 5: a = 3\nreturn a",
    "elif": "if x.sum() > 9:\n    a = x\nelif x.sum() > 1:\n    a = y\nreturn a",
    "calls": "a = double(x)\nb = outer(a)\nc = double(double(x), by=double(3))\nreturn b",
    "methods": "a = encoder.mix(x)\nb = Encoder.plain(x)\nc = Encoder.made(2)\nd = encoder.made(x)\nreturn a",
    "lambda": "g = lambda t: t + 1\nu = g(double(x))\nreturn u",
    "local function": "def g(t):\n    v = t * y\n    return v\nu = g(x)\nreturn u",
    "closure": "k = x * 2\ndef g(): return k + 1\nk = x * 5\nu = g()\nreturn u",
    "recursion": "n = factorial(3)\nreturn n",
    "module": "a = net(x)\nb = F.relu(a)\nreturn b",
    "with": "with torch.no_grad():\n    a = x * 2\n    b = double(a)\nreturn b",
    "return in with": "with torch.no_grad():\n    return double(x)",
    "finally": "try:\n    a = double(x)\nfinally:\n    b = x + 1\nreturn a",
    "caught": "try:\n    a = fails(x)\nexcept ValueError:\n    a = x * 3\nb = a + 1\nreturn b",
    "match": "match 3:\n    case 3:\n        a = x + 1\nreturn a",
    "del": "a = x + 1\ndel a\na = x + 2\nassert a.sum() > 0\nimport math\nb = a * math.pi\nreturn b",
    "return nothing": "a = x\nreturn",
    "return of a call": "return outer(x)",
    "class": "class A:\n    t = 1\ne = Encoder()\na = A()\na.t = x * 2\nreturn a.t",
    "optimizer": "w = descent.param_groups[0]['params'][0]\nL = w * w\nL.backward()\ndescent.step()\nreturn w",
    "walrus": "if (n := double(x)).sum() > 2 and (m := n.sum()) > 0:\n    a = n\nb = (k := x + 1) * k"
    "\nx = (h := x * 2) + h\nreturn a",
    "choice": "a = x + 1 if x.sum() > 0 else y\nb = x if x.sum() > 9 else y @ y if x.sum() > 1 else y\nreturn b",
    "called objects": "a = scaled(x)\nb = tripled(x)\nreturn a",
    "generator": "for v in pieces(x):\n    w = v * 2\nt = sum(together(x))\nreturn t",
    "exact": "E = EXACT\nB = E @ E\nreturn B",
    **COMPREHENSIONS,
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_show(tmp_path, name):
    box, work = blocked(tmp_path, SAME[name], *given()), shown(tmp_path, SAME[name], *given())
    assert box.error is None
    assert rows(box.work) == rows(work)
    assert listed(box.value) == listed(work.result)
    assert box.work.notes == []
    assert box.work.agreement == ONCE


# ---- what only a block has
def test_what_is_read_before_it_is_made_is_an_input(tmp_path):
    body = "a = x * 2\nx = a + y\nz = [t + k for t in a for k in x]\nw = z[0] * CALLED\nlate = lambda: NUMBER"
    box = blocked(tmp_path, body + "\nb = NUMBER + t", *given())
    found = [(s.name, s.address) for s in box.work.steps() if s.kind == "input"]
    assert found == [("x", "x"), ("y", "y"), ("CALLED", "CALLED"), ("NUMBER", "NUMBER"), ("t", "t")]


def test_reads_like_a_worked_solution():
    x = torch.tensor([1.0, 2.0])
    with workings.trace() as work:
        a = x + 1
        y = a * a
        for k in range(2):
            y = y + k
    # a = [2, 3], so y = [4, 9], then + 0 and + 1.
    assert work.text().splitlines() == [
        "x = [1  2]  (2)",
        "a = x + 1 = [1, 2] + 1 = [2  3]  (2)",
        "y = a ⊙ a = [2, 3] ⊙ [2, 3] = [4  9]  (2)",
        "for k in range(2): turn 1 of 2, k = 0",
        "  y = y + k = [4, 9] + 0 = [4  9]  (2)",
        "for k in range(2): turn 2 of 2, k = 1",
        "  y = y + k = [4, 9] + 1 = [5  10]  (2)",
        "",
        ONCE,
    ]


def test_a_generator_that_is_unpacked_shows_its_values(tmp_path):
    box = blocked(tmp_path, "u, v = together(x)\nreturn u", *given())
    assert listed(box.work["u, v"]) == [[2.0, 3.0], [4.0, 6.0]]
    assert [s.name for s in box.work.steps() if s.kind == "assign"] == ["u, v", "one", "yield", "two", "yield", "three"]


def test_a_change_inside_an_expression_is_made_once():
    h = torch.zeros(2)
    with workings.trace():
        h.add_(1) + 0
        torch.add(h.mul_(2), 1)
    assert h.tolist() == [2.0, 2.0]  # (0 + 1) · 2


def test_the_turns_of_a_comprehension():
    x = torch.tensor([1.0, 2.0])
    with workings.trace() as work:
        z = [t * t + k for t in x if t > 1 for k in (3, 4)]
    assert len(z) == 2
    # Only t = 2 is more than 1: 2·2 + 3 = 7 and 2·2 + 4 = 8.
    assert work.text().splitlines() == [
        "x = [1  2]  (2)",
        "z = [t * t + k for t in x if t > 1 for k in (3, 4)] = [7, 8]",
        "  for t in x: turn 1 of 2",
        "  for t in x: turn 2 of 2, t = 2",
        "    for k in (3, 4): turn 1 of 2, k = 3",
        "      t·t + k = 2·2 + 3 = 7",
        "    for k in (3, 4): turn 2 of 2, k = 4",
        "      t·t + k = 2·2 + 4 = 8",
        "",
        ONCE,
    ]


def test_an_element_that_a_later_turn_may_change_is_not_shown(tmp_path):
    box = blocked(tmp_path, "h = torch.zeros(2)\nz = [h.add_(t)[:1] for t in x]\nreturn z", *given())
    assert listed(box.work["z"]) == [[3.0], [3.0]]  # 0 + 1 + 2, which both are now
    assert [(s.result, s.note) for s in box.work.steps() if s.kind == "expression"] == [(None, UNREAD)] * 2


def test_an_assignment_in_a_comprehension_is_no_loop(tmp_path):
    box = blocked(tmp_path, "z = [c + a for a in (1, 2) for c in [a * 3]]\nreturn z", *given())
    assert [(s.kind, s.result) for s in box.work.step("z").walk()] == [
        *[("assign", [4, 8]), ("loop", None)],
        *[("turn", None), ("expression", 4), ("turn", None), ("expression", 8)],
    ]


@pytest.mark.parametrize("failing", ["1 / (60 - t)", "t * 2 if t < 60 else 'no'"])
def test_an_error_among_turns_that_are_only_counted(tmp_path, failing):
    body = f"try:\n    s = sum({failing} for t in range(90))\nexcept (ZeroDivisionError, TypeError):\n    s = 1\nw = s + 1"
    box = blocked(tmp_path, body, *given())
    first, second, w = [s for s in box.work.root.children if s.kind == "assign"]
    kind, message = ("ZeroDivisionError", "division by zero") if "/" in failing else ("TypeError", "unsupported operand")
    assert first.note.startswith(f"raised {kind}, which was caught: {message}")
    assert (second.result, w.source, w.result) == (1, "w = s + 1", 2)
    assert first.children[0].children[-1].note == "turns 51–61 ran and are not shown"  # t = 50, …, 60


def test_the_gradients_of_a_comprehension():
    w = torch.tensor(3.0, requires_grad=True)
    with workings.trace() as work:
        z = [w * k for k in (1.0, 2.0)]
        L = z[0] * z[1]
    work.backward()
    L.backward()
    # L = w · 2w, so ∂L/∂w = 4w = 12, of which 2w = 6 by each element.
    assert w.grad == 12
    assert work["∂L/∂w"] == 12


def test_a_generator_expression_that_is_kept_runs_when_it_is_asked(tmp_path):
    box = blocked(tmp_path, "g = (double(t) + 1 for t in x)\nz = next(g)\nw = list(g)\nreturn w", *given())
    assert [(s.name, len(s.children)) for s in box.work.root.children[1:]] == [("g", 0), ("z", 1), ("w", 1), ("", 0)]


def test_a_comprehension_is_followed_while_it_has_something_to_show():
    count = 0

    def told(frame, event, arg):
        nonlocal count
        count += 1
        return told

    from workings.trace.follow.comprehensions import Turns

    original, Turns.on_instruction = (
        Turns.on_instruction,
        lambda self, frame, event: (told(frame, event, None), original(self, frame, event)),
    )
    try:
        with workings.trace() as work:
            z = [t * 2 + t for t in range(2000)]
    finally:
        Turns.on_instruction = original
    assert len(z) == 2000
    *_, folded, last = work.root.children[0].children[0].children
    assert (folded.note, last.name) == ("turns 51–1999 ran and are not shown", "2000")
    assert [(s.source, s.result) for s in last.children] == [("t * 2 + t", 5997)]  # 3 · 1999
    per_turn = 1 if sys.version_info < (3, 12) else 12  # inlined, its instructions are those of the statement
    assert count < 1000 + 2000 * per_turn  # after the first 50 turns


def test_many_turns_are_counted(tmp_path):
    body = "for i in range(60):\n    k = 0\n    while k < 2:\n        k += 1\n    double(x)\nz = x"
    box, work = blocked(tmp_path, body, *given()), shown(tmp_path, body, *given())
    assert rows(box.work) == rows(work)
    loop = box.work.root.children[1]
    assert len(loop.children) == MOST_TURNS + 2
    assert loop.children[-2].note == "turns 51–59 ran and are not shown"
    assert box.work.root.children[-1].name == "z"


def test_an_attribute_that_is_computed_is_not_read_again(tmp_path):
    box = blocked(tmp_path, "encoder.computed = x * 2\nreturn (CALLS, encoder.h)", *given())
    step = box.work.step("encoder.computed")
    assert (step.result, step.note) == (None, UNREAD)
    assert box.value[0] == []
    assert listed(box.value[1]) == [2.0, 4.0]


def test_suppressed_exceptions(tmp_path):
    box = blocked(tmp_path, "with contextlib.suppress(ValueError):\n    a = fails(x)\nb = x + 1\nreturn b", *given())
    _, a, e, r, b, _ = [s for s in box.work.steps() if s.kind not in ("input", "call")]
    assert [s.note for s in (a, e, r, b)] == ["", "", "raised ValueError, which was caught: no", ""]
    assert box.work.error is None


def test_break_out_of_the_block(tmp_path):
    text = "def f(x):\n    works = []\n    for i in range(3):\n        with workings.trace() as work:\n"
    text += "            works.append(work)\n            a = x + i\n            if i == 1:\n                break\n"
    text += "            b = a\n    return works"
    first, second = module(tmp_path, text).f(torch.tensor(1.0))
    assert [s.name for s in first.steps() if s.kind == "assign"] == ["a", "b"]
    assert [s.name for s in second.steps() if s.kind == "assign"] == ["a"]
    assert sys.gettrace() is None


# ---- where a block can stand
def test_at_the_level_of_a_module(tmp_path):
    found = module(tmp_path, "x = torch.tensor(2.0)\nwith workings.trace() as work:\n    y = double(x)\n    z = y + x\n")
    assert [s.name for s in found.work.root.children] == ["x", "y", "z"]
    assert found.work["double.c"].item() == 4


def test_on_one_line(tmp_path):
    found = module(tmp_path, "x = 2\nwith workings.trace() as work: y = x * 3; z = y + 1\nlast = 5\n")
    assert [(s.name, s.result) for s in found.work.root.children] == [("x", 2), ("y", 6), ("z", 7)]
    found = module(tmp_path, "x = 2\nwith workings.trace() as work: y = x * 3\nlast = 5\n")
    assert [(s.name, s.result) for s in found.work.root.children] == [("x", 2), ("y", 6)]


def test_in_a_method_and_in_a_class(tmp_path):
    text = "class A:\n    with workings.trace() as inside:\n        k = 3\n"
    text += "    def f(self, x):\n        with workings.trace() as work:\n            self.h = self.g(x) + self.k\n"
    text += "        return work\n    def g(self, x):\n        y = x * 2\n        return y\n"
    found = module(tmp_path, text)
    work = found.A().f(torch.tensor(1.0))
    assert found.A.inside["k"] == 3
    assert [s.address for s in work.steps() if s.address] == ["x", "self.h", "A.g", "A.g.x", "A.g.y"]
    assert work["self.h"].item() == 5


def test_with_other_items(tmp_path):
    text = "def f(x):\n    with contextlib.suppress(ValueError), workings.trace() as work, torch.no_grad():\n"
    text += "        y = x * 2\n"
    work = module(tmp_path, text + "    return work").f(torch.tensor(1.0, requires_grad=True))
    assert [s.name for s in work.steps()] == ["x", "y"]


def test_in_a_generator(tmp_path):
    text = "def f(x, box):\n    with workings.trace() as box.work:\n        y = x * 2\n        yield y\n        z = y + 1\n"
    box = type("Box", (), {})()
    assert [v.item() for v in module(tmp_path, text).f(torch.tensor(1.0), box)] == [2]
    assert [(s.name, s.result.item()) for s in box.work.steps()] == [("x", 1), ("y", 2), ("yield", 2), ("z", 3)]
    assert sys.gettrace() is None


def test_where_there_is_no_source():
    names = {"workings": workings, "x": torch.tensor([1.0, 2.0])}
    exec(compile("with workings.trace() as work:\n    y = x + 1\n    z = y * y", "<nowhere>", "exec"), names)
    work = names["work"]
    assert [(s.kind, s.name, listed(s.result)) for s in work.steps()] == [
        ("input", "x", [1.0, 2.0]),
        ("operation", "t1", [2.0, 3.0]),
        ("operation", "t2", [4.0, 9.0]),
    ]
    assert work.notes == ["source not available: operations shown instead of statements (its source is not available)"]


def test_in_a_notebook():
    """A cell is compiled under a name of its own, and its text is put where Python looks for the lines of files."""
    cell, name = "x = 3\nwith workings.trace() as work:\n    y = x * 2; z = y + 1\n", "<ipython-input-1-5a5a>"
    linecache.cache[name] = len(cell), None, cell.splitlines(keepends=True), name
    names = {"workings": workings}
    for part in ast.parse(cell, name).body:
        exec(compile(ast.Module([part], []), name, "exec"), names)
    assert [(s.name, s.result) for s in names["work"].steps()] == [("x", 3), ("y", 6), ("z", 7)]


def in_a_doctest():
    """
    >>> with workings.trace() as work:
    ...     y = 2 * 3
    ...     z = y + 1
    >>> [(s.name, s.result) for s in work.steps()]
    [('y', 6), ('z', 7)]
    """


def test_in_a_doctest():
    (test,) = doctest.DocTestFinder().find(in_a_doctest, "example", globs={"workings": workings})
    assert doctest.DocTestRunner().run(test) == (0, 2)


def test_not_in_a_with_statement():
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(workings.trace())
        torch.ones(2) + 1
    assert work.notes[0].endswith("(its with statement was not found in its source)")


@pytest.mark.slow
def test_without_columns(tmp_path):
    """Python can be told to keep lines only (-X no_debug_ranges)."""
    text = "x = 2\nwith workings.trace() as work:\n    y = double(x)\n    for i in range(2):\n        z = y + i\n"
    file = tmp_path / "columnless.py"
    file.write_text("import workings\ndef double(a):\n    return a * 2\n" + text + "print([s.name for s in work.steps()])")
    source = pathlib.Path(workings.__file__).parents[1]
    command = [sys.executable, "-X", "no_debug_ranges", str(file)]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, check=True)
    assert run.stdout == "['x', 'y', 'double', 'a', '', 'i', '1', 'z', '2', 'z']\n"


# ---- failures
def test_a_failure_is_explained(tmp_path):
    body = "W = torch.ones(3, 4)\nh = x @ W\nz = h + 1"
    box, work = blocked(tmp_path, body, *given()), shown(tmp_path, body, *given())
    assert isinstance(box.error, RuntimeError)
    assert box.work.error is box.error
    assert rows(box.work) == rows(work)
    step = list(box.work.steps())[-1]
    assert (step.kind, step.name, step.source) == ("error", "h", "h = x @ W")
    assert step.note.startswith("[2] @ [3, 4] needs 2 = 3: the columns of the left, the rows of the right")


def test_a_comprehension_in_inference_mode(tmp_path):
    """Its tensors do not count their changes."""
    box = blocked(tmp_path, "with torch.inference_mode():\n    z = [torch.sin(t) for t in x]", *given())
    assert box.error is None and not any("not shown" in note for note in box.work.notes)
    assert [s.result.item() for s in box.work.steps() if s.source == "torch.sin(t)"] == torch.sin(given()[0]).tolist()


def test_a_failure_is_explained_in_the_authors_names(tmp_path):
    box = blocked(tmp_path, "K = torch.ones(3, 2)\nS = K @ K", *given())
    assert "use K @ K.mT" in list(box.work.steps())[-1].note


FAILING = {
    "inside an expression": "a = torch.relu(x + torch.ones(3)) * 2",
    "inside a function": "def g(t):\n    q = t @ torch.ones(3, 4)\n    return q\na = g(x) + 1",
    "a module": "m = nn.Linear(3, 2)\na = m(x)",
    "a module in a function": "m = nn.Linear(120, 10)\nz = torch.zeros(1, 16, 3, 3)\nf = z.flatten(1)\na = m(f)",
    "a function": "a = fails(x)",
    "raise": "a = x + 1\nraise ValueError('no')",
    "in a loop": "for i in range(3):\n    a = x + i\n    if i == 1:\n        b = a @ torch.ones(3)",
    "in a branch": "if x.nothing > 3:\n    a = 1",
    "in a finally": "try:\n    a = x @ torch.ones(3)\nfinally:\n    b = 1",
    "in a with": "with torch.no_grad():\n    a = x @ torch.ones(3)",
    "again": "try:\n    a = fails(x)\nexcept ValueError:\n    b = x @ torch.ones(3)",
    "in a comprehension": "z = [torch.relu(x + torch.ones(t)) for t in (1, 2, 3)]",
    "in a condition of one": "z = [t + 1 for t in x if t @ y]",
    "in what one goes through": "z = [a + b for a in x for b in a.nothing]",
    "in a generator expression": "z = sum(fails(t) for t in x)",
    "a reshape": "a = y.reshape(3, 3)",
    "two of one name": "a = torch.cat([x, y])",
    "an entry": "a = x[5]",
    "an entry by a name": "i = 1\na = x[i, -3:1] + 1",
    "a change": "a = x + 1\na += torch.ones(3)",
    "raise after one that was caught": "try:\n    a = fails(x)\nexcept ValueError as e:\n    raise KeyError('other') from e",
}


@pytest.mark.parametrize("name", FAILING)
def test_failures_as_in_show(tmp_path, name):
    box, work = blocked(tmp_path, FAILING[name], *given()), shown(tmp_path, FAILING[name], *given())
    assert (type(box.error), str(box.error)) == (type(work.error), str(work.error))
    ours, theirs = rows(box.work), rows(work)
    assert ours == theirs
    top = next(work.steps())
    assert box.work.root.note == (top.note or work.root.note)


def test_the_module_that_failed_is_named_wherever_it_is(tmp_path):
    box = blocked(tmp_path, "m = nn.Sequential(nn.ReLU(), nn.Linear(3, 4))\na = m(x)", *given())
    (step,) = [s for s in box.work.steps() if s.kind == "error"]
    assert step.note.splitlines()[0] == "nn.Linear(3, 4) received 2 features; use nn.Linear(2, 4)"


def test_nothing_of_the_author_s_runs_again(tmp_path):
    body = "def g(t):\n    CALLS.append(t)\n    return t\na = g(x) @ torch.ones(3)"
    box = blocked(tmp_path, body, *given())
    assert [len(s.children) for s in box.work.steps() if s.kind == "error"] == [1]
    assert len(box.error.__traceback__.tb_next.tb_frame.f_globals["CALLS"]) == 1


def test_interrupted(tmp_path):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), workings.trace() as work:
        y = 2
        stop()
    assert y == work["y"] == 2
    (failing,) = [s for s in work.steps() if s.kind == "error"]
    assert (failing.source, failing.note) == ("raise KeyboardInterrupt", "KeyboardInterrupt: ")
    assert sys.gettrace() is None
