"""Generators and coroutines, which run in pieces."""

import asyncio

import pytest
import torch

from workings.errors import WorkingsError
from workings.trace.capture.capture import capture
from workings.trace.code.functions import run_to_end


def generate(x):
    h = x
    for i in range(2):
        h = h + i
        yield h * 2
    z = h - 1
    return z


def tree(step, level=0):
    """(level, name, source) of the steps inside."""
    rows = []
    for child in step.children:
        rows += [(level, child.kind, child.name or child.source), *tree(child, level + 1)]
    return rows


def piece(trace, title):
    (found,) = [s for s in trace.steps() if s.kind == "call" and s.source == title]
    return found


def test_each_turn_of_a_loop_holds_the_piece_that_made_its_item():
    def f(x):
        total = x * 0
        for g in generate(x):
            total = total + g
        return total

    trace = capture(f, torch.tensor([1.0]))
    assert trace.result.item() == 2 + 4  # h = 1, then 2; doubled
    assert trace.difference == 0
    (loop,) = [s for s in trace.steps() if s.kind == "loop"]
    first, second = loop.children
    assert [c.name for c in first.children] == ["generate", "total"]
    assert [c.name for c in first.children[0].children] == ["x", "h", "for", "h", "yield"]
    assert (second.children[0].name, second.children[0].source) == ("generate", "up to yield 2")
    assert [c.name for c in piece(trace, "after the last yield").children] == ["z", ""]


def test_pieces_stand_under_the_statement_that_asks_for_them():
    def f(x):
        g = generate(x)
        a = next(g)
        b = next(g)
        c = sum(generate(x))
        return a + b + c

    trace = capture(f, torch.tensor([1.0]))
    assert trace.result.item() == 2 + 4 + 6
    steps = {s.name: s for s in trace.steps() if s.kind == "assign" and len(s.name) == 1}
    assert steps["g"].children == []
    assert [c.source for c in steps["a"].children] == ["up to yield 1"]
    assert [c.source for c in steps["b"].children] == ["up to yield 2"]
    assert [c.source for c in steps["c"].children] == ["up to yield 1", "up to yield 2", "after the last yield"]


def test_yields_have_their_formulas_and_values():
    trace = capture(lambda x: list(generate(x)), torch.tensor([1.0]))
    yields = [s for s in trace.steps() if s.name == "yield"]
    assert [(s.source, s.operands["h"].item(), s.result.item()) for s in yields] == [
        ("yield h * 2", 1, 2),
        ("yield h * 2", 2, 4),
    ]


def test_values_that_are_sent_in():
    def average(x):
        total = x * 0
        while True:
            given = yield total
            total = total + given

    def f(x):
        g = average(x)
        next(g)
        a = g.send(x * 3)
        b = g.send(x * 4)
        g.close()
        return a + b

    trace = capture(f, torch.tensor([1.0]))
    assert trace.error is None
    assert trace.result.item() == 3 + 7
    given = [s for s in trace.steps() if s.name == "given"]
    assert [s.result.item() for s in given if s.result is not None] == [3, 4]
    assert [s.kind for s in trace.root.children] == ["call"]


def test_one_generator_inside_another_and_what_it_returns():
    def outer(x):
        last = yield from generate(x)
        yield last * 100

    trace = capture(lambda x: list(outer(x)), torch.tensor([1.0]))
    assert [t.item() for t in trace.result] == [2, 4, 100]  # z = 2 − 1
    assert trace.difference == 0


def test_two_generators_taking_turns():
    def f(x):
        pairs = [a * b for a, b in zip(generate(x), generate(x * 10), strict=True)]
        after = x + 1
        return pairs, after

    trace = capture(f, torch.tensor([1.0]))
    assert [t.item() for t in trace.result[0]] == [2 * 20, 4 * 22]
    assert [c.name for c in trace.root.children[0].children] == ["x", "pairs", "after", ""]


def test_exceptions_go_through_generators():
    def careful(x):
        try:
            y = yield x
        except ValueError:
            y = x * 5
        yield y

    def f(x):
        g = careful(x)
        next(g)
        a = g.throw(ValueError("no"))
        after = a + 1
        return after

    trace = capture(f, torch.tensor([1.0]))
    assert trace.result.item() == 6

    def fails(x):
        yield x @ torch.ones(4)

    trace = capture(lambda x: next(fails(x)), torch.ones(3))
    (failed,) = [s for s in trace.steps() if s.kind == "error"]
    assert failed.source == "yield x @ torch.ones(4)"
    assert "needs 3 = 4" in failed.note


def test_a_generator_that_is_shown_is_asked_for_its_values():
    trace = capture(generate, torch.tensor([1.0]))
    assert [t.item() for t in trace.result] == [2, 4]
    assert trace.difference == 0
    (call,) = trace.root.children
    (loop,) = [s for s in call.children if s.kind == "loop"]
    assert loop.source == "next(generate)"
    assert [[s.name for s in turn.children] for turn in loop.children] == [
        ["h", "for", "h", "yield"],
        ["h", "yield", "z", ""],
    ]


def test_endless_generators_are_stopped():
    def endless(x):
        try:
            while True:
                x = x + 1
                yield x
        finally:
            closed.append(True)

    closed = []
    trace = capture(endless, torch.zeros(1), replay=False)
    assert len(trace.result) == 50
    assert trace.root.children[0].note == "a generator: it was stopped after 50 values"
    assert closed == [True]


def test_many_values_of_one_generator_are_counted():
    def count(x):
        for i in range(1000):
            y = x + i
            yield y

    def f(x):
        t = sum(count(x))
        return t

    trace = capture(f, torch.zeros(1))
    assert trace.result.item() == 999 * 1000 / 2
    assert sum(1 for _ in trace.steps()) < 300
    (folded,) = [s for s in trace.steps() if s.kind == "folded"]
    assert folded.note == "951 more values of count were asked for and are not shown"


def test_much_work_between_two_yields_is_bounded():
    def rare(x):
        for i in range(5000):
            x = x + 1
            if i == 4999:
                yield x

    trace = capture(lambda x: next(rare(x)), torch.zeros(1))
    assert trace.result.item() == 5000
    (folded,) = [s for s in trace.steps() if s.kind == "folded"]
    assert folded.note.endswith("more steps ran and are not shown")
    assert sum(1 for _ in trace.steps()) < 1100


def test_a_generator_that_outlives_the_capture_reports_no_more():
    kept = []

    def f(x):
        kept.append(generate(x))
        return x

    trace = capture(f, torch.ones(1))
    before = sum(1 for _ in trace.steps())
    assert [t.item() for t in kept[0]] == [2, 4]
    assert sum(1 for _ in trace.steps()) == before


async def slow(y):
    await asyncio.sleep(0)
    k = y * 3
    return k


async def main(x):
    a = await slow(x)
    for i in range(2):
        a = a + await slow(x) * i
    return a


def test_coroutines_are_run_to_their_end():
    trace = capture(main, torch.tensor([1.0]))
    assert trace.result.item() == 3 + 0 + 3
    assert [row[1:] for row in tree(trace.root) if row[1] in ("call", "loop", "turn") or row[2] in ("a", "k")] == [
        ("call", "main"),
        *[("assign", "a"), ("call", "slow"), ("assign", "k")],
        *[("loop", "i"), ("turn", "1"), ("assign", "a"), ("call", "slow"), ("assign", "k")],
        *[("turn", "2"), ("assign", "a"), ("call", "slow"), ("assign", "k")],
    ]


def test_coroutines_that_take_turns_keep_their_steps_apart():
    async def both(x):
        a, b = await asyncio.gather(slow(x), slow(x * 2))
        return a + b

    trace = capture(lambda x: asyncio.run(both(x)), torch.tensor([1.0]))
    assert trace.result.item() == 9
    found = [[c.name or c.source for c in s.children] for s in trace.steps() if s.kind == "call" and s.name == "slow"]
    assert found == [["y", "await asyncio.sleep(0)", "k", "return k"]] * 2


def test_a_coroutine_inside_a_running_loop_is_refused():
    async def inside():
        run_to_end(slow(torch.ones(1)))

    with pytest.raises(WorkingsError) as error:
        asyncio.run(inside())
    assert str(error.value) == (
        "A coroutine is shown by running it to its end, and an event loop is already running here, as in a notebook: "
        "show it in a thread of its own, await asyncio.to_thread(workings.show, f, …)."
    )


def test_asynchronous_generators_say_so():
    async def ticks(x):
        yield x

    async def f(x):
        total = x * 0
        async for t in ticks(x):
            total = total + t
        return total

    trace = capture(f, torch.ones(1))
    assert trace.result.item() == 1
    assert "not shown: it is an asynchronous generator" in [s.note for s in trace.steps()]
