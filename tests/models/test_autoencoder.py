"""Auto-encoders: a linear one finds the plane of principal components, a wide one copies."""

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import ShapeError
from workings.models.autoencoder import AutoEncoder, layers, principal_angle, reconstruction_error


def points(n=80):
    torch.manual_seed(0)
    return torch.randn(n, 5, dtype=torch.float64) * torch.tensor([3.0, 2.0, 0.5, 0.3, 0.2]) @ torch.randn(5, 5).double() + 1


def trained(model, X, steps=200):
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=steps, tolerance_grad=1e-12, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = model.loss(X)
        loss.backward()
        return loss

    optimizer.step(closure)
    return model


def test_a_linear_one_recovers_the_plane_of_the_principal_components():
    X = points()
    model = trained(AutoEncoder(5, 2).double(), X)
    _, s, Vh = torch.linalg.svd(X - X.mean(dim=0), full_matrices=False)
    assert principal_angle(model.decoder[0].weight, Vh[:2].T) < 1e-4
    # what is lost is the variance of the other components
    assert_close(model.loss(X).item(), (s[2:] ** 2).sum().item() / len(X), atol=0, rtol=1e-6)


def test_that_plane_is_scikit_learns():
    decomposition = pytest.importorskip("sklearn.decomposition")
    X = points()
    reference = decomposition.PCA(2).fit(X.numpy())
    model = trained(AutoEncoder(5, 2).double(), X)
    assert principal_angle(model.decoder[0].weight, torch.from_numpy(reference.components_.T)) < 1e-4
    there_and_back = reference.inverse_transform(reference.transform(X.numpy()))
    assert_close(model(X), torch.from_numpy(there_and_back), atol=1e-3, rtol=1e-3)


def test_a_code_as_wide_as_the_input_copies():
    X = points()
    assert trained(AutoEncoder(5, 5).double(), X).loss(X) < 1e-8


def test_a_deep_one_bends_where_a_linear_one_cannot():
    t = torch.linspace(-1, 1, 60, dtype=torch.float64)
    X = torch.stack([t, t**2], dim=1)  # a curve: one number is enough, one direction is not
    torch.manual_seed(0)
    linear = trained(AutoEncoder(2, 1).double(), X)
    deep = trained(AutoEncoder(2, 1, hidden=[12], activation=torch.nn.Tanh).double(), X, steps=60)
    assert deep.loss(X) < linear.loss(X) / 20


def test_the_decoder_mirrors_the_encoder():
    model = AutoEncoder(9, 2, hidden=[7, 4])
    shapes = [tuple(p.shape) for p in model.parameters() if p.dim() == 2]
    assert shapes == [(7, 9), (4, 7), (2, 4), (4, 2), (7, 4), (9, 7)]
    assert isinstance(model.encoder[-1], torch.nn.Linear) and isinstance(model.decoder[-1], torch.nn.Linear)


def test_an_exact_one_by_hand():
    model = AutoEncoder(2, 1)
    with torch.no_grad():
        model.encoder[0].weight.copy_(torch.tensor([[1.0, 1.0]]))
        model.decoder[0].weight.copy_(torch.tensor([[0.5], [0.5]]))
        model.encoder[0].bias.zero_()
        model.decoder[0].bias.zero_()
    model = exact.exactify(model.double())
    # (1, 2) has code 3 and comes back as (3/2, 3/2): each is off by 1/2
    assert exact.equal(model(exact([[1, 2]])), exact([["3/2", "3/2"]]))
    assert exact.equal(model.loss(exact([[1, 2]])), exact("1/2"))


def test_the_error_is_summed_over_inputs_and_averaged_over_examples():
    assert reconstruction_error(torch.zeros(2, 3), torch.ones(2, 3)) == 3


def test_the_angle_between_planes():
    A, B = torch.eye(3)[:, :2], torch.eye(3)[:, 1:]
    assert principal_angle(A, B) == pytest.approx(torch.pi / 2)
    assert principal_angle(A, A @ torch.tensor([[2.0, 1.0], [0.0, 3.0]])) < 1e-12


def test_messages():
    with pytest.raises(ShapeError) as error:
        layers([3])
    assert str(error.value) == "Layers need two widths or more, each at least 1; these are [3]."
    with pytest.raises(ShapeError) as error:
        AutoEncoder(4, 0)
    assert str(error.value) == "Layers need two widths or more, each at least 1; these are [4, 0]."
    with pytest.raises(ShapeError) as error:
        principal_angle(torch.eye(2), torch.eye(3))
    assert str(error.value) == "Planes of one dimension in one space are compared: A is [2, 2], B is [3, 3]."
