"""After `show`, everything is as after one plain run, also where PyTorch does not count the change."""

import copy
import io
import itertools
import random
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

import workings
from workings.trace.capture.capture import capture
from workings.trace.replay.saved_state import SavedState

AGREES = "matches the unmodified run (largest difference 0)"
CHANGES = "not compared with an unmodified run: the code changes its parameters"
USED_UP = (
    "not compared with an unmodified run, which would repeat a side effect: an iterator within its reach may be used up"
)
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])

N2, N3, N4, N5 = (4, 2), (3, 2, 3), (2, 2, 3, 3), (2, 2, 2, 2, 2)
MODULES = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(2), N2),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), N4),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2), N5),
    "BatchNorm1d, cumulative": (lambda: nn.BatchNorm1d(2, momentum=None), N2),
    "BatchNorm1d, no affine": (lambda: nn.BatchNorm1d(2, affine=False), N2),
    "BatchNorm1d, evaluated": (lambda: nn.BatchNorm1d(2).eval(), N2),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(2, track_running_stats=True), N3),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(2, track_running_stats=True), N4),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(2, track_running_stats=True), N5),
    "LazyBatchNorm1d": (nn.LazyBatchNorm1d, N2),
    "LazyBatchNorm2d, no affine": (lambda: nn.LazyBatchNorm2d(affine=False), N4),
    "LazyInstanceNorm1d": (lambda: nn.LazyInstanceNorm1d(track_running_stats=True), N3),
    "LazyLinear": (lambda: nn.LazyLinear(3), N2),
    "spectral_norm, by a hook": (lambda: nn.utils.spectral_norm(nn.Linear(2, 3)), N2),
    "spectral_norm": (lambda: parametrizations.spectral_norm(nn.Linear(2, 3)), N2),
    "weight_norm, by a hook": (lambda: quietly(nn.utils.weight_norm, nn.Linear(2, 3)), N2),
    "weight_norm": (lambda: parametrizations.weight_norm(nn.Linear(2, 3)), N2),
    "orthogonal": (lambda: parametrizations.orthogonal(nn.Linear(2, 2)), N2),
    "pruned": (lambda: prune.l1_unstructured(nn.Linear(2, 3), "weight", 2), N2),
    "Dropout": (lambda: nn.Dropout(0.5), N2),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.5), N2),
    "RReLU": (nn.RReLU, N2),
    "AveragedModel": (lambda: AveragedModel(nn.BatchNorm1d(2)), N2),
    "several": (lambda: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5), nn.BatchNorm1d(2)), N2),
    "Embedding, rescaled": (lambda: nn.Embedding(5, 3, max_norm=0.1), None),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(2, 1, 4, batch_first=True), (3, 2, 2)),
    "scripted": (lambda: quietly(torch.jit.script, nn.Sequential(nn.BatchNorm1d(2))), N2),
}


def quietly(make, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(module)


def made(make, seed=3):
    torch.manual_seed(seed)
    return make()


@pytest.mark.parametrize(("depth", "backward"), [(1, False), (3, True), (4, False)])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_and_the_random_numbers_are_as_after_one_call(name, depth, backward):
    make, size = MODULES[name]
    x = torch.tensor([1, 3]) if size is None else torch.randn(size, generator=torch.Generator().manual_seed(1))
    plain, shown = made(make), made(make)
    torch.manual_seed(4)
    plain(x)
    drawn = torch.get_rng_state()
    torch.manual_seed(4)
    work = workings.show(shown, x, depth=depth, backward=backward)
    work.text()
    assert work.agreement.startswith(("matches", "not compared"))
    assert work.agreement.startswith("matches") or name.startswith(("Lazy", "Embedding"))
    assert torch.equal(torch.get_rng_state(), drawn)
    after, once = shown.state_dict(), plain.state_dict()
    assert after.keys() == once.keys()
    assert [key for key in once if not torch.equal(after[key], once[key])] == []
    assert type(shown).__name__ == type(plain).__name__


class Inside(nn.Module):
    def __init__(self, affine=True):
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(2, affine=affine), nn.Linear(2, 1)

    def forward(self, x):
        y = torch.relu(self.norm(x))
        return self.last(self.norm(y)).sum()


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_rules_do_not_change_running_statistics(depth, affine):
    plain, shown, block = (made(lambda: Inside(affine)) for _ in range(3))
    plain(X)
    workings.show(shown, X, depth=depth, backward=True).text()
    with workings.trace(depth=depth) as work:
        loss = block(X)
    work.backward()
    assert loss.requires_grad
    assert "∂loss" in work.text()
    for module in (shown, block):
        assert torch.equal(module.norm.running_mean, plain.norm.running_mean)
        assert torch.equal(module.norm.running_var, plain.norm.running_var)
        assert module.norm.num_batches_tracked == 2


class Averaging(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.last, self.kept, self.cache = nn.Linear(2, 1), None, {}

    def forward(self, x):
        self.mean.mul_(0.9).add_(0.1 * x.mean(0))
        self.kept = x.mean(0)
        self.cache["rows"] = [(x * 2, x)]
        self.cache["last"] = self.last(x)
        return (self.cache["last"] * self.mean).sum()


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_gradients_leave_no_graph_behind(depth):
    plain, shown = made(Averaging), made(Averaging)
    plain(X)
    work = workings.show(shown, X, depth=depth, backward=True)
    assert work["∂L/∂x"].shape == X.shape
    for module in (plain, shown):  # of the last, the parameters' graph is there after a plain run too
        tensors = [module.mean, module.kept, *module.cache["rows"][0], module.cache["last"]]
        assert [t.requires_grad for t in tensors] == [False, False, False, False, True]
    assert torch.equal(shown.mean, plain.mean)
    copy.deepcopy(shown.mean)
    assert shown.cache["rows"][0][1] is X
    assert not X.requires_grad


def test_gradients_leave_no_graph_on_a_closed_over_tensor():
    total, rows = torch.zeros(2), torch.zeros(2, 2)
    row, mine = rows[0], torch.ones(2, requires_grad=True)
    other = torch.zeros(2)

    def f(x):
        total.add_(x.sum(0))
        row.add_(x.sum(0))
        other.add_(x.sum(0) * mine)
        return (x * total).sum()

    workings.show(f, X, backward=True)
    assert total.numpy().tolist() == [4, 7]
    assert rows.numpy().tolist() == [[4, 7], [0, 0]]
    assert other.requires_grad  # as after a plain run: it is made of mine


def test_an_input_that_is_changed_in_place_and_kept():
    kept = []

    def f(x):
        x.mul_(2)
        kept.append(x)
        y = x * 3
        return y.sum()

    work = workings.show(f, X, backward=True)
    assert "the code changes an input in place: it changed a copy, your tensor is as it was" in work.notes
    assert kept[0].tolist() == [[2, 4], [6, 10]]
    assert not kept[0].requires_grad
    assert X.tolist() == [[1, 2], [3, 5]]
    assert work.backward().text() == work.text()  # once more


def test_a_graph_from_an_input_that_requires_a_gradient_stays():
    x, total = X.clone().requires_grad_(), torch.zeros(2)

    def f(x):
        total.add_(x.sum(0))
        return (x * 2).sum()

    workings.show(f, x, backward=True)
    assert total.requires_grad


def attempt(kind, arguments):
    try:
        return quietly(lambda of: kind(*of), arguments)
    except (TypeError, ValueError, RuntimeError, AssertionError, AttributeError):
        return nn.Identity()


def test_the_modules_above_are_all_that_have_buffers():
    """Those of torch.nn that can be made of whole numbers alone, and have buffers then."""
    kinds = {name: kind for name, kind in vars(nn).items() if isinstance(kind, type) and issubclass(kind, nn.Module)}
    made = {name: [attempt(kind, of) for of in [(), (2,), (2, 2), (2, 2, 2)]] for name, kind in kinds.items()}
    found = {name for name, modules in made.items() if any([*module.buffers()] for module in modules)}
    assert found >= {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d"}
    others = found - MODULES.keys() - {"SyncBatchNorm"}  # this one needs several machines
    assert {name for name in others if not name.startswith("Lazy")} == set()


def test_running_statistics_that_are_given():
    def f(x, mean, var):
        y = F.batch_norm(x, mean, var, training=True)
        return y, mean

    mean, var = torch.zeros(2), torch.ones(2)
    trace = capture(f, X, mean, var)
    # the means of the columns are 2 and 3.5, and a tenth of them is added to nine tenths of 0
    assert mean.tolist() == pytest.approx([0.2, 0.35])
    assert var.tolist() == pytest.approx([0.9 + 0.1 * 2, 0.9 + 0.1 * 4.5])
    assert trace.agreement == AGREES
    returned = next(s for s in trace.steps() if s.kind == "return")
    assert returned.operands["mean"].tolist() == pytest.approx([0.2, 0.35])  # as it is now, though nobody counted


W, ARRAY = nn.Parameter(torch.ones(2)), np.ones(2, dtype=np.float32)


def through_data(x):
    W.data.mul_(2)
    return x * W


def through_a_swap(x):
    W.data.copy_(W.data.flip(0))
    return x * W


def through_numpy(x):
    shared = W.detach().numpy()
    shared *= 2
    return x * W


def by_a_fused_step(x):
    done = OPTIMIZERS[0].step()
    return x * W, done


OPTIMIZERS: list = []


@pytest.mark.parametrize("f", [through_data, through_a_swap, through_numpy, by_a_fused_step])
def test_parameters_are_changed_once(f):
    W.data, W.grad = torch.tensor([1.0, 3.0]), torch.ones(2)
    OPTIMIZERS[:] = [torch.optim.SGD([W], lr=0.5, fused=True)] if f is by_a_fused_step else []
    assert capture(f, X).agreement == CHANGES
    once = {"through_data": [2, 6], "through_a_swap": [3, 1], "through_numpy": [2, 6], "by_a_fused_step": [0.5, 2.5]}
    assert W.tolist() == once[f.__name__]


def test_a_large_parameter_is_changed_once():
    large = nn.Parameter(torch.ones(300, 300))

    def f(x):
        large.data[7, 7] = 5.0
        return x * large[7, 7]

    def g(x):
        shared = large.detach().numpy()
        shared += 1
        return x

    assert capture(f, X).agreement == CHANGES
    assert capture(g, X).agreement == CHANGES
    assert large[3, 0] == 2  # 1 + 1


def test_gradients_are_clipped_once():
    W.data, W.grad = torch.tensor([1.0, 3.0]), torch.tensor([3.0, 4.0])

    def f(x):
        norm = nn.utils.clip_grad_norm_([W], 2.5)
        return x * norm

    assert capture(f, X).agreement == "not compared with an unmodified run: the code changes gradients"
    assert W.grad.tolist() == pytest.approx([1.5, 2])


def adds_to(x, array):
    array += 1
    return x * torch.from_numpy(array)


def test_arrays_and_what_shares_their_memory():
    array, seen = np.zeros(2, dtype=np.float32), bytearray(b"a")
    assert capture(adds_to, X, array).agreement == AGREES
    assert array.tolist() == [1, 1]

    def f(x):
        seen[0] = seen[0] + 1
        array[0] = array[0] * 3
        return x

    assert capture(f, X).agreement == AGREES
    assert (seen, array.tolist()) == (b"b", [3, 1])


def test_generators_of_random_numbers():
    for make in (random.Random, np.random.default_rng, np.random.RandomState):
        mine, other = make(1), make(1)
        other.random()
        assert capture(lambda x, mine=mine: x * mine.random(), X).agreement == AGREES
        assert mine.random() == other.random()


def test_tensors_of_inference_mode_and_expanded_ones():
    with torch.inference_mode():
        total = torch.zeros(2)
    rows = torch.zeros(2, 1).expand(2, 2)

    @torch.inference_mode()
    def f(x):
        total.add_(1)
        rows[:, :1].add_(1)
        return x * total + rows

    assert capture(f, X).agreement == AGREES
    assert (total.tolist(), rows.tolist()) == ([1, 1], [[1, 1], [1, 1]])


def numbers():
    yield 1.0
    yield 2.0
    yield 3.0


@pytest.mark.parametrize(
    "make",
    [
        numbers,
        lambda: iter([1.0, 2.0, 3.0]),
        lambda: itertools.count(1.0),
        lambda: map(float, [1, 2, 3]),
        lambda: iter(DataLoader(TensorDataset(torch.tensor([1.0, 2.0, 3.0])))),
    ],
)
def test_an_iterator_outside_is_used_once(make):
    values = make()
    next(values)

    def f(x):
        y = next(values)
        return x * (y[0] if isinstance(y, list) else y)

    trace = capture(f, X)
    assert trace.agreement == USED_UP
    assert torch.equal(trace.result, X * 2)
    third = next(values)
    assert (third[0].item() if isinstance(third, list) else third) == 3


def test_an_iterator_that_is_only_seen_or_can_be_put_back(tmp_path):
    class Counting:
        def __init__(self):
            self.n = 0

        def __next__(self):
            self.n += 1
            return self.n

    values, counting = iter([1, 2]), Counting()

    def f(x):
        left = values
        return x * next(counting), left is None

    assert capture(f, X).agreement == AGREES
    assert (counting.n, next(values)) == (1, 1)
    (tmp_path / "numbers").write_text("1\n2\n")
    with open(tmp_path / "numbers") as file:
        assert capture(lambda x: x * float(file.readline()), X).agreement == USED_UP
        assert file.readline() == "2\n"
    assert not SavedState(io.StringIO("a"), iter([1])).has_used_up_iterator()


def test_a_snapshot_is_not_trusted_where_changes_are_not_counted():
    w = torch.ones(2)

    def f(x):
        y = w * x
        w.data.mul_(3)
        z = w * x
        v = w.view(2, 1)
        return y, z, v

    steps = {s.name: s for s in capture(f, torch.ones(2)).steps()}
    assert steps["y"].operands["w"].tolist() == [1, 1]
    assert steps["z"].operands["w"].tolist() == [3, 3]
    assert steps["v"].result.tolist() == [[3], [3]]


def test_a_large_tensor_that_changed_uncounted_is_said_to_have():
    large = torch.ones(70_000)

    def f(x):
        y = large * x
        large.data.mul_(3)
        return y

    assert any("changed in place" in note for note in capture(f, 2.0).notes)


def test_a_second_attempt_starts_from_where_the_first_did():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.calls = nn.BatchNorm1d(2), 0

        def forward(self, x):
            self.calls += 1
            y = self.norm(x.detach())
            x.mul_(2)  # autograd refuses this for an input that varies: a copy of it is given then
            return (x * 3).sum() + y.detach().sum()

    net, other = Net(), nn.BatchNorm1d(2)
    other(X)
    work = workings.show(net, X, backward=True)
    assert "the code changes an input in place: it changed a copy, your tensor is as it was" in work.notes
    assert net.calls == 1
    assert torch.equal(net.norm.running_mean, other.running_mean)


def test_without_a_plain_run_nothing_is_followed(monkeypatch):
    def refuse(*_):
        raise AssertionError("the objects were followed")

    monkeypatch.setattr(SavedState, "add", refuse)
    assert capture(nn.BatchNorm1d(2), X, replay=False).error is None
