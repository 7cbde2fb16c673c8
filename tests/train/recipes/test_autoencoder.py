"""The recipe `autoencoder`: it comes out below principal components of the same width."""

import pytest
import torch
from sklearn.decomposition import PCA

from tests.train.smoke import assert_repeats_and_restores, made, trained
from workings.errors import WorkingsError
from workings.train.data.images import digits
from workings.train.tasks.autoencoder import error, principal_error, widths

SHORT = dict(steps=6, batch=16, evaluate_every=6, warmup=0)


def test_it_repeats_and_is_restored(tmp_path):
    task = assert_repeats_and_restores("autoencoder", tmp_path / "run", hidden="32", **SHORT)
    with torch.no_grad():
        assert len(task.sample(task.model).splitlines()) == 8  # three pictures of 8 rows, and three below


def test_it_comes_out_below_principal_components():
    _, history = trained("autoencoder", steps=250, code=2, hidden="64", rate=1e-2, evaluate_every=250)
    assert history.best["loss"] < history.best["pca"]


def test_without_hidden_layers_it_nears_principal_components():
    _, history = trained("autoencoder", steps=300, code=2, hidden="none", rate=2e-2, evaluate_every=300)
    assert history.best["pca"] * 0.99 < history.best["loss"] < history.best["pca"] * 1.1


def test_principal_error_is_scikit_learns():
    data = digits()
    x, test = data.x.flatten(1), data.x_test.flatten(1)
    pca = PCA(5, svd_solver="full").fit(x.double().numpy())
    back = torch.from_numpy(pca.inverse_transform(pca.transform(test.double().numpy())))
    theirs = ((back - test) ** 2).sum(dim=1).mean().item()
    assert principal_error(x, test, 5) == pytest.approx(theirs, rel=1e-4)


def test_the_error_by_hand():
    # one picture of four pixels, all 1, comes back as 0: ‖x̂ − x‖² = 4
    assert error(torch.nn.Threshold(2.0, 0.0), torch.ones(1, 1, 2, 2)) == 4


def test_what_does_not_fit_is_said():
    with pytest.raises(WorkingsError) as caught:
        widths("256, many")
    assert str(caught.value) == (
        "hidden is whole numbers with spaces between them, such as '256 128', or none; got '256, many'."
    )
    assert widths("64,32") == [64, 32]
    with pytest.raises(WorkingsError) as caught:
        made("autoencoder", code=64)
    assert (
        str(caught.value)
        == "A code of 64 numbers is as wide as a picture of 64: it could copy its input. Use a smaller code."
    )
