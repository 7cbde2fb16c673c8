"""Every run of the tests is the same run: one thread a process, generated examples from a fixed seed."""

import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Processes that tests start import what the tests import.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=False)
hypothesis.settings.load_profile("repeatable")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts background jobs deaf to Ctrl-C, and so their children
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.fsync = lambda handle: None  # most of the time of tests that save; tests/train/run/test_durable.py says what is flushed
gc.set_threshold(50_000, 20, 20)  # PyTorch and the tests are a million objects that stay


def pytest_collection_finish():
    """What is imported by now stays: garbage is looked for in what the tests make."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unchecked(request):
    """A test of our own messages meets them, not jaxtyping's: its checks are off while the test runs."""
    if "message" not in request.node.name:
        yield
        return
    import jaxtyping

    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
