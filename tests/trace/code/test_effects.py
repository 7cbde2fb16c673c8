"""The plain run beside the captured one: what is repeated, and what must not be."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from workings import exact
from workings.trace.capture.capture import capture


def test_random_code_is_replayed_with_the_same_numbers():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    before = net[2].running_mean.clone()
    trace = capture(net, torch.randn(3, 4))
    assert trace.difference == 0
    assert not torch.equal(net[2].running_mean, before)
    assert int(net[2].num_batches_tracked) == 1


def test_parameters_are_shown_as_they_were_before_the_update():
    def train(theta):
        optimizer = torch.optim.SGD([theta], lr=0.1)
        L = 3 * theta
        L.backward()
        optimizer.step()
        return theta

    trace = capture(train, exact("1", requires_grad=True))
    steps = {s.name: s for s in trace.steps() if s.kind in ("input", "assign")}
    assert steps["theta"].result.item() == 1
    assert steps["L"].operands["theta"].item() == 1
    update = next(s for s in trace.steps() if s.kind == "update")
    assert update.result.text() == "7/10"
    assert update.note == "update checked: largest difference 0"


def test_effects_happen_once():
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    seen = []

    def train(x):
        optimizer.zero_grad()
        L = model(x).sum()
        L.backward()
        optimizer.step()
        seen.append(L.item())
        return L

    before = model.weight.item()
    trace = capture(train, torch.ones(1, 1))
    assert model.weight.item() == pytest.approx(before - 0.5)
    assert len(seen) == 1
    assert trace.agreement.startswith(
        "not compared with an unmodified run, which would repeat a side effect: optimizer.zero_grad()"
    )


def test_threads_take_turns():
    import threading

    call, net, counts = nn.Module.__call__, nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []

    def work():
        for _ in range(10):
            counts.append(sum(1 for _ in capture(net, torch.ones(1, 2), depth=3).steps()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 40
    assert len(set(counts)) == 1
    assert nn.Module.__call__ is call


def test_large_tensors_changed_in_place_are_said_to_be():
    def f(n):
        a = torch.ones(n)
        b = a * 2
        a.mul_(5)
        return b

    assert any("changed in place" in note for note in capture(f, 70_000).notes)


def test_operands_are_as_they_were():
    def f(x):
        y = x + 1
        x.mul_(10)
        z = y + x
        return z

    trace = capture(f, torch.tensor([1.0]))
    steps = {s.name: s for s in trace.steps() if s.kind == "assign"}
    assert steps["y"].operands["x"].tolist() == [1.0]
    assert steps["z"].operands["x"].tolist() == [10.0]
    assert trace.difference == 0


def test_views_share_the_copy_of_their_base_and_keep_their_values():
    def f(x):
        y = x * 2
        a, b = y.view(2, 2).T
        y.add_(1)
        c = y.view(4)[1:3]
        return a + b, c

    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            steps = {s.name: s for s in capture(f, torch.tensor([1.0, 2.0, 3.0, 4.0])).steps()}
        # y = [2 4 6 8]; the columns of [[2 4] [6 8]] are [2 6] and [4 8]; then y = [3 5 7 9], and y[1:3] = [5 7]
        assert steps["y"].result.tolist() == [2, 4, 6, 8]
        assert [t.tolist() for t in steps["a, b"].result] == [[2, 6], [4, 8]]
        assert steps["c"].result.tolist() == [5, 7]
        assert steps["a, b"].result[0].untyped_storage().data_ptr() == steps["y"].result.untyped_storage().data_ptr()


def test_inference_mode_and_its_tensors():
    @torch.inference_mode()
    def f(x):
        y = x + 1
        z = y[:1] * 2
        return z

    trace = capture(f, torch.ones(2))
    assert trace.result.tolist() == [4]
    assert trace.difference == 0


AGREES = "matches the unmodified run (largest difference 0)"


def test_a_list_of_the_function_s_own_may_grow():
    def f(x):
        H, table, seen = [], {}, set()
        K: list = [x] * 2
        for t in range(2):
            h = x * t
            H.append(h)
            K.extend(H)
            table.update(last=h)
            seen.add(t)
        return H, K

    assert capture(f, torch.ones(2)).agreement == AGREES


def test_a_list_that_comes_from_elsewhere_grows_once():
    outside = []

    def f(x):
        H = [] if x is None else outside
        H.append(x)
        return x

    def g(x, H):
        H.append(x)
        H = []
        return x

    def h(x):
        outside.append(x)
        return x

    kept = []
    for function, args in ((f, ()), (g, (kept,)), (h, ())):
        assert capture(function, torch.ones(1), *args).agreement == AGREES
    assert (len(outside), len(kept)) == (2, 1)


def test_a_check_that_is_called_alone_is_no_effect():
    def positive(x):
        if not (x > 0).all():
            raise ValueError("x > 0")

    def f(x):
        positive(x)
        y = x + 1
        return y

    assert capture(f, torch.ones(1)).agreement == AGREES
    assert capture(f, torch.ones(1), names="y").agreement == AGREES
    assert capture(f, torch.ones(1), depth=1).agreement == AGREES


def test_what_is_not_opened_is_watched_for_effects(capsys):
    def say(x):
        print("hello")
        return x

    def deeper(x):
        return say(x) + 1

    def f(x):
        y = deeper(x)
        return y

    agreement = capture(f, torch.ones(1), depth=1).agreement
    assert "not compared" in agreement and "print" in agreement
    assert capsys.readouterr().out == "hello\n"


def test_a_call_alone_changes_once_what_can_be_put_back():
    seen = []
    counter = nn.Module()
    counter.n = 0

    def count(x):
        counter.n = counter.n + 1

    def keep(x):
        seen.append(x)

    def f(x, act):
        act(x)
        return x

    for act in (count, keep, seen.append):
        assert capture(f, torch.ones(1), act).agreement == AGREES
    assert (counter.n, len(seen)) == (1, 2)


def test_a_call_alone_that_cannot_be_taken_back_is_an_effect(capsys):
    def f(x):
        print("once")
        return x

    assert "a side effect: print('once') (line" in capture(f, torch.ones(1)).agreement
    assert capsys.readouterr().out == "once\n"


def test_a_generator_that_is_given_draws_the_same_numbers():
    def f(n, generator):
        u = torch.rand(n, generator=generator)
        return u

    generator, other = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    assert capture(f, 4, generator).agreement == AGREES
    f(4, other)
    assert torch.equal(generator.get_state(), other.get_state())  # as after one run


def test_a_generator_is_left_where_the_captured_run_left_it(tmp_path):
    runs = tmp_path / "runs"
    runs.touch()

    def f(generator):
        turn = runs.write_text(runs.read_text() + "x")  # 1, then 2: nobody sees that a file changes
        u = torch.rand(turn, generator=generator)  # the plain run draws more numbers
        return u

    generator, other = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    assert capture(f, generator).agreement == "differs from the unmodified run: different shapes or types of results"
    torch.rand(1, generator=other)
    assert torch.equal(generator.get_state(), other.get_state())


def test_complex_results_are_compared_whole():
    trace = capture(lambda x: x * 1j, torch.tensor([1.0, 2.0]))
    assert trace.agreement == "matches the unmodified run (largest difference 0)"


def test_numbers_are_compared_too(tmp_path):
    runs = tmp_path / "runs"
    runs.touch()
    trace = capture(lambda x: x.sum().item() + 1.5 * runs.write_text(runs.read_text() + "x"), torch.zeros(2))
    assert trace.agreement == "differs from the unmodified run by 1.5"


def test_nothing_to_compare_is_said():
    assert capture(lambda x: None, torch.zeros(2)).agreement == "ran like the unmodified run; there is no result to compare"


def test_a_method_of_a_tensor_that_is_called_alone_is_no_effect():
    def f(x):
        x.sum()
        y = x + 1
        return y

    assert capture(f, torch.ones(2)).agreement == AGREES


def test_a_hook_that_stays_is_an_effect():
    def f(x):
        x.register_hook(lambda g: g)
        return x + 1

    assert "x.register_hook" in capture(f, torch.ones(2, requires_grad=True)).agreement


def test_what_only_computes_is_no_effect():
    def f(x, given=None):
        torch.broadcast_shapes(x.shape, (2, 2))
        torch.manual_seed(3)
        np.random.seed(4)
        random.seed(5)
        numbers = np.zeros(2)
        numbers[0] = 1
        items = given if given is not None else [x]
        items.pop()
        others = items.copy()
        others.append(x)
        return others[0] + numbers.sum() + torch.rand(2)

    assert capture(f, torch.ones(2)).agreement == AGREES


def test_what_sets_something_is_an_effect():
    def f(x):
        torch.set_printoptions(precision=4)
        return x

    try:
        assert capture(f, torch.ones(2)).agreement.startswith("not compared")
    finally:
        torch.set_printoptions(profile="default")
