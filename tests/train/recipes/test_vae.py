"""The recipe `vae`: the bound split in its parts, draws and lines between pictures."""

import dataclasses

import pytest
import torch

from tests.train.smoke import assert_repeats_and_restores, trained
from workings.models.vae import LIKELIHOODS
from workings.train.data.images import digits
from workings.train.evaluation.open import open_run
from workings.train.recipes.vae import VaeSettings
from workings.train.tasks.vae import between, draws, figures

SHORT = dict(steps=6, batch=16, evaluate_every=6, warmup=0, hidden="32", latent=3)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_it_repeats_and_is_restored(likelihood, tmp_path):
    assert_repeats_and_restores("vae", tmp_path / "run", likelihood=likelihood, **SHORT)
    assert open_run(tmp_path / "run").model.likelihood == likelihood


def test_the_bound_rises_and_is_split():
    _, history = trained("vae", steps=300, batch=64, evaluate_every=150, hidden="64", latent=4)
    first, last = history.rows
    assert last["elbo"] > first["elbo"] > -45  # 64 pixels of log 2 are −44.4: every coin fair
    for row in (first, last):
        assert row["elbo"] == pytest.approx(row["log_likelihood"] - row["kl"], abs=1e-4)
        assert row["loss"] == -row["elbo"] and row["kl"] > 0


def test_parts_of_the_judged_pictures_are_weighed_alike():
    task, _ = trained("vae", **SHORT)
    x = digits().x[:1200]  # a part of 1000 and one of 200
    with torch.no_grad():
        torch.manual_seed(0)
        K = task.model.bound(x.flatten(1)).kl
        assert figures(task.model, x)["kl"] == pytest.approx(K.mean().item(), rel=1e-5)


def test_draws_and_lines_are_pictures():
    task, _ = trained("vae", **SHORT)
    model, x = task.model, digits().x
    assert draws(model, (1, 8, 8), 5, seed=0).shape == (5, 1, 8, 8)
    line = between(model, x[:2], x[2:4], steps=4)
    assert line.shape == (8, 1, 8, 8)
    with torch.no_grad():
        μ, _ = model.encode(x[:4].flatten(1))
        ends = model.decode(μ).view(4, 1, 8, 8)
    torch.testing.assert_close(line[[0, 4, 3, 7]], ends)


def test_the_settings_name_every_likelihood_of_the_model():
    (field,) = [field for field in dataclasses.fields(VaeSettings) if field.name == "likelihood"]
    assert field.metadata["among"] == LIKELIHOODS
