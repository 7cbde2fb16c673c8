"""Checkpoints: whole or absent, checked when read, pruned when a newer one is complete."""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from tests.cli.command import workings
from tests.train.loop.test_resume import broken_off, go, rows, same
from workings.atomic import write_text
from workings.errors import WorkingsError
from workings.train import Run, Training, fit, open_run
from workings.train.loop.run_writer import State
from workings.train.run import checkpoint
from workings.train.run.run import new_folder


def saved(folder: Path, *steps: int, best: int = 0) -> list[Path]:
    made = [checkpoint.save(folder, s, {"w": torch.full((3,), float(s))}, {}, {"best": s == best}) for s in steps]
    return made


def test_what_is_saved_is_read_back(tmp_path):
    weights = {"a": torch.randn(3, 4), "b": torch.arange(5), "half": torch.randn(2).bfloat16(), "none": torch.empty(0, 3)}
    path = checkpoint.save(tmp_path, 7, weights, {"0.0.step": torch.tensor(7.0)}, {"figures": {"loss": 0.1}})
    assert path.name == "step-00000007"
    assert checkpoint.problem(path) == ""
    assert checkpoint.read_state(path) == {"step": 7, "figures": {"loss": 0.1}}
    read = checkpoint.read_weights(path)
    assert all(torch.equal(read[name], t) and read[name].dtype == t.dtype for name, t in weights.items())
    assert checkpoint.read_memory(path)["0.0.step"].item() == 7.0


def test_sha256sum_agrees(tmp_path):
    (path,) = saved(tmp_path, 1)
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=path, capture_output=True, text=True)
    assert done.stdout == "weights.safetensors: OK\nmemory.safetensors: OK\nstate.json: OK\n"


def test_tied_and_overlapping_weights_are_kept_apart_on_disk(tmp_path):
    t = torch.arange(6.0)
    path = checkpoint.save(tmp_path, 1, {"one": t, "same": t, "view": t[2:], "turned": t.view(2, 3).T}, {}, {})
    read = checkpoint.read_weights(path)
    assert torch.equal(read["same"], t) and torch.equal(read["view"], t[2:]) and torch.equal(read["turned"], t.view(2, 3).T)


def test_a_model_with_tied_weights_resumes(tmp_path):
    def model():
        torch.manual_seed(0)
        made = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
        made[1].weight = made[0].weight
        return made

    def loss(m, x):
        return nn.functional.cross_entropy(m(x), x)

    data = [torch.arange(5)]
    whole, cut = model(), model()
    for average in (0.0, 0.9):
        settings = Training(steps=6, save_every=2, average=average)
        fit(whole := model(), data, loss, settings=settings, folder=tmp_path / f"whole{average}")
        fit(model(), data, loss, settings=settings, folder=tmp_path / f"cut{average}")
        shutil.rmtree(tmp_path / f"cut{average}" / "checkpoints" / "step-00000006")
        fit(cut := model(), data, loss, settings=settings, folder=tmp_path / f"cut{average}")
        assert torch.equal(whole[0].weight, cut[0].weight)
        assert cut[0].weight is cut[1].weight


def test_only_tensors_are_kept(tmp_path):
    with pytest.raises(WorkingsError) as error:
        checkpoint.save(tmp_path, 1, {"_extra_state": {"a": 1}}, {}, {})
    assert str(error.value) == "A checkpoint holds tensors; _extra_state of the model's state is a dict."


def test_the_last_two_and_the_best_stay(tmp_path):
    saved(tmp_path, 1, 2, 3, 4, 5, 6, best=3)
    (tmp_path / ".step-00000007.partial").mkdir()  # left by a killed process
    checkpoint.prune(tmp_path, 6)
    assert sorted(os.listdir(tmp_path)) == ["step-00000003", "step-00000005", "step-00000006"]


def test_one_that_cannot_be_read_is_not_the_best(tmp_path):
    saved(tmp_path, 1, 2, 3, 4, 5, 6, best=2)
    (tmp_path / "step-00000004" / "state.json").write_text("{")
    checkpoint.prune(tmp_path, 6)
    assert sorted(os.listdir(tmp_path)) == ["step-00000002", "step-00000005", "step-00000006"]


def test_damaged_ones_of_later_steps_crowd_out_no_whole_one(tmp_path):
    # 7 and 8 are damaged, and 8 even says it is the best: the run went on from 3 and reached 6
    saved(tmp_path, 2, 3, 5, 6, best=2)
    later = saved(tmp_path, 7, 8, best=8)
    for path in later:
        flip(path / "weights.safetensors")
    checkpoint.prune(tmp_path, 6)
    kept = [2, 5, 6, 7, 8]
    assert sorted(os.listdir(tmp_path)) == [f"step-{s:08d}" for s in kept]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("file", [*checkpoint.FILES, "SHA256SUMS"])
@pytest.mark.parametrize("damage", [flip, halve, Path.unlink])
def test_any_damage_is_found_and_named(tmp_path, file, damage):
    (path,) = saved(tmp_path, 1)
    damage(path / file)
    said = checkpoint.problem(path)
    assert said.startswith(str(path)) and "is damaged" in said
    if damage is Path.unlink and file != "SHA256SUMS":
        assert said == f"{path} is damaged ({file} is missing)"
    elif damage is flip and file != "SHA256SUMS":
        assert said == f"{path / file} is damaged (its checksum differs)"


@pytest.mark.parametrize("damage", [flip, halve, Path.unlink])
def test_a_damaged_checkpoint_is_named_and_the_one_before_used(tmp_path, damage):
    go(tmp_path / "whole")
    go(tmp_path / "hurt")
    last = tmp_path / "hurt" / "checkpoints" / "step-00000030"
    damage(last / "memory.safetensors")
    with pytest.warns(UserWarning) as said:
        go(tmp_path / "hurt")
    assert str(said[0].message) == f"{checkpoint_problem(last, damage)}; continuing from {last.with_name('step-00000028')}."
    assert same(tmp_path / "whole", tmp_path / "hurt")
    assert rows(tmp_path / "whole") == rows(tmp_path / "hurt")
    assert checkpoint.problem(last) == ""


def checkpoint_problem(path: Path, damage: object) -> str:
    file = "memory.safetensors"
    missing = f"{path} is damaged ({file} is missing)"
    return missing if damage is Path.unlink else f"{path / file} is damaged (its checksum differs)"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_where_all_are_damaged_every_file_is_named_and_nothing_touched(tmp_path):
    go(tmp_path / "whole", steps=16)
    hurt = tmp_path / "hurt"
    broken_off(hurt, 15, steps=16)
    *older, last = checkpoint.checkpoints(hurt / "checkpoints")
    for path in older:
        halve(path / "weights.safetensors")
    flip(last / "weights.safetensors")
    flip(last / "state.json")
    before = contents(hurt)
    with pytest.raises(WorkingsError) as error:
        go(hurt, steps=16)
    damaged = [last / "weights.safetensors", last / "state.json", *(p / "weights.safetensors" for p in reversed(older))]
    assert str(error.value) == (
        f"{hurt} cannot continue: none of its checkpoints is intact: "
        + ", ".join(f"{file} is damaged (its checksum differs)" for file in damaged)
        + ". Nothing was changed. Put copies of the files back, or train again in another folder by --out; to start over "
        f"in this one, delete {hurt}/checkpoints first."
    )
    assert contents(hurt) == before
    with pytest.raises(WorkingsError, match=r"no intact checkpoint: .* Put copies of the files back, or train again in "):
        Run(hurt).best()
    shutil.rmtree(hurt / "checkpoints")
    go(hurt, steps=16)
    assert same(tmp_path / "whole", hurt)
    assert rows(tmp_path / "whole") == rows(hurt)


def test_the_command_refuses_a_run_without_a_whole_checkpoint(tmp_path):
    assert workings("train", "tiny", "--steps", "4", "--out", "r", cwd=tmp_path).returncode == 0
    for path in checkpoint.checkpoints(tmp_path / "r" / "checkpoints"):
        halve(path / "memory.safetensors")
    before = contents(tmp_path)
    for words in (["--resume", "r"], ["tiny", "--steps", "4", "--out", "r"]):
        done = workings("train", *words, cwd=tmp_path)
        assert done.returncode == 2 and "none of its checkpoints is intact" in done.stderr
        assert "Traceback" not in done.stderr and "starting over" not in done.stderr
    assert contents(tmp_path) == before


def test_only_the_starting_weights_are_no_model(tmp_path):
    broken_off(tmp_path, 2)
    assert Run(tmp_path).last()[0].name == checkpoint.START
    with pytest.raises(WorkingsError) as error:
        Run(tmp_path).best()
    assert str(error.value) == (
        f"{tmp_path} has only the weights it started from: continue with `workings train --resume {tmp_path}`."
    )
    checkpoint.save(tmp_path / "checkpoints", 4, {"w": torch.zeros(1)}, {}, {})
    assert Run(tmp_path).best().name == "step-00000004"


def test_a_run_gives_its_best_model(tmp_path):
    go(tmp_path)
    run = Run(tmp_path)
    judged = [row for row in rows(tmp_path) if "loss" in row]
    best = min(judged, key=lambda row: row["loss"])
    assert run.best().name == f"step-{best['step']:08d}"
    # the class is made through the recipe's name, with the weights of the best checkpoint
    from tests.train import tiny

    tiny.RECIPES["tiny"] = tiny.Tiny()
    model = open_run(tmp_path).model
    assert not model.training
    state = load_file(run.best() / "weights.safetensors")
    assert all(torch.equal(t, state[name]) for name, t in model.state_dict().items())
    assert run.files() == {"words.txt": "one\ntwo"}


def test_the_best_stays_when_later_ones_are_worse(tmp_path):
    figures = iter([3.0, 1.0, 2.0, 2.5, 2.2])
    settings = Training(steps=5, evaluate_every=1)
    data, loss = [torch.ones(1, 1)], lambda m, x: m(x).square().mean()
    fit(nn.Linear(1, 1), data, loss, settings=settings, folder=tmp_path, evaluate=lambda model: {"loss": next(figures)})
    assert Run(tmp_path).best().name == "step-00000002"
    kept = [path.name for path in checkpoint.checkpoints(tmp_path / "checkpoints")]
    assert kept == ["step-00000002", "step-00000004", "step-00000005"]


def test_what_is_not_a_run_says_so(tmp_path):
    with pytest.raises(WorkingsError) as error:
        Run(tmp_path).read()
    assert str(error.value) == (
        f"{tmp_path} is not a training run: it has no settings.json. Name a folder written by `workings train`."
    )
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(WorkingsError, match=r"settings.json is damaged"):
        Run(tmp_path).read()
    with pytest.raises(WorkingsError) as error:
        Run(tmp_path).best()
    assert str(error.value) == f"{tmp_path} has no intact checkpoint: train it first."


def test_a_run_of_fit_has_no_recipe(tmp_path):
    fit(nn.Linear(1, 1), [torch.ones(1, 1)], lambda m, x: m(x).mean(), settings=Training(steps=1), folder=tmp_path)
    with pytest.raises(WorkingsError) as error:
        open_run(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} was trained by fit(), not by a recipe: make its model yourself and load "
        f"{tmp_path}/checkpoints/step-00000001/weights.safetensors."
    )
    data = json.loads((tmp_path / "settings.json").read_text())
    assert data["settings"]["seed"] == 0
    assert {*data["versions"]} == {"workings", "torch", "numpy", "python"}
    assert data["versions"]["numpy"] == np.__version__
    machine = data["machine"]
    assert machine["threads"] == torch.get_num_threads() and machine["processors"] == os.cpu_count()
    assert (machine["system"], machine["machine"]) == (platform.platform(), platform.machine())
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    named = re.findall(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    assert machine["processor"] == (named[0] if named else platform.processor() or platform.machine())


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "figures.txt"
    for text in ("one", "two"):
        write_text(path, text)
        assert path.read_text() == text and os.listdir(tmp_path) == ["figures.txt"]


def test_the_mean_loss_begins_anew_with_each_row():
    state = State(losses=6.0, counted=4)
    assert state.mean() == 1.5
    assert (state.losses, state.counted, state.mean()) == (0, 0, 0)  # nothing since then


def test_new_folders_are_numbered(tmp_path):
    names = [new_folder("digits", tmp_path).name for _ in range(3)]
    assert names == ["digits-1", "digits-2", "digits-3"]
    assert new_folder("digits", tmp_path / "not" / "there").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(WorkingsError) as error:
        new_folder("digits", tmp_path / "file")
    assert str(error.value) == f"Could not make {tmp_path}/file/digits-1: Not a directory."
