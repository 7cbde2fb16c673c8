"""What TensorBoard is given: figures as scalars, samples as text, nothing twice after a run goes on."""

import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
from torch import nn

from tests.train.tiny import examples, loss
from workings.train import Training, fit


class Writer:
    """Stands for TensorBoard's own, which need not be installed."""

    made: ClassVar[list["Writer"]] = []

    def __init__(self, folder, purge_step=None):
        self.folder, self.purge_step, self.scalars, self.texts, self.closed = folder, purge_step, [], [], False
        Writer.made.append(self)

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def add_text(self, name, value, step):
        self.texts.append((name, value, step))

    def close(self):
        self.closed = True


@pytest.fixture
def writers(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    monkeypatch.setattr(Writer, "made", [])
    return Writer.made


def go(folder, stop=-1):
    calls = iter(range(100))

    def counted(model, batch):
        if next(calls) == stop:
            raise ZeroDivisionError
        return loss(model, batch)

    settings = Training(steps=6, evaluate_every=2, save_every=2, tensorboard=True)
    figures = {"evaluate": lambda model: {"loss": 0.5}, "sample": lambda model: "a sample"}
    return fit(nn.Linear(2, 1), [examples(0, 4)], counted, settings=settings, folder=folder, **figures)


def test_figures_and_samples(tmp_path, writers):
    go(tmp_path)
    (last,) = [writer for writer in writers if writer.scalars]
    assert [(name, step) for name, _, step in last.scalars if name == "loss"] == [("loss", 2), ("loss", 4), ("loss", 6)]
    assert {name for name, _, _ in last.scalars} >= {"loss", "train"}
    assert "step" not in {name for name, _, _ in last.scalars}
    assert {(name, text) for name, text, _ in last.texts} == {("sample", "a sample")}
    assert all(writer.closed and writer.folder == tmp_path / "tensorboard" for writer in writers)


def test_a_run_that_goes_on_hides_what_came_after_its_checkpoint(tmp_path, writers):
    with pytest.raises(ZeroDivisionError):
        go(tmp_path, stop=4)
    writers.clear()
    go(tmp_path)
    assert writers[-1].purge_step == 5
    assert [step for name, _, step in writers[-1].scalars if name == "loss"] == [6]
    assert all(writer.closed for writer in writers)
