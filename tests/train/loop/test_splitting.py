"""A batch in parts has the gradient of the whole: for means, for sums, whatever a batch is made of."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.train.loop.test_engine import batches, net, weights
from tests.train.tiny import loss
from workings.errors import ShapeError, WorkingsError
from workings.train import Training, fit
from workings.train.loop.batches import count_examples
from workings.train.loop.splitting import bounds, part, pieces, reduction_warning
from workings.train.task import Task


@pytest.mark.parametrize("parts", [2, 3, 4, 7])  # 6 examples: equal parts, unequal ones, more parts than examples
def test_the_gradient_of_a_split_batch_is_that_of_the_whole(parts):
    whole, split = net().double(), net().double()
    settings = {"steps": 5, "rate": 0.1, "optimizer": "sgd"}
    data = [tuple(t.double() for t in batches(step)) for step in range(5)]
    fit(whole, data, loss, settings=Training(**settings))
    fit(split, data, loss, settings=Training(**settings, accumulate=parts))
    assert_close(weights(split), weights(whole), rtol=1e-12, atol=1e-12)


def test_parts_weigh_as_much_as_they_count():
    # The mean over 3 tokens that are not padding (0): 1 in the first part, 2 in the second. Shares 1/3 and 2/3, not 1/2.
    batch = torch.tensor([[5, 0], [7, 9]])
    task = Task(net(), batches, loss, count=lambda tokens: int((tokens != 0).sum()))
    assert [(s, p.tolist()) for s, p in pieces(batch, 2, 0, 1, task)] == [(1 / 3, [[5, 0]]), (2 / 3, [[7, 9]])]


def test_processes_take_different_slices():
    task = Task(net(), batches, loss)
    taken = [pieces(torch.arange(5), 1, rank, 2, task) for rank in (0, 1)]
    assert [[(s, p.tolist()) for s, p in mine] for mine in taken] == [[(0.6, [0, 1, 2])], [(0.4, [3, 4])]]
    assert pieces(torch.arange(1), 1, 1, 2, task) == [(0.0, torch.tensor([0]))]


def test_a_ragged_batch_is_not_split():
    with pytest.raises(ShapeError) as error:
        part((torch.zeros(4, 2), torch.zeros(3)), 0, 2)
    assert str(error.value) == (
        "Splitting a batch cuts the first axis of its tensors, which must be of one length: 4 in the first, but a tensor of "
        "shape [3] came. Give `part`, or do not split."
    )


def test_bounds_cover_everything_once():
    for n in range(12):
        for parts in range(1, 8):
            cut = bounds(n, parts)
            assert [i for a, b in cut for i in range(a, b)] == list(range(n))
            assert max(b - a for a, b in cut) - min(b - a for a, b in cut) <= 1


def test_a_loss_over_the_whole_batch_is_not_split():
    task = Task(net(), batches, loss, whole=True)
    from workings.train.loop.engine import train

    with pytest.raises(WorkingsError, match="compares the examples of a batch with each other, so a batch cannot be split"):
        train(task, Training(accumulate=2))


def test_batch_normalisation_is_warned_of_when_split():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    with pytest.warns(UserWarning, match="batch normalisation sees each part"):
        fit(model, batches, loss, settings=Training(steps=1, accumulate=2))


def total(model, batch):
    return (model(batch[0]) - batch[1]).square().sum()


@pytest.mark.parametrize("parts", [2, 4, 7])
def test_the_gradient_of_a_sum_is_that_of_the_whole(parts):
    whole, split = net().double(), net().double()
    settings = {"steps": 5, "rate": 0.01, "optimizer": "sgd"}
    data = [tuple(t.double() for t in batches(step)) for step in range(5)]
    one = fit(whole, data, total, settings=Training(**settings))
    other = fit(split, data, total, settings=Training(**settings, accumulate=parts), reduction="sum")
    assert_close(weights(split), weights(whole), rtol=1e-12, atol=1e-12)
    assert_close(other.rows[-1]["loss"], one.rows[-1]["loss"], rtol=1e-12, atol=1e-12)


def test_a_sum_that_is_taken_for_a_mean_is_warned_of():
    # m(x) = x at w = 1: for the rows 1, 1, 2, 2 the halves have Σ x² = 2 and 8, the whole 10, means 1, 4 and 2.5
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    data = [torch.tensor([[1.0], [1.0], [2.0], [2.0]] * 2)]
    settings = Training(steps=2, rate=1e-6, accumulate=2)
    with pytest.warns(UserWarning) as said:
        fit(model, data, lambda m, x: m(x).square().sum(), settings=settings)
    assert [str(one.message) for one in said] == [
        "the loss looks like a sum over the examples, but is taken for a mean: it is 10 for 4 of them, 2 and 8 for their "
        'halves. A split batch has another gradient then: say reduction="sum", or make it a mean.'
    ]
    nn.init.ones_(model.weight)
    with pytest.warns(UserWarning) as said:
        fit(model, data, lambda m, x: m(x).square().mean(), settings=settings, reduction="sum")
    assert [str(one.message) for one in said] == [
        "the loss looks like a mean over the examples, but is taken for a sum: it is 2.5 for 4 of them, 1 and 4 for their "
        'halves. A split batch has another gradient then: say reduction="mean", or make it a sum.'
    ]


def test_a_mean_is_not_doubted():
    # warnings are errors in these tests; dropout and a loss that only a model in training has make no difference
    class Picky(nn.Linear):
        def forward(self, x):
            if not self.training:
                raise RuntimeError("not now")
            return super().forward(x)

    fit(net(drop=0.5), batches, loss, settings=Training(steps=2, accumulate=2))
    fit(Picky(2, 1), batches, total, settings=Training(steps=2, accumulate=2))
    task = Task(net(), batches, loss)
    assert reduction_warning(task, torch.ones(1, 2), lambda piece: 5.0) == ""
    assert reduction_warning(task, torch.ones(4, 2), lambda piece: 0.0) == ""
    assert reduction_warning(task, torch.ones(4, 2), lambda piece: 3.0) == ""
    assert reduction_warning(task, torch.ones(4, 2), lambda piece: 3.0 * len(piece)) != ""


def test_trying_a_loss_changes_nothing_of_the_run(monkeypatch):
    def noisy(model, batch):
        return (model(batch[0] + torch.randn(())) - batch[1]).square().mean()

    found, given = [], Training(steps=3, rate=0.1, accumulate=2)
    for tried in (True, False):
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 1))
        for p in model.parameters():
            nn.init.normal_(p, generator=torch.Generator().manual_seed(3))
        if not tried:
            monkeypatch.setattr("workings.train.loop.gradient.reduction_warning", lambda *given: "")
        with pytest.warns(UserWarning, match="batch normalisation"):
            fit(model, batches, noisy, settings=given)
        found.append(model.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_a_count_and_a_cut_of_ones_own():
    # rows of one long line, 2 by 2; the mean is over what is not 0: shares 1/3 and 2/3
    seen = []

    def mine(model, batch):
        seen.append(batch.tolist())
        return (model(batch.view(-1, 1)).squeeze() * (batch != 0)).sum() / (batch != 0).sum()

    whole, split = nn.Linear(1, 1), nn.Linear(1, 1)
    split.load_state_dict(whole.state_dict())
    data, settings = [torch.tensor([[5.0, 0.0, 7.0, 9.0]])], {"steps": 1, "rate": 0.1, "optimizer": "sgd"}
    fit(whole, data, mine, settings=Training(**settings))
    fit(
        split,
        [torch.tensor([[5.0, 0.0], [7.0, 9.0]])],
        mine,
        settings=Training(**settings, accumulate=2),
        count=lambda batch: float((batch != 0).sum()),
        part=lambda batch, start, stop: batch[start:stop].flatten(),
    )
    assert_close(weights(split), weights(whole))
    assert seen[-2:] == [[5.0, 0.0], [7.0, 9.0]]


def test_lists_and_arrays_are_cut_with_the_tensors():
    batch = {"x": torch.arange(4), "names": ["a", "b", "c", "d"], "pairs": ("e", "f", "g", "h"), "y": np.arange(4)}
    found = part(
        {**batch, "split": "test", "scale": 3, "sizes": [28, 28], "deep": (torch.ones(4), [[1], [2], [3], [4]])}, 1, 3
    )
    assert found["x"].tolist() == [1, 2] and found["y"].tolist() == [1, 2]
    assert (found["names"], found["pairs"]) == (["b", "c"], ("f", "g"))
    assert (found["split"], found["scale"], found["sizes"]) == ("test", 3, [28, 28])  # of all examples
    assert found["deep"][0].shape == (2,) and found["deep"][1] == [[2], [3]]
    with pytest.raises(ShapeError, match=r"but an array of shape \[3, 1\] came"):
        part((torch.ones(2), np.ones((3, 1))), 0, 1)


def test_examples_without_tensors_are_counted_too():
    assert count_examples(["to be", "or not", "to be"]) == 3
    assert count_examples({"scale": 2, "x": np.zeros((5, 2))}) == 5
    assert count_examples((torch.zeros(3, 1), ["a", "b"])) == 3
    assert count_examples("text") == count_examples(torch.tensor(1.0)) == 1
    task = Task(net(), batches, loss)
    assert [piece for _, piece in pieces(["a", "b", "c"], 2, 0, 1, task)] == [["a", "b"], ["c"]]


def test_a_reduction_is_one_of_two():
    with pytest.raises(WorkingsError) as error:
        fit(net(), batches, loss, reduction="max")
    assert str(error.value) == "reduction is one of mean, sum; got 'max'."
