"""No statement of the author's is missing, wherever it is called from: counted by Python's own line events."""

import functools
import inspect
import linecache
from dataclasses import dataclass

import pytest
import torch
from torch.utils._pytree import tree_map

import workings
from tests import programs
from tests.executed import missing
from tests.programs import PROGRAMS

X = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.0, 1.5]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_statement_is_recorded(name):
    work = workings.show(PROGRAMS[name], X)
    assert work.error is None
    assert missing(work, lambda: PROGRAMS[name](X), programs.__file__) == []
    assert work.matches or work.agreement.startswith("not compared")
    work.text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_is_as_it_was(name):
    before = {n: v.__code__ for n, v in vars(programs).items() if hasattr(v, "__code__")}
    methods = {n: v.__code__ for n, v in vars(programs.Weight).items() if hasattr(v, "__code__")}
    workings.show(PROGRAMS[name], X)
    assert {n: v.__code__ for n, v in vars(programs).items() if hasattr(v, "__code__")} == before
    assert {n: v.__code__ for n, v in vars(programs.Weight).items() if hasattr(v, "__code__")} == methods


def test_what_is_used_up_by_unpacking_has_its_values():
    step = workings.show(PROGRAMS["mapped"], X).step("q, k, v")
    assert [part.tolist() for part in step.result] == [(2 * (X + i) + 1).tolist() for i in range(3)]


def test_inside_vmap_the_rows_stand_together():
    work = workings.show(PROGRAMS["vmapped"], X)
    (first, *_) = [s for s in work.steps() if s.name == "f"]
    assert first.note == "inside vmap: the 3 calls at once, values stacked along the first axis"
    assert first.result.tolist() == (2 * X + 1).tolist()
    twice = [s for s in work.steps() if s.name == "lambda"]
    assert [s.note for s in twice] == ["inside vmap: the 3×3 calls at once, values stacked along the first 2 axes"]
    assert twice[0].result.tolist() == (2 * X).tolist()


def test_lines_without_a_value():
    lines = workings.show(PROGRAMS["statements"], X).text().splitlines()
    wanted = ["case 2 if x.shape[0] == 3", "assert g.shape == x.shape: True", "del c", "with torch.no_grad()", "x.dim() = 2"]
    assert [line for line in wanted if line not in lines] == []


def test_an_assertion_that_fails_is_the_statement_that_failed():
    def f(x):
        y = x * 2
        assert y.sum() < 0, "negative"
        return y

    work = workings.show(f, X)
    (failed,) = [s for s in work.steps() if s.kind == "error"]
    assert (failed.source, failed.note) == ("assert y.sum() < 0:", "AssertionError: negative")


def test_what_a_library_calls_back_in_a_block(tmp_path):
    with workings.trace() as work:
        q, k = map(programs.f, (X, X + 1))
        with programs.scope(X) as c:
            d = c * 2
    assert [s.name for s in work.steps() if s.kind == "call"] == ["f", "f", "scope", "scope"]
    assert [part.tolist() for part in work["q, k"]] == [q.tolist(), k.tolist()]
    assert work["c"].tolist() == c.tolist()
    assert work["d"].tolist() == d.tolist()


def test_another_thread_is_left_alone():
    from concurrent.futures import ThreadPoolExecutor

    def elsewhere(x):
        with ThreadPoolExecutor(1) as pool:
            y = pool.submit(programs.f, x).result()
        return y

    work = workings.show(elsewhere, X)
    assert work.result.tolist() == (2 * X + 1).tolist()
    assert [s.name for s in work.steps() if s.name == "f"] == []


def test_a_function_that_is_handed_over_keeps_its_signature():
    seen = []

    def called(a, /, b, *rest, c=3, **more):
        d = a + b + c
        return d + sum(rest) + sum(more.values())

    def asks(function):
        seen.append(str(inspect.signature(function)))
        return function

    def f(x):
        g = functools.partial(asks, called)()
        y = functools.reduce(called, [x, x, x])
        z = tree_map(lambda t: g(t, 1, 2, c=4, k=5), x)
        return y + z

    work = workings.show(f, X)
    assert (work.error, work.matches) == (None, True)
    assert {*seen} == {"(a, /, b, *rest, c=3, **more)"}
    calls = [s for s in work.steps() if s.kind == "call" and s.name == "called"]
    given = [[c.name for c in call.children if c.kind == "input"] for call in calls]
    assert given == [
        ["a", "b"],
        ["a", "b"],
        ["a", "b", "c", "k"],
    ]


@dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


def _paired(x):
    pair = Pair(2 * x, x)
    y = pair.a + pair.b
    return y


def test_the_init_that_python_makes_of_a_dataclass_is_no_program_of_the_same_file_name(monkeypatch):
    program = ["def other(x):\n", "    return x\n"] * 4  # what Python 3.13 keeps of `python -c …`
    monkeypatch.setitem(linecache.cache, Pair.__init__.__code__.co_filename, (len(program), None, program, "<string>"))
    work = workings.show(_paired, X)
    assert work.matches and [step.name for step in work.step("pair").children] == []
    with workings.trace() as t:
        pair = Pair(X, X)
    assert t.step("pair").children == [] and pair.a is X
