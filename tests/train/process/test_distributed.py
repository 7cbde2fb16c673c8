"""Two real processes on this machine: the same curve as one, sharded checkpoints that load on one, a killed worker."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from tests.train import tiny, together
from workings.cli.train import start
from workings.errors import WorkingsError
from workings.train import Run, Training
from workings.train.process.distributed import World, check_settings
from workings.train.run.lock import locked

TINY = [str(Path(tiny.__file__))]
SAME = ["--steps", "12", "--evaluate-every", "1", "--drop", "0", "--batch", "7", "--clip", "1"]


def command(*words: str, processes: int, restarts: int = 0) -> list[str]:
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
        "--max-restarts",
        str(restarts),
    ]
    return [sys.executable, *torchrun, *TINY, "train", "tiny", *words]


def run(*words: str, processes: int) -> str:
    done = subprocess.run(command(*words, processes=processes), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stderr


def run_together(*words: str, **given) -> subprocess.CompletedProcess[str]:
    """Two processes without torchrun, which takes longer than what they do."""
    return subprocess.run(
        [sys.executable, together.__file__, "train", *words], capture_output=True, text=True, timeout=600, **given
    )


def curve(folder: Path) -> list[float]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row[name] for row in rows if "loss" in row for name in ("train", "loss")]


def final(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(Run(folder).last()[0] / "weights.safetensors")


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(["--accumulate", "2"], id="copied"),
        pytest.param(["--shard", "--average", "0.5"], id="sharded", marks=pytest.mark.slow),
    ],
)
def test_two_processes_have_the_curve_of_one(tmp_path, extra):
    folder, alone = tmp_path / "run", tmp_path / "alone"
    said = run(*SAME, *extra, "--out", str(folder), processes=2)
    start("tiny", [*SAME, *(extra[-2:] if "--average" in extra else []), "--out", str(alone)])
    assert_close(torch.tensor(curve(folder)), torch.tensor(curve(alone)), rtol=1e-5, atol=1e-5)
    assert len(curve(folder)) == 24
    assert said.count("training in") == 1  # only the first process speaks
    state = final(folder)
    assert_close(state, final(alone), rtol=1e-4, atol=1e-5)
    model = tiny.Tiny().model(tiny.Settings(), {})
    model.load_state_dict(state)  # whole tensors, not shards


@pytest.mark.slow
@pytest.mark.parametrize("extra", [[], ["--shard"]], ids=["copied", "sharded"])
def test_a_killed_worker_comes_back_and_the_result_is_the_same(tmp_path, extra):
    words = ["--steps", "30", "--save-every", "3", *extra]
    run(*words, "--pause", "0.2", "--out", str(tmp_path / "undisturbed"), processes=2)
    folder = tmp_path / "killed"
    torchrun = subprocess.Popen(
        command(*words, "--pause", "0.2", "--out", str(folder), processes=2, restarts=2), stderr=subprocess.PIPE, text=True
    )
    while len(list((folder / "checkpoints").glob("step-*"))) < 2:
        assert torchrun.poll() is None
        time.sleep(0.05)
    children = [int(pid) for pid in Path(f"/proc/{torchrun.pid}/task/{torchrun.pid}/children").read_text().split()]
    workers = [pid for pid in children if "tiny.py" in Path(f"/proc/{pid}/cmdline").read_text()]
    assert len(workers) == 2
    os.kill(workers[1], signal.SIGKILL)
    said = torchrun.communicate(timeout=600)[1]
    assert torchrun.returncode == 0, said
    assert "continuing in" in said
    ours, theirs = final(folder), final(tmp_path / "undisturbed")
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_sharded_run_goes_on_in_one_process_and_the_other_way_round(tmp_path):
    words, resume = ["--steps", "12", "--drop", "0", "--clip", "1", "--average", "0.5", "--save-every", "4"], ["--resume"]
    alone, sharded = tmp_path / "alone", tmp_path / "sharded"
    start("tiny", [*words, "--out", str(alone)])
    done = run_together("tiny", *words, "--shard", "--out", str(sharded))
    assert done.returncode == 0, done.stderr
    assert_close(final(sharded), final(alone), rtol=1e-4, atol=1e-5)
    for folder in (alone, sharded):
        shutil.rmtree(folder / "checkpoints" / "step-00000012")
    start("", [*resume, str(sharded)])
    done = run_together("tiny", *resume, str(alone), "--shard")
    assert done.returncode == 0, done.stderr
    assert [Run(folder).last()[0].name for folder in (alone, sharded)] == ["step-00000012"] * 2
    assert_close(final(sharded), final(alone), rtol=1e-4, atol=1e-5)
    shutil.rmtree(sharded / "checkpoints" / "step-00000012")
    start("", [*resume, str(sharded), "--no-shard"])
    assert_close(final(sharded), final(alone), rtol=1e-4, atol=1e-5)


def test_a_folder_in_use_is_refused_to_many_processes(tmp_path):
    start("tiny", ["--steps", "2", "--out", str(tmp_path / "r")])
    with locked(tmp_path / "r", World()):
        done = run_together("tiny", "--steps", "2", "--out", "r", cwd=tmp_path)
    assert done.returncode == 2
    assert f"r is in use: process {os.getpid()} on " in done.stderr


@pytest.mark.parametrize(
    ("settings", "world", "message"),
    [
        (Training(shard=True), World(), "shard needs several processes: torchrun --nproc-per-node 2 -m workings train …"),
        (
            Training(shard=True, optimizer="muon"),
            World(0, 2),
            "muon needs whole matrices, which shard cuts: use optimizer adamw, or leave out shard.",
        ),
        (Training(batch=3), World(0, 4), "A batch of 3 cannot be split over 4 processes: batch is at least that."),
    ],
)
def test_settings_that_do_not_go_together(settings, world, message):
    with pytest.raises(WorkingsError) as error:
        check_settings(settings, world)
    assert str(error.value) == message
