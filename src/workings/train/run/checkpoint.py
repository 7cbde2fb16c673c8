"""Checkpoints: safetensors and JSON, written aside and renamed, with checksums. No code runs when one is read.

A checkpoint is a directory `step-00001000` with

    weights.safetensors    the weights to use (the averaged ones where an average is kept)
    memory.safetensors     what the optimizer remembers, and the weights it goes on from where an average is kept
    state.json             the step, the figures, how the run stands
    SHA256SUMS             the checksums of these three; `sha256sum -c SHA256SUMS` reads it

It appears whole or not at all: everything is written to a temporary directory and flushed to the disk before that directory
is renamed.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from workings.atomic import replacing
from workings.checksum import sha256_of_file
from workings.errors import WorkingsError

START = "step-00000000"
"""The checkpoint of the weights that a run starts from."""
FILES = ("weights.safetensors", "memory.safetensors", "state.json")
_KEPT = 2
"""The newest checkpoints that stay beside the best: should one turn out damaged, the one before it is there."""


def save(folder: Path, step: int, weights: dict[str, Tensor], memory: dict[str, Tensor], state: dict[str, Any]) -> Path:
    """Write a checkpoint whole; what is already there stays until the new one is complete."""
    target = folder / f"step-{step:08d}"
    try:
        with replacing(target) as partial:
            partial.mkdir(parents=True)
            _write_into(partial, weights, memory, {"step": step, **state})
            if target.exists():  # a damaged one of the same step: a directory cannot be renamed onto another
                _discard(target)
        _flush(folder)  # the new name itself is on the disk only after this
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkingsError(f"Could not save {target}: {reason}. Earlier checkpoints are untouched.") from None
    return target


def _write_into(partial: Path, weights: dict[str, Tensor], memory: dict[str, Tensor], state: dict[str, Any]) -> None:
    """The files of a checkpoint, flushed to the disk."""
    save_file(_with_own_storage(weights), partial / "weights.safetensors")
    save_file(_with_own_storage(memory), partial / "memory.safetensors")
    (partial / "state.json").write_text(json.dumps(state, indent=1), encoding="utf-8")
    sums = "".join(f"{sha256_of_file(partial / file)}  {file}\n" for file in FILES)
    (partial / "SHA256SUMS").write_text(sums, encoding="utf-8")
    # A rename can reach the disk before the bytes it renames: after a power cut a whole name would stand for empty files.
    for path in (*partial.iterdir(), partial):
        _flush(path)


def _with_own_storage(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor in memory of its own: tied weights are written under each of their names."""
    seen: set[int] = set()
    found = {}
    for name, t in named.items():
        if not isinstance(t, Tensor):
            raise WorkingsError(f"A checkpoint holds tensors; {name} of the model's state is a {type(t).__name__}.")
        storage = t.untyped_storage()  # safetensors refuses tensors that share memory, and views of a part of it
        mine = t.is_contiguous() and storage.data_ptr() not in seen and storage.nbytes() == t.nbytes
        seen.add(storage.data_ptr())
        found[name] = t.detach() if mine else t.detach().clone().contiguous()
    return found


def _flush(path: Path) -> None:
    """Have the disk keep what was written."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def problem(checkpoint: Path) -> str:
    """What is wrong with a checkpoint, every damaged file by its name; or nothing."""
    wrong = []
    try:
        lines = (checkpoint / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        sums = {name: expected for expected, _, name in (line.partition("  ") for line in lines)}
        for file in FILES:
            if not (checkpoint / file).is_file():
                wrong.append(f"{checkpoint} is damaged ({file} is missing)")
            elif sha256_of_file(checkpoint / file) != sums.get(file):
                wrong.append(f"{checkpoint / file} is damaged (its checksum differs)")
    except (OSError, ValueError) as error:
        wrong.append(f"{checkpoint} is damaged ({getattr(error, 'strerror', None) or error})")
    return ", ".join(wrong)


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints of a run, the oldest first."""
    return sorted(path for path in folder.glob("step-*") if path.is_dir()) if folder.is_dir() else []


def prune(folder: Path, step: int) -> None:
    """Of the checkpoints up to a step, keep the newest two and the best; what a killed process left half-done goes too.

    Later ones are there only where a run goes on from before damaged ones: they crowd out none of the whole ones.
    """
    found = [path for path in checkpoints(folder) if path.name <= f"step-{step:08d}"]
    best = next((path for path in reversed(found) if _is_marked_best(path)), None)
    for path in found[:-_KEPT]:
        if path != best:
            _discard(path)
    for path in folder.glob(".step-*"):
        shutil.rmtree(path, ignore_errors=True)


def _is_marked_best(checkpoint: Path) -> bool:
    try:
        return bool(read_state(checkpoint).get("best"))
    except (OSError, ValueError):
        return False


def _discard(checkpoint: Path) -> None:
    """Delete a checkpoint; a half-deleted one is never taken for a checkpoint."""
    # Deleting a directory takes several steps, renaming it one: killed in between, what is left has no checkpoint's name.
    hidden = checkpoint.with_name(f".{checkpoint.name}.old")
    shutil.rmtree(hidden, ignore_errors=True)
    os.replace(checkpoint, hidden)
    shutil.rmtree(hidden, ignore_errors=True)


def read_state(checkpoint: Path) -> dict[str, Any]:
    """How the run stood."""
    state: dict[str, Any] = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    return state


def read_memory(checkpoint: Path) -> dict[str, Tensor]:
    """What the optimizer remembered."""
    return load_file(checkpoint / "memory.safetensors")


def read_weights(checkpoint: Path) -> dict[str, Tensor]:
    """The weights to use."""
    return load_file(checkpoint / "weights.safetensors")


def load_weights(model: nn.Module, checkpoint: Path) -> None:
    """The weights of a checkpoint into a model of the same shape."""
    try:
        weights = read_weights(checkpoint)
    except (OSError, SafetensorError) as error:
        raise WorkingsError(f"{checkpoint} cannot be read: {error}.") from None
    load_state(model, weights, checkpoint)


def load_state(model: nn.Module, weights: dict[str, Tensor], checkpoint: Path) -> None:
    """Weights into a model of the same shape; `checkpoint` is where they are from."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise WorkingsError(f"{checkpoint} does not fit the model: {error}") from None
