"""What code changes: it is changed once, and compared with the plain run."""

import os
import types
from collections import OrderedDict, deque
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from workings.trace.capture.capture import capture
from workings.trace.replay.saved_state import SavedState

AGREES = "matches the unmodified run (largest difference 0)"
REPEATS = "not compared with an unmodified run, which would repeat a side effect: "
X = torch.tensor([1.0, 2.0])


class Remembering(nn.Module):
    """h ← x + h, and how often it was called."""

    def __init__(self):
        super().__init__()
        self.h, self.calls, self.part = torch.zeros(2), 0, nn.Module()
        self.part.seen = []
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.h = self.h + x
        self.calls += 1
        self.part.seen.append(self.calls)
        self.part.last = x
        self.total += x
        return self.h * 2


@pytest.mark.parametrize("names", [(), "y"])
def test_a_module_s_attributes_are_as_after_one_run(names):
    module = Remembering()
    for run in (1, 2):
        trace = capture(module, X, names=names)
        assert trace.agreement == AGREES
        assert trace.result.tolist() == [2 * run, 4 * run]
        assert (module.h.tolist(), module.calls, module.part.seen) == ([run, 2 * run], run, [*range(1, run + 1)])
        assert module.part.last is X
        assert module.total.tolist() == [run, 2 * run]


def test_an_attribute_is_the_captured_run_s_own():
    module = Remembering()
    kept = [s.live for s in capture(module, X).steps() if s.name == "self.h"]
    assert module.h is kept[-1]


@dataclass
class Box:
    value: torch.Tensor
    history: list


class Slotted:
    __slots__ = ("value",)


def fill_box(x, box):
    box.value = box.value + x
    box.history[-1].append(box.value)
    return box.value


def fill_slot(x, slot):
    slot.value = x * 2
    return slot.value


def write_entries(x, table):
    table["a"]["b"] = x
    del table["c"]
    table["n"] += 1
    return table["a"]["b"] + 1


def in_place(x, box):
    box.value.add_(x)
    return box.value


def several(x, parts):
    names, queue, ordered = parts
    names.add("new")
    ordered["first"] = ordered.pop("second") + x
    return queue.popleft() + x


def test_objects_inside_the_arguments():
    box, slot, table = Box(torch.zeros(2), [[]]), Slotted(), {"a": {}, "c": 1, "n": 0}
    parts = {"old"}, deque([X, X]), OrderedDict(first=X, second=X)
    cases = (fill_box, box), (fill_slot, slot), (write_entries, table), (in_place, box), (several, parts)
    for function, given in cases:
        assert capture(function, X, given).agreement == AGREES
    # the box gets 0 + x, then + x in place; a list in it has that same tensor
    assert box.value.tolist() == [2, 4]
    assert (len(box.history[0]), box.history[0][0] is box.value) == (1, True)
    assert slot.value.tolist() == [2, 4]
    assert (list(table), table["n"], table["a"]["b"] is X) == (["a", "n"], 1, True)
    assert (parts[0], len(parts[1]), list(parts[2])) == ({"old", "new"}, 1, ["first"])


MEMO: dict = {}


def remembered(x, key):
    if key not in MEMO:
        MEMO[key] = x * 2
    return MEMO[key]


def test_a_memo_is_empty_for_the_plain_run_too_and_filled_once():
    MEMO.clear()
    trace = capture(remembered, X, "a")
    assert trace.agreement == AGREES
    assert list(MEMO) == ["a"]
    assert MEMO["a"] is trace.result


def test_nonlocal_names():
    n = 0

    def count(x):
        nonlocal n
        n += 1
        return x * n

    assert capture(count, X).agreement == AGREES
    assert n == 1


def test_hooks_of_the_caller_s_see_one_run():
    net, seen = nn.Linear(2, 2), []
    net.register_forward_hook(lambda module, args, out: seen.append(out))
    assert capture(net, X).agreement == AGREES
    assert len(seen) == 1


def popping(x, **options):
    scale = options.pop("scale", 1)
    options.setdefault("unused", 2)
    return x * scale


class Cache:
    def __init__(self):
        self.layers, self.seen = [], {}


def caching(x):
    cache = Cache()
    cache.layers.append(x)
    cache.seen["x"] = True
    cache.length = 1
    made = grown([x])
    made.append(x)
    return made[1] + cache.layers[0]


def grown(values):
    H = list(values)
    return H


def test_what_is_made_in_the_call_is_no_effect():
    assert capture(popping, X, scale=3).agreement == AGREES
    assert capture(caching, X).agreement == AGREES


def test_what_lies_outside_is_said(monkeypatch):
    monkeypatch.setenv("WORKINGS_TEST", "0")

    def environment(x):
        os.environ["WORKINGS_TEST"] = os.environ["WORKINGS_TEST"] + "1"
        return x

    def module(x):
        settings.level = settings.level + 1
        return x

    def gradient(x):
        x.grad = torch.ones(2)
        return x

    settings = types.ModuleType("settings")
    settings.level = 0
    first = "os.environ['WORKINGS_TEST'] = os.environ['WORKINGS_TEST'] + '1' (line "
    assert capture(environment, X).agreement.startswith(REPEATS + first)
    assert os.environ["WORKINGS_TEST"] == "01"
    assert capture(module, X).agreement.startswith(f"{REPEATS}settings.level = settings.level + 1 (line ")
    assert settings.level == 1
    assert capture(gradient, X.clone()).agreement.startswith(f"{REPEATS}x.grad = torch.ones(2) (line ")


def test_parameters_and_what_gradients_flow_through():
    net, box = nn.Linear(2, 2), Box(torch.zeros(2), [])

    def update(x):
        with torch.no_grad():
            net.weight.mul_(2)
        return x

    before = net.weight.detach().clone()
    assert capture(update, X).agreement == "not compared with an unmodified run: the code changes its parameters"
    assert torch.equal(net.weight, 2 * before)
    told = "not compared with an unmodified run: the code changes a tensor in place through which gradients flow"
    assert capture(in_place, X.clone().requires_grad_(), box).agreement == told
    assert box.value.tolist() == [1, 2]


def test_what_was_changed_is_compared(tmp_path):
    runs = tmp_path / "runs"
    runs.touch()

    def f(x, box):
        box.value = x + 0.5 * runs.write_text(runs.read_text() + "x")  # 0.5, then 1: nobody sees that a file changes
        return x

    box = Box(X, [])
    assert capture(f, X, box).agreement == "differs from the unmodified run by 0.5"
    assert box.value.tolist() == [1.5, 2.5]


def test_a_gradient_can_flow_after_the_plain_run():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("s", torch.ones(2))

        def forward(self, x):
            self.s.mul_(2)
            return x * self.s

    x = X.clone().requires_grad_()
    trace = capture(Scaled(), x)
    assert trace.agreement == AGREES
    trace.result.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_library_s_method_of_a_module_that_is_called_alone():
    net = nn.Sequential(nn.Dropout(0.5))

    def f(x):
        net.train(False)
        return net(x)

    def g(x):
        net.zero_grad()
        return x

    assert capture(f, X).agreement == AGREES
    assert (net.training, net[0].training) == (False, False)
    net.append(nn.Linear(2, 2))
    net[1].weight.grad = torch.zeros(2, 2)
    assert capture(g, X).agreement.startswith(REPEATS)


def test_private_names_of_a_class():
    class Private(nn.Module):
        def forward(self, x):
            self.__h = x + 1
            __y = self.__h * 2
            return __y

    module = Private()
    assert capture(module, X).agreement == AGREES
    assert module._Private__h.tolist() == [2, 3]


def test_only_what_was_reached_is_known():
    box = Box(X, [])
    saved = SavedState(box)
    assert box in saved
    assert box.history in saved
    assert X in saved
    assert saved.is_outside(os.environ)
    made = {"a": []}
    assert saved.is_outside(made["a"])
    saved.note_new(made)
    assert not saved.is_outside(made["a"])
