"""Watching: a report at once and after each change, and Ctrl-C is no error."""

import os
import signal
import subprocess
import sys

import pytest

from workings.check.run import watch as module
from workings.check.run.watch import state, watch


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def watched(monkeypatch, names, *changes):
    """How often is reported after each change; Ctrl-C comes after the last one."""
    reports, left, seen = [], list(changes), []

    def sleep(seconds):
        assert seconds == 0.3
        seen.append(len(reports))
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    monkeypatch.setattr(module.time, "sleep", sleep)
    watch(names, lambda: reports.append(1))
    return seen


def test_every_change_is_reported_once(monkeypatch, folder):
    path = folder / "a.md"

    def nothing():
        pass

    def touch():
        os.utime(path, ns=(1, 1))

    seen = watched(
        monkeypatch, ["."], lambda: path.write_text("1"), nothing, lambda: path.write_text("22"), touch, path.unlink
    )
    # at once, made, the same, another size, another time, gone
    assert seen == [1, 2, 2, 3, 4, 5]


def test_the_state_has_what_is_there(folder):
    (folder / "a.md").write_text("one")
    assert state(["a.md", "gone.md"]) == {"a.md": (os.stat("a.md").st_mtime_ns, 3)}


def test_the_command_watches_until_ctrl_c(folder):
    (folder / "a.md").write_text("nothing to see")
    command = [sys.executable, "-m", "workings", "check", "--watch", "--no-cache", "a.md", "--html", "out.html"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("1 file: ")
            first = os.stat("out.html").st_mtime_ns
            (folder / "a.md").write_text("something new")
            assert process.stdout.readline().startswith("1 file: ")
            assert os.stat("out.html").st_mtime_ns > first
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")
