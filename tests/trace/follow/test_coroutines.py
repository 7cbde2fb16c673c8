"""Blocks in coroutines and threads do not disturb each other."""

import asyncio
import sys
import threading

import torch
from torch import nn

import workings


def names(work):
    return [step.name for step in work.root.walk() if step.kind == "assign"]


async def worked(k, net=None):
    with workings.trace() as work:
        a = torch.ones(2) * k
        await asyncio.sleep(0.001)
        b = a + 1
        if net is not None:
            b = net(b)
        await asyncio.sleep(0.001)
        c = b.sum()
    return work, c


async def in_turns(count):
    return await asyncio.gather(*[worked(k) for k in range(1, count + 1)])


def test_coroutines_that_take_turns():
    before = sys.gettrace()
    for k, (work, c) in enumerate(asyncio.run(in_turns(3)), 1):
        assert names(work) == ["a", "b", "c"]
        assert work.step("c").result == c == 2 * (k + 1)
        assert work.notes == [] and "raised" not in work.text()
    assert sys.gettrace() is before


async def modules_beside():
    async def busy():
        for _ in range(4):
            nn.Linear(2, 2)(torch.ones(2))
            await asyncio.sleep(0)

    (work, _), _ = await asyncio.gather(worked(1, nn.ReLU()), busy())
    return work


def test_the_modules_of_other_coroutines_are_not_recorded():
    work = asyncio.run(modules_beside())
    assert "Linear" not in work.text() and not any("linear" in step.source.lower() for step in work.root.walk())


async def nested():
    with workings.trace() as outer:
        a = torch.ones(2)
        with workings.trace() as inner:
            b = a + 1
            await asyncio.sleep(0.001)
        c = b + 1
    return outer, inner, c


async def two_nested():
    return await asyncio.gather(nested(), nested())


def test_blocks_inside_blocks_in_two_coroutines():
    for outer, inner, c in asyncio.run(two_nested()):
        assert c.tolist() == [3, 3]
        assert names(inner) == ["b"]
        assert names(outer) == ["a", "b", "c"]


def test_an_error_in_one_coroutine_leaves_the_other():
    async def failing():
        with workings.trace():
            await asyncio.sleep(0.001)
            raise ValueError("mine")

    async def both():
        return await asyncio.gather(worked(1), failing(), return_exceptions=True)

    (work, _), error = asyncio.run(both())
    assert isinstance(error, ValueError) and names(work) == ["a", "b", "c"]
    assert "follow" not in str(sys.gettrace())


def test_nothing_stays_patched():
    call = torch.nn.Module._call_impl.__code__
    asyncio.run(in_turns(3))
    asyncio.run(two_nested())
    asyncio.run(modules_beside())
    assert torch.nn.Module._call_impl.__code__ is call


def test_a_block_in_a_coroutine_without_source_says_so():
    scope = {"workings": workings, "asyncio": asyncio, "torch": torch}
    code = "async def f():\n    with workings.trace() as t:\n        await asyncio.sleep(0)\n    return t\n"
    exec(compile(code, "<nowhere>", "exec"), scope)
    work = asyncio.run(scope["f"]())
    assert any(note.startswith("not shown: a block in a coroutine is followed by its source") for note in work.notes)


def test_threads():
    found = {}

    def work(k):
        with workings.trace() as shown:
            a = torch.ones(2) * k
            b = a.sum()
        found[k] = shown, b

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, (shown, b) in found.items():
        assert names(shown) == ["a", "b"] and shown.step("b").result == b == 2 * k
