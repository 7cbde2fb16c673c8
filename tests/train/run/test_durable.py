"""What is saved outlives a power cut, a killed process and a disk that refuses."""

import os

import pytest
import torch
from safetensors import SafetensorError

from workings.errors import WorkingsError
from workings.train.run import checkpoint

W = {"w": torch.zeros(2)}


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
    checkpoint.save(tmp_path, 3, W, {}, {})
    renamed = events.index(("renamed", "step-00000003"))
    before = {name for what, name in events[:renamed] if what == "flushed"}
    assert {*checkpoint.FILES, "SHA256SUMS"} < before
    assert any(name.startswith(".step-00000003.") for name in before)  # the folder that lists them
    assert events[renamed + 1 :] == [("flushed", tmp_path.name)]


def test_a_checkpoint_that_cannot_be_saved_says_why(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(WorkingsError) as error:
        checkpoint.save(tmp_path / "file", 3, W, {}, {})
    target = tmp_path / "file" / "step-00000003"
    assert str(error.value) == f"Could not save {target}: Not a directory. Earlier checkpoints are untouched."

    def refuse(*_):
        raise SafetensorError("no room")

    monkeypatch.setattr(checkpoint, "save_file", refuse)
    with pytest.raises(WorkingsError) as error:
        checkpoint.save(tmp_path, 3, W, {}, {})
    assert str(error.value) == f"Could not save {tmp_path}/step-00000003: no room. Earlier checkpoints are untouched."


def test_nothing_of_a_deleted_checkpoint_stays(tmp_path):
    """Not even if a process was killed while it deleted the same one before."""
    left = tmp_path / ".step-00000003.old"
    left.mkdir()
    (left / "state.json").touch()
    checkpoint._discard(checkpoint.save(tmp_path, 3, W, {}, {}))
    assert not [*tmp_path.iterdir()]


def test_what_cannot_be_deleted_stops_nothing(tmp_path):
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, W, {}, {})
    (tmp_path / ".step-of-somebody").touch()  # a file, which is not deleted as a folder is
    checkpoint.prune(tmp_path, 3)
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == ["step-00000002", "step-00000003"]


def test_weights_are_copied_only_where_they_share_memory():
    t = torch.arange(3.0)
    own = checkpoint._with_own_storage({"a": t, "b": t, "c": t, "part": t[:2]})
    assert own["a"].data_ptr() == t.data_ptr()
    assert len({found.data_ptr() for found in own.values()}) == 4
    assert all(torch.equal(own[name], t) for name in "abc") and own["part"].tolist() == [0, 1]
