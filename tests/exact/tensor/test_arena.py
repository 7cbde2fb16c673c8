"""Memory and threads: values live as long as their tensors, and no longer."""

import gc
import subprocess
import sys
import threading

import pytest
import torch

from workings import exact


def problem(seed):
    torch.manual_seed(seed)
    x = exact(torch.randint(-3, 4, (3, 3)), requires_grad=True)
    y = (x @ x.mT / 3**0.5).softmax(-1) @ x
    y.sum().backward()
    return x.grad


def test_values_are_freed_with_their_tensors():
    gc.collect()
    before = exact.live()
    grad = problem(0)
    assert exact.live()["nodes"] > before["nodes"]
    expected = grad.float64()
    del grad
    gc.collect()
    after = exact.live()
    assert after["payloads"] == before["payloads"]
    torch.testing.assert_close(problem(0).float64(), expected)


def test_hundreds_of_problems_do_not_leak():
    psutil = pytest.importorskip("psutil")
    keep = exact("1 2; 3 4")  # a living tensor, so that the arena is never simply emptied
    process = psutil.Process()
    for seed in range(50):
        problem(seed)
    gc.collect()
    nodes, memory = exact.live()["nodes"], process.memory_info().rss
    for seed in range(300):
        problem(seed)
    gc.collect()
    assert exact.live()["payloads"] < 50
    assert exact.live()["nodes"] < max(2 * nodes, 60_000)
    assert process.memory_info().rss - memory < 50e6
    assert keep.tolist() == [[1, 2], [3, 4]]


def test_a_sweep_keeps_what_autograd_saved():
    from workings.exact.tensor.arena import ARENA

    x = exact("1 2; 3 4", requires_grad=True)
    y = (x / 3**0.5).exp() @ x
    loss = (y * y).sum()
    expected = torch.autograd.grad(loss, x, retain_graph=True)[0].float64()
    del y
    gc.collect()
    ARENA.sweep()
    torch.testing.assert_close(torch.autograd.grad(loss, x)[0].float64(), expected)


def test_threads_do_not_disturb_each_other():
    expected = [problem(seed).float64() for seed in range(8)]
    found = {}

    def work(seed):
        for _ in range(3):
            found[seed] = problem_with(seed).float64()

    def problem_with(seed):
        generator = torch.Generator().manual_seed(seed)
        x = exact(torch.randint(-3, 4, (3, 3), generator=generator), requires_grad=True)
        y = (x @ x.mT / 3**0.5).softmax(-1) @ x
        y.sum().backward()
        return x.grad

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))
    for seed in range(8):
        torch.testing.assert_close(found[seed], expected[seed])


def test_assumptions_of_threads_stay_apart():
    notes = {}

    def work(rounded):
        with exact.recording() as made:
            for _ in range(20):
                exact("1 2") * (0.123456789123 if rounded else 0.5)
        notes[rounded] = {note.kind for note in made}

    threads = [threading.Thread(target=work, args=(rounded,)) for rounded in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes == {True: {"rounded"}, False: set()}


AT_THE_END = """
import builtins
from workings import exact
from workings.exact.tensor import arena

class Last:
    def __del__(self, names=vars(arena)):
        names.update(dict.fromkeys([name for name in names if not name.startswith("__")]))  # as Python may do when it ends
        self.kept = None

builtins.last = Last()
builtins.last.kept = exact("1 2; 3 sqrt(2)") @ exact("1; 2")
"""


def test_nothing_is_said_when_python_ends():
    done = subprocess.run([sys.executable, "-W", "error", "-c", AT_THE_END], capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
