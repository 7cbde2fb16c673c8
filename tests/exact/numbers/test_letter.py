"""Letters of one name with different sample values: cells that run again, threads, coroutines."""

import asyncio
import pickle
import threading

import pytest
import torch

from workings import exact
from workings.errors import UndecidedError


def test_a_cell_that_runs_again_with_another_sample_value():
    g = exact.symbols(g="3/10").requires_grad_()
    y = torch.relu(g) * g
    first = g
    g = exact.symbols(g=-1)
    assert torch.relu(g).text() == "0"
    assert [note.text for note in torch.relu(g).assumptions] == ["g < 0 (decided at g = -1)"]
    y.backward()  # with the letter that y was computed with
    assert first.grad.text() == "2g"
    again = exact.symbols(g="3/10")
    assert exact.equal(again * first, first * first)


def test_a_cell_that_runs_again_without_a_sample_value():
    h = exact.symbols(h=0.5)
    kept = h + 1
    h = exact.symbols("h")
    with pytest.raises(UndecidedError, match=r"depends on h\. Give sample values"):
        torch.relu(h)
    assert kept.item() == 1.5


def test_text_means_the_letter_that_was_declared_last():
    k = exact.symbols(k=2)
    assert exact("k + 1").item() == 3
    old = k
    k = exact.symbols(k=5)
    assert exact("k + 1").item() == 6 and old.item() == 2


def test_a_letter_gets_its_first_sample_value_later():
    A = exact("u_later 1; 0 u_later")
    with pytest.raises(UndecidedError):
        torch.relu(A)
    exact.symbols(u_later=2)
    assert exact.equal(torch.relu(A), A)


def test_two_letters_of_one_name_do_not_meet_in_a_formula():
    m = exact.symbols(m=1)
    y = m * 2
    m = exact.symbols(m=-1)
    with pytest.raises(
        UndecidedError, match=r"Two letters are named m here: one has the sample value -?1, the other the sample value -?1, "
    ):
        y + m
    both = torch.stack([y, m])  # side by side they are no formula
    assert both.tolist() == [2, -1]
    again = pickle.loads(pickle.dumps(both))
    assert again.tolist() == [2, -1] and exact.equal(again[1], m) and exact.equal(again[0], y)
    assert both.substitute(m=7).tolist() == [14, 7]


def test_threads_do_not_disturb_each_other():
    found, barrier = {}, threading.Barrier(2)

    def work(sample):
        v = exact.symbols(v_thread=sample)
        barrier.wait(60)
        y = torch.relu(exact("v_thread") + 0 * v)
        barrier.wait(60)
        found[sample] = y.item()

    threads = [threading.Thread(target=work, args=(sample,)) for sample in (3, -3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {3: 3, -3: 0}


def test_coroutines_do_not_disturb_each_other():
    c = exact.symbols("c_task")

    async def work(sample):
        v = exact.symbols(c_task=sample)
        await asyncio.sleep(0.001)
        return torch.relu(exact("c_task") + 0 * v).item()

    async def all_of_them():
        return await asyncio.gather(work(3), work(-3))

    assert asyncio.run(all_of_them()) == [3, 0]
    with pytest.raises(UndecidedError):
        torch.relu(c)
