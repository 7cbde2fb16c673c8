"""One process trains in a folder at a time; what a dead one leaves is in nobody's way."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.cli.command import workings
from tests.train import tiny
from tests.train.loop.test_resume import environment, rows, same
from tests.train.tiny import examples, loss
from workings.cli.train import start
from workings.errors import WorkingsError
from workings.train import Run, Training, fit
from workings.train.process.distributed import World
from workings.train.run import lock
from workings.train.run.lock import locked

SLOW = ["train", "tiny", "--steps", "60", "--save-every", "2", "--pause", "0.1", "--out", "r"]


LONG = ["train", "tiny", "--steps", "10000", "--save-every", "2", "--pause", "0.1", "--out", "r"]


def started(folder: Path, *words: str) -> subprocess.Popen:
    words = [sys.executable, tiny.__file__, *(words or SLOW)]
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment())


def begun(folder: Path, process: subprocess.Popen) -> None:
    while Run(folder / "r").last()[0] is None:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def test_a_second_run_is_refused_and_the_first_goes_on(tmp_path):
    first = started(tmp_path, *LONG)
    begun(tmp_path, first)
    holder = (tmp_path / "r" / ".lock").read_text()
    assert holder.startswith(f"process {first.pid} on ")
    for words in (LONG, ["train", "--resume", "r"]):
        second = workings(*words, cwd=tmp_path)
        assert (second.returncode, second.stderr) == (
            2,
            f"r is in use: {holder} trains in it. Wait until that ends, or choose another folder by --out.\n",
        )
    assert first.poll() is None
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=600)[1]
    assert first.returncode == 130, said
    assert not (tmp_path / "r" / ".lock").exists()


@pytest.mark.slow
def test_two_that_begin_at_once(tmp_path):
    both = [started(tmp_path), started(tmp_path)]
    said = [process.communicate(timeout=600)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    start("tiny", ["--steps", "60", "--save-every", "2", "--out", str(tmp_path / "s")])
    assert same(tmp_path / "r", tmp_path / "s") and rows(tmp_path / "r") == rows(tmp_path / "s")


def test_the_lock_of_a_killed_process_is_in_nobodys_way(tmp_path):
    first = started(tmp_path, *LONG)
    begun(tmp_path, first)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stderr.close()
    assert (tmp_path / "r" / ".lock").exists()
    with locked(tmp_path / "r", World()):
        assert (tmp_path / "r" / ".lock").read_text().startswith(f"process {os.getpid()} on ")
    assert not (tmp_path / "r" / ".lock").exists()


def test_a_process_does_not_disturb_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.1)
    refused = []

    def again(model, batch):
        def other():
            with pytest.raises(WorkingsError) as error:
                fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=Training(steps=1), folder=tmp_path)
            refused.append(str(error.value))

        if not refused:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        return loss(model, batch)

    fit(nn.Linear(2, 1), [examples(0, 4)], again, settings=Training(steps=1), folder=tmp_path)
    assert refused == [
        f"{tmp_path} is in use: this very process trains in it. Wait until that ends, or choose another folder by --out."
    ]


def test_an_error_gives_the_lock_up(tmp_path):
    def bad(model, batch):
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fit(nn.Linear(2, 1), [examples(0, 4)], bad, folder=tmp_path)
    assert not (tmp_path / ".lock").exists()


def test_a_fork_neither_has_the_lock_nor_gives_it_up(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.1)
    with locked(tmp_path, World()):
        if (child := os.fork()) == 0:  # as the workers of a DataLoader are
            handle = lock.take(tmp_path / ".lock")[0]
            lock.release(tmp_path / ".lock", 99)
            os._exit(handle is not None)
        assert os.waitpid(child, 0)[1] == 0
        assert (tmp_path / ".lock").exists()
        with pytest.raises(lock.Busy):
            lock.try_lock(tmp_path / ".lock")


def test_a_lock_that_its_owner_removes_is_made_anew(tmp_path, monkeypatch):
    """Opened before the owner removed it, locked after: that file is no longer the one that others see."""
    path, real = tmp_path / ".lock", os.open

    def late(*given, **named):
        handle = real(*given, **named)
        if removing.pop("once", False):
            path.unlink()
        return handle

    removing = {"once": True}
    monkeypatch.setattr(lock.os, "open", late)
    with pytest.raises(lock.Busy):
        lock.try_lock(path)
    with locked(tmp_path, World()):
        assert path.exists()


def test_a_folder_that_cannot_be_locked_is_used_without(tmp_path, monkeypatch):
    import fcntl

    def none(*given):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", none)
    model = nn.Linear(2, 1)
    torch.manual_seed(0)
    assert fit(model, [examples(0, 4)], loss, settings=Training(steps=1), folder=tmp_path).ended == "finished"
    (tmp_path / "file").touch()
    with pytest.raises(WorkingsError, match=r"^Could not make .*file: File exists\."):
        fit(model, [examples(0, 4)], loss, settings=Training(steps=1), folder=tmp_path / "file")
