"""What is saved outlives a power cut: its bytes are on the disk before its name is, and then the name itself."""

import os

import pytest
import torch

from workings.train.run import checkpoint


@pytest.fixture
def events(monkeypatch):
    """What happens to files, in its order: flushed, renamed."""
    seen, replace = [], os.replace

    def flushed(handle):
        seen.append(("flushed", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))

    def replaced(old, new):
        seen.append(("renamed", os.path.basename(new)))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replaced)
    return seen


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the name of an open file is read from /proc")
def test_bytes_are_flushed_before_the_name_and_the_name_after(tmp_path, events):
    checkpoint.save(tmp_path, 3, {"w": torch.zeros(2)}, {}, {})
    renamed = events.index(("renamed", "step-00000003"))
    before = {name for what, name in events[:renamed] if what == "flushed"}
    assert {*checkpoint.FILES, "SHA256SUMS"} < before
    assert any(name.startswith(".step-00000003.") for name in before)  # the folder that lists them
    assert events[renamed + 1 :] == [("flushed", tmp_path.name)]
