"""Linear auto-encoders against scikit-learn's principal components; the KL of a Gaussian code by hand."""

import pytest
import torch
from sklearn.decomposition import PCA

from workings.errors import WorkingsError
from workings.studies import Table
from workings.studies.families.generative.linear_code import _examples, gaussian_code, linear_autoencoder


def test_the_errors_are_those_of_principal_components():
    X, _, _ = _examples(8, 300, seed=3)
    torch.manual_seed(0)
    rows = next(part for part in linear_autoencoder(seed=3) if isinstance(part, Table)).rows
    for k, found, left_out, _ in rows:
        components = PCA(k).fit(X.numpy())
        rebuilt = torch.from_numpy(components.inverse_transform(components.transform(X.numpy())))
        expected = float((rebuilt - X).square().sum(dim=1).mean())
        assert left_out == pytest.approx(expected, abs=1e-9)
        assert found == pytest.approx(expected, rel=1e-2, abs=1e-4)


def test_the_kl_by_hand():
    rows = next(part for part in gaussian_code(mean=1.0, log_variance=0.0) if isinstance(part, Table)).rows
    # ½ (1 + 1 − 1 − 0) = ½
    assert (
        rows[0][1] == pytest.approx(0.5) and rows[1][1] == pytest.approx(0.5) and rows[2][1] == pytest.approx(0.5, abs=0.02)
    )


def test_a_mean_out_of_range():
    with pytest.raises(WorkingsError, match=r"mean goes from -3 to 3: far means need more draws; got 9\.0\."):
        gaussian_code(mean=9)
