"""A run that is stopped and resumed computes what an uninterrupted one computes, bit for bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from tests.train import killing, tiny
from tests.train.tiny import Settings, Tiny, examples, loss
from workings.errors import WorkingsError
from workings.train import Run, Training, fit
from workings.train.loop.engine import train
from workings.train.process.progress import Progress
from workings.train.process.signals import Interrupted


class Stop(Exception):
    """Stands for a power cut in these tests."""


def go(folder: Path, stop_at: int = -1, **given) -> tuple[Tiny, object]:
    """A run of the tiny recipe, which may break off at a step."""
    settings = Settings(**{"steps": 30, "save_every": 4, "evaluate_every": 7, **given})
    torch.manual_seed(settings.seed)
    task = Tiny().task(settings)
    inner = task.batches

    def batches(step):
        if step == stop_at:
            raise Stop
        return inner(step)

    task.batches = batches
    return train(task, settings, Run(folder), name="tiny")


def broken_off(folder: Path, at: int, **given) -> None:
    with pytest.raises(Stop):
        go(folder, at, **given)


def state(folder: Path) -> dict[str, torch.Tensor]:
    last = Run(folder).last()[0]
    found = {**load_file(last / "weights.safetensors"), **load_file(last / "memory.safetensors")}
    return {"step": torch.tensor(int(last.name[5:])), **found}


def same(one: Path, other: Path) -> bool:
    a, b = state(one), state(other)
    assert a.keys() == b.keys() and len(a) >= 5
    return all(torch.equal(a[name], b[name]) for name in a)


TIMES = ("seconds", "examples_per_second")


def rows(folder: Path) -> list[dict]:
    """The lines of metrics.jsonl, without what the clock says."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"optimizer": "sgd"},
        {"optimizer": "sgd", "beta1": 0.0},
        {"optimizer": "muon", "accumulate": 2},
        {"average": 0.9, "clip": 0.5, "schedule": "cosine", "warmup": 5},
        {"precision": "bfloat16"},
    ],
    ids=lambda given: " ".join(map(str, given.values())),
)
def test_broken_off_and_resumed_is_the_same(tmp_path, given):
    whole = go(tmp_path / "whole", **given)
    broken_off(tmp_path / "broken", 11, **given)
    broken_off(tmp_path / "broken", 23, **given)
    resumed = go(tmp_path / "broken", **given)
    assert same(tmp_path / "whole", tmp_path / "broken")
    assert rows(tmp_path / "whole") == rows(tmp_path / "broken")
    assert [row["loss"] for row in resumed.rows] == [row["loss"] for row in whole.rows]
    assert resumed.best["step"] == whole.best["step"]


def channels_last():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 1))
    return model.to(memory_format=torch.channels_last)


def turned():
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 4), nn.Linear(4, 1))
    model[1].weight = nn.Parameter(torch.randn(48, 4).T)
    return model


def with_gaps():
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 4), nn.Linear(4, 1))
    model[1].weight = nn.Parameter(torch.randn(4, 96)[:, ::2])
    return model


def complex_numbers():
    class Complex(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(48, 1, dtype=torch.complex64).T)

        def forward(self, x):
            return (x.flatten(1) + 0j).matmul(self.w.T).abs()

    return Complex()


RULES = [{}, {"optimizer": "muon"}, {"optimizer": "sgd", "average": 0.9, "clip": 0.1}]


@pytest.mark.parametrize(
    ("make", "given"),
    [*product([channels_last, turned, with_gaps], RULES), (complex_numbers, {}), (complex_numbers, RULES[2])],
)
def test_weights_in_any_order_of_memory_resume(tmp_path, make, given):
    x = torch.randn(8, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    settings = Training(steps=12, rate=0.05, save_every=5, **given)

    def go(folder, stop=-1):
        torch.manual_seed(1)
        model = make()

        def data(step):
            if step == stop:
                raise Stop
            return x.roll(step, 0)

        def squared(model, x):
            return (model(x) - x.mean((1, 2, 3)).unsqueeze(1)).square().mean()

        fit(model, data, squared, settings=settings, folder=folder)
        return model.state_dict()

    whole = go(tmp_path / "whole")
    with pytest.raises(Stop):
        go(tmp_path / "cut", stop=8)
    resumed = go(tmp_path / "cut")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


class Drawn:
    """An iterable that draws with Python, NumPy and PyTorch."""

    def __iter__(self):
        for i in range(4):
            x, y = examples(i, 6)
            yield x + random.random() + np.random.rand() + torch.rand(1), y


@pytest.mark.parametrize("place", ["loss", "function", "iterable", "compiled"])
def test_whatever_draws_random_numbers_resumes(tmp_path, place, monkeypatch):
    """NumPy's and Python's numbers follow from the step too: in the loss, in the data, where a batch is looked at twice."""
    monkeypatch.setattr("workings.train.loop.loop.compile_objective", lambda *given: False)

    def noise():
        return random.gauss(0, 0.1) + 0.1 * np.random.randn() + 0.1 * torch.randn(1).item()

    def noisy(model, batch):
        return loss(model, (batch[0] + noise(), batch[1]))

    def data(step):
        x, y = examples(step, 6)
        return x + noise(), y

    def go(folder, stop=-1):
        random.seed(len(folder.name)), np.random.seed(len(folder.name))
        torch.manual_seed(1)
        model, calls = tiny.Net(4, "tanh", 0.3), iter(range(100))

        def counted(model, batch):
            if next(calls) == stop:
                raise Stop
            return noisy(model, batch) if place == "loss" else loss(model, batch)

        settings = Training(steps=12, rate=0.05, save_every=5, compile="yes" if place == "compiled" else "no")
        fit(model, Drawn() if place in ("iterable", "compiled") else data, counted, settings=settings, folder=folder)
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    whole = go(tmp_path / "whole")
    with pytest.raises(Stop):
        go(tmp_path / "cut", stop=8)
    random.seed(99), np.random.seed(99)
    assert torch.equal(go(tmp_path / "cut"), whole)


def test_killed_at_twenty_random_moments(tmp_path):
    code = [sys.executable, killing.__file__, str(tmp_path), "20", "7"]
    done = subprocess.run(code, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    killed, *steps = map(int, done.stdout.split())
    assert killed == 20
    assert len({*steps}) > 5, "the kills came too early to matter"
    assert same(tmp_path / "undisturbed", tmp_path / "killed")
    assert rows(tmp_path / "undisturbed") == rows(tmp_path / "killed")
    for run in tmp_path.glob("finished-*"):
        assert same(tmp_path / "undisturbed", run)


def test_an_unfinished_line_of_metrics_is_dropped(tmp_path):
    go(tmp_path / "whole")
    broken_off(tmp_path / "broken", 20)
    with (tmp_path / "broken" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 21, "tra')
    go(tmp_path / "broken")
    assert rows(tmp_path / "whole") == rows(tmp_path / "broken")


def test_patience_goes_on_counting(tmp_path):
    figures = {7: 1.0, 14: 2.0, 21: 3.0, 28: 4.0}

    def attempt(stop_at):
        seen = []
        model = nn.Linear(2, 1)

        def batches(step):
            if step == stop_at:
                raise Stop
            seen.append(step)
            return examples(step, 4)

        settings = Training(steps=100, evaluate_every=7, patience=3)
        return fit(model, batches, loss, settings=settings, folder=tmp_path,
                   evaluate=lambda model: {"loss": figures[seen[-1] + 1]})  # fmt: skip

    with pytest.raises(Stop):
        attempt(16)
    history = attempt(-1)
    assert history.ended == "stopped after 3 evaluations without improvement"
    assert history.rows[-1]["step"] == 28
    assert attempt(-1).ended == history.ended  # and stays ended


def test_a_finished_run_is_not_trained_again(tmp_path):
    first = go(tmp_path)
    again = go(tmp_path, stop_at=0)
    assert (again.ended, again.best, len(again.rows)) == ("finished", first.best, len(first.rows))


def test_other_settings_are_refused_by_name(tmp_path):
    broken_off(tmp_path, 10)
    with pytest.raises(WorkingsError) as error:
        go(tmp_path, rate=0.5)
    assert str(error.value) == (
        f"{tmp_path} was started with other settings: rate is 0.5 here and 0.02 there. Continue it with "
        f"`workings train --resume {tmp_path}`, or choose another --out."
    )


def test_other_data_and_another_recipe_are_refused(tmp_path):
    go(tmp_path, steps=1)
    run = Run(tmp_path)
    with pytest.raises(WorkingsError) as error:
        run.check_continues("tiny", Settings(steps=1, save_every=4, evaluate_every=7), {"made": "1" * 64})
    assert str(error.value) == f"{tmp_path} was started with other data: made changed. Choose another --out."
    with pytest.raises(WorkingsError) as error:
        run.check_continues("digits", Settings(steps=1))
    assert str(error.value) == f"{tmp_path} is a run of tiny, not of digits: choose another --out."


def test_another_model_is_refused(tmp_path):
    fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=Training(steps=1), folder=tmp_path)
    with pytest.raises(WorkingsError, match="does not fit the model"):
        fit(nn.Linear(2, 3), [examples(0, 4)], loss, settings=Training(steps=1), folder=tmp_path)


class Interrupting(Progress):
    def __init__(self, at: int, number: signal.Signals) -> None:
        self.at, self.number = at, number

    def step(self, step, loss, speed):
        if step == self.at:
            signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_stops(tmp_path, number):
    before = signal.getsignal(number)
    settings = Settings(steps=30)
    torch.manual_seed(0)
    with pytest.raises(Interrupted) as stopped:
        train(Tiny().task(settings), settings, Run(tmp_path), Interrupting(11, number), name="tiny")
    assert str(stopped.value) == "Stopped after step 11 of 30 and saved."
    assert Run(tmp_path).last()[0].name == "step-00000011"
    assert signal.getsignal(number) is before


def test_without_a_folder_signals_are_left_alone():
    settings = Training(steps=5)
    with pytest.raises(KeyboardInterrupt) as stopped:
        fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=settings, progress=Interrupting(2, signal.SIGINT))
    assert not isinstance(stopped.value, Interrupted)


def test_ctrl_c_on_the_command_line(tmp_path):
    words = [sys.executable, tiny.__file__, "train", "tiny", "--pause", "0.05", "--steps", "1000", "--out", "r"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment())
    while not (tmp_path / "r" / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 130, said
    step = int(Run(tmp_path / "r").last()[0].name[5:])
    last = f"Stopped after step {step} of 1,000 and saved. Continue with: workings train --resume r\n"
    assert said.endswith(last)
    assert "Traceback" not in said


def environment() -> dict[str, str]:
    root = Path(tiny.__file__).parents[2]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}


def test_a_full_disk_loses_nothing_that_was_saved(tmp_path):
    """RLIMIT_FSIZE refuses to write past a size, as a full disk does; here from step 18 on."""
    wide, folder = {"width": 400}, tmp_path / "full"
    code = f"""
import os, resource, torch
from pathlib import Path
from tests.train.tiny import Settings, Tiny
from workings.errors import WorkingsError
from workings.train import Run
from workings.train.loop.engine import train
settings = Settings(steps=30, save_every=4, evaluate_every=7, width=400)
folder = Path({str(folder)!r})
def attempt(size):
    torch.manual_seed(0)
    task = Tiny().task(settings)
    inner = task.batches
    def batches(step):
        if step == 18:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return inner(step)
    task.batches = batches
    try:
        train(task, settings, Run(folder), name="tiny")
    except WorkingsError as error:
        print(error, flush=True)
for size in (5000, 100):
    if os.fork() == 0:
        attempt(size)
        os._exit(0)
    os.wait()
    print(Run(folder).last()[0].name, flush=True)
"""
    go(tmp_path / "whole", **wide)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env=environment())
    save, last, write, same_as_before = done.stdout.splitlines()
    assert save.startswith(f"Could not save {folder}/checkpoints/step-00000020: ")
    assert write == f"Could not write {folder}/metrics.jsonl: File too large. Checkpoints are untouched."
    assert last == same_as_before == "step-00000016"
    go(folder, **wide)
    assert same(tmp_path / "whole", folder)
    assert rows(tmp_path / "whole") == rows(folder)


def test_a_damaged_checkpoint_is_named_when_the_run_is_used(tmp_path, capsys):
    settings = Settings(steps=20)
    torch.manual_seed(0)
    train(Tiny().task(settings), settings, Run(tmp_path), name="tiny")
    newest = Run(tmp_path).last()[0]
    weights = newest / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    before = Run(tmp_path).last()[0]
    assert Run(tmp_path).best() != newest
    said = capsys.readouterr().err
    assert said == f"{weights} is damaged (its checksum differs). Using {before.name} or a better one before it.\n"
