"""A recipe trained for a few steps on real data, and its model restored from the run."""

import torch

from workings.errors import WorkingsError
from workings.train.data import fetch
from workings.train.evaluation.open import open_run
from workings.train.loop.engine import train
from workings.train.recipes import recipe
from workings.train.run.run import Run


def made(name, **given):
    """The settings and the task of a recipe."""
    found = recipe(name)
    settings = found.Settings(**given)
    torch.manual_seed(settings.seed)
    return settings, found.task(settings)


def trained(name, folder=None, **given):
    """Train; the task with its trained model, and what happened."""
    settings, task = made(name, **given)
    history = train(task, settings, Run(folder) if folder is not None else None, name=name)
    task.model.eval()
    return task, history


def same_weights(a, b):
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def assert_repeats_and_restores(name, folder, **given):
    """The same settings give the same bits, and the run's own model has them; returns the task."""
    first, history = trained(name, folder, **given)
    again, _ = trained(name, **given)
    assert same_weights(first.model, again.model)
    assert history.best["step"] == history.rows[-1]["step"]
    restored = open_run(folder).model
    assert same_weights(first.model, restored) and not restored.training
    with torch.no_grad():
        torch.manual_seed(0)
        said = first.sample(first.model)
        torch.manual_seed(0)
        assert first.sample(restored) == said
    return first


def online(name):
    """The archive through the real client; a test without a network says why it cannot run."""
    import pytest

    try:
        return fetch.archive(name)
    except WorkingsError as error:
        if "offline" in str(error):
            pytest.skip(str(error))
        raise
