"""Blocks on `sys.monitoring`: beside other tools, threads and tasks, and gone when the block is."""

import asyncio
import sys
import threading

import pytest
import torch

import workings

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from Python 3.12 on")
TOOLS = range(6)


def tools():
    return [sys.monitoring.get_tool(n) for n in TOOLS]


def names(work):
    return [step.name for step in work.root.children if step.kind == "assign"]


def plus_one(x):
    y = x + 1
    return y


def test_the_place_is_taken_only_while_a_block_is_open():
    before = tools()
    with workings.trace() as work:
        inside = tools()
        a = plus_one(1)
    assert a == 2
    assert [new for old, new in zip(before, inside, strict=True) if old != new] == ["workings"]
    assert tools() == before
    assert names(work) == ["inside", "a"]


def test_no_trace_function_is_set():
    with workings.trace() as work:
        found = sys.gettrace()
    assert found is None
    assert names(work) == ["found"]


def test_another_tool_hears_what_it_heard_before():
    lines = []
    tool = next(n for n in TOOLS if sys.monitoring.get_tool(n) is None)
    sys.monitoring.use_tool_id(tool, "theirs")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, _: lines.append(code.co_name))
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
    try:
        with workings.trace() as work:
            a = plus_one(1)
        plus_one(a)
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, None)
        sys.monitoring.free_tool_id(tool)
    assert names(work) == ["a"]
    assert lines.count("plus_one") == 2


def test_where_every_place_is_taken_a_trace_function_is_set():
    taken = [n for n in TOOLS if sys.monitoring.get_tool(n) is None]
    for n in taken:
        sys.monitoring.use_tool_id(n, f"theirs {n}")
    try:
        with workings.trace() as work:
            function = sys.gettrace()
            a = plus_one(1)
    finally:
        for n in taken:
            sys.monitoring.free_tool_id(n)
    assert function is not None and a == 2
    assert names(work) == ["function", "a"]
    assert work["plus_one.y"] == 2


def test_a_tool_that_comes_after_us_hears_of_library_code():
    with workings.trace():
        torch.nn.functional.softmax(torch.ones(2), dim=0)
    started = []
    tool = 4  # the number we had
    sys.monitoring.use_tool_id(tool, "theirs")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, _: started.append(code.co_name))
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
    try:
        torch.nn.functional.softmax(torch.ones(2), dim=0)
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, None)
        sys.monitoring.free_tool_id(tool)
    assert "softmax" in started


def test_what_another_thread_runs_is_not_shown():
    def other():
        nonlocal heard
        heard = plus_one(10)

    heard = None
    with workings.trace() as work:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        a = plus_one(1)
    assert heard == 11 and a == 2
    assert names(work) == ["thread", "a"]
    assert [step.result for step in work.steps() if step.name == "y"] == [2]


def test_what_another_task_runs_is_not_shown():
    async def shown(steps):
        with workings.trace() as work:
            a = plus_one(1)
            await asyncio.sleep(0)
            b = plus_one(a)
            await steps.wait()
        assert b == 3
        return work

    async def other(steps):
        for k in range(3):
            plus_one(10 * k)
            await asyncio.sleep(0)
        steps.set()

    async def both():
        steps = asyncio.Event()
        return (await asyncio.gather(shown(steps), other(steps)))[0]

    work = asyncio.run(both())
    assert names(work) == ["a", "b"]
    assert [step.result for step in work.steps() if step.name == "y"] == [2, 3]


def test_turns_of_an_inlined_comprehension_at_the_level_of_a_module(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text("import workings\nwith workings.trace() as work:\n    z = [t * 2 for t in range(2)]\n")
    space = {"__name__": "cell", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), space)
    (z,) = space["work"].root.children
    turns = z.children[0].children
    assert [[step.result for step in turn.children] for turn in turns] == [[0], [2]]
