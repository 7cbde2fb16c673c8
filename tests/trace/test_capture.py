"""Captured code does what the plain code does, and every statement of it is there."""

import functools
import math

import pytest
import torch
from torch import nn

from workings import exact
from workings.trace.capture import capture


def names(trace, kinds=("assign",)):
    return [step.name for step in trace.steps() if step.kind in kinds]


def deco(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = f(*args, **kwargs)
        return result

    return wrapper


@deco
def decorated(x, *, s=2):
    y = x * s
    return y


def closure(k):
    c = k + 1

    def inner(x):
        z = x * c
        return z

    return inner


class Base(nn.Module):
    def forward(self, x):
        h = x + 1
        return h


class Child(Base):
    def forward(self, x):
        h = super().forward(x)
        h2 = super().forward(h)
        self.kept = h * h2
        return self.kept


def early(x):
    for i in range(3):
        for j in range(2):
            y = x * (i + j)
            if i == 1:
                return y
    return x


def bad(x):
    w = x * 2
    raise ValueError(f"no {w}")


def handled(x):
    try:
        y = bad(x)
    except ValueError:
        y = x
    finally:
        z = y + 1
    return z


def generate(x):
    for i in range(2):
        yield x + i


def use_generator(x):
    t = sum(generate(x))
    return t


def walrus(x):
    if (n := x.sum()) > 0:
        return n * 2
    return n


def nested(x):
    def f(a):
        b = a * 3
        return b

    g = lambda t: t + 1  # noqa: E731
    u = g(f(x))
    return u


def recursive(x, n):
    if n == 0:
        return x
    return recursive(x * 2, n - 1)


def many_targets(x):
    a = b = x + 1
    (c, d), *e = (a, b), x, x
    o = {"k": a}
    o["k"] = o["k"] * 2
    r = x + o["k"] - b
    s = {k: v for k, v in o.items()}
    assert s
    del a
    typed: torch.Tensor = r + c + d + e[0]
    return typed


def contexts(x):
    with torch.no_grad():
        y = x * 2
    w = 0
    while w < 2:
        w += 1
        y = y + w
        if w == 7:
            break
    else:
        y = y + 10
    return y if w else x


def outer_state(x):
    c = 0

    def f(v):
        nonlocal c
        c = c + v
        return c

    f(x)
    f(x)
    return c


class Methods:
    @staticmethod
    def a(x):
        y = x + 1
        return y

    @classmethod
    def b(cls, x):
        y = cls.a(x)
        return y

    @property
    def p(self):
        q = 3
        return q

    def m(self, x):
        return self.b(x) * self.p


def matching(x):
    match x.dim():
        case 1:
            y = x * 5
        case _:
            y = x
    return y


def in_place(x):
    y = x.clone()
    y[0] = 7
    y.add_(1)
    y *= 2
    return y, y.sum()


CASES = {
    "decorated": (decorated, "result y", 1),
    "closure": (closure(3), "z", 1),
    "super": (Child(), "h h h2 h self.kept", 1),
    "early": (early, "y y y", 1),
    "handled": (handled, "y w y z", 1),
    "generator": (use_generator, "t", 1),
    "walrus": (walrus, "", 1),
    "nested": (nested, "g u b", 1),
    "recursive": (recursive, "", 2),
    "many targets": (many_targets, "a = b c, d), *e o o['k'] r s typed", 1),
    "contexts": (contexts, "y w w y w y y", 1),
    "outer state": (outer_state, "c c c", 1),
    "methods": (Methods().m, "y y", 1),
    "matching": (matching, "y", 1),
    "in place": (in_place, "y y[0] y", 1),
    "lambda": (lambda t: t * 4, "", 1),
    "sequential": (nn.Sequential(Base(), Child()), "h h h2 h self.kept h", 1),
}


@pytest.mark.parametrize("case", CASES)
def test_the_result_is_the_caller_s_own(case):
    function, _, count = CASES[case]
    x = torch.tensor([1.0, 2.0])
    args = (x, 3) if count == 2 else (x,)
    plain = function(*args)
    trace = capture(function, *args)
    assert trace.error is None
    effect = {"super": "self.kept = h * h2", "sequential": "self.kept = h * h2", "outer state": "f(x)"}.get(case)
    if effect is None:
        assert trace.agreement == "agrees with the plain run (largest difference 0)"
    else:
        assert trace.agreement.startswith(f"not compared with a plain run, which would repeat an effect: {effect} (line")
    for a, b in zip(torch.utils._pytree.tree_leaves(trace.result), torch.utils._pytree.tree_leaves(plain), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("case", ["closure", "contexts", "handled", "in place", "matching", "outer state"])
def test_every_assignment_is_a_step(case):
    function, expected, _ = CASES[case]
    found = names(capture(function, torch.tensor([1.0, 2.0])))
    assert sorted(found) == sorted(expected.split())


def test_nothing_stays_patched():
    call, forward = nn.Module.__call__, Child.forward
    module = Child()
    capture(module, torch.ones(2))
    capture(bad, torch.ones(2))
    assert nn.Module.__call__ is call
    assert Child.forward is forward
    assert "forward" not in vars(module)


def attention(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


def test_steps_have_operands_results_and_places():
    trace = capture(attention, exact.eye(2), exact("1 1; 1 0"), exact("2 0; 0 1"))
    steps = {s.name: s for s in trace.steps() if s.kind == "assign"}
    assert list(steps) == ["d", "S", "A", "Z"]
    assert list(steps["S"].operands) == ["Q", "K", "d"]
    assert steps["A"].result.text().startswith("⎡")
    assert steps["S"].where.file == __file__
    assert steps["S"].source == "S = Q @ K.mT / math.sqrt(d)"
    assert trace.difference == 0


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


def test_modules_are_named_by_their_path():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    trace = capture(net, torch.ones(1, 2), depth=3)
    assert [s.name for s in trace.steps() if s.kind == "module"] == ["", "0", "1", "1.0", "1.1"]


def test_addresses():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Base(), Base()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    trace = capture(Net(), torch.ones(2))
    assert [s.address for s in trace.steps() if s.kind == "assign"] == ["turn 1.x", "blocks.0.h", "turn 2.x", "blocks.1.h"]


def test_a_failure_keeps_the_steps_before_it():
    def f(x):
        y = x * 2
        z = y @ torch.ones(5)
        return z

    trace = capture(f, torch.ones(3))
    assert isinstance(trace.error, RuntimeError)
    assert names(trace) == ["y"]
    (failed,) = [s for s in trace.steps() if s.kind == "error"]
    assert (failed.name, failed.source) == ("z", "z = y @ torch.ones(5)")
    assert trace.agreement == "fails as the plain run does"


def test_the_first_nan_is_named():
    def f(x):
        y = x - 1
        z = y.log()
        w = z + 1
        return w

    assert capture(f, torch.tensor([0.5, 2.0])).first_bad.name == "z"

    def masked(x):
        S = x.masked_fill(x < 1, -math.inf)
        A = S.softmax(0)
        x.log_()
        return A

    assert capture(masked, torch.tensor([0.0, 2.0])).first_bad.source == "x.log_()"


def test_long_loops_and_deep_recursion_stay_bounded():
    def long(x):
        for _ in range(10_000):
            x = x + 1
        return x

    trace = capture(long, torch.zeros(1))
    assert sum(1 for _ in trace.steps()) < 200
    (folded,) = [s for s in trace.steps() if s.kind == "folded"]
    assert folded.note == "9950 more turns ran and are not shown"
    assert trace.result.item() == 10_000
    deep = capture(recursive, torch.ones(1), 300)
    assert any("calls deep" in s.note for s in deep.steps())


def test_code_without_source_says_so():
    namespace = {}
    exec("def f(x):\n    return x + 1", namespace)
    trace = capture(namespace["f"], torch.ones(1))
    (step,) = [s for s in trace.steps() if s.kind == "call"]
    assert step.note == "not shown: its source is not available"
    assert trace.result.item() == 2


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


def test_a_failure_inside_a_loop_is_the_statement_that_failed():
    def f(x):
        for n in (3, 4):
            y = x @ torch.ones(n)
        return y

    (failed,) = [s for s in capture(f, torch.ones(3)).steps() if s.kind == "error"]
    assert failed.operands["n"] == 4
    assert "needs 3 = 4" in failed.note or "3" in failed.note


def test_the_right_one_of_several_lambdas():
    table = dict(
        a=lambda z: z + 1, b=lambda z: z * 100,
    )  # fmt: skip
    assert capture(table["b"], torch.ones(1)).result.item() == 100
    assert capture(table["a"], torch.ones(1)).result.item() == 2


def test_generators_run_as_they_are():
    def f(x):
        total = x * 0
        for g in generate(x):
            total = total + g
        return total

    trace = capture(f, torch.ones(1))
    assert trace.result.item() == 3
    assert any("generator" in s.note for s in trace.steps())


def test_partials_and_objects_are_opened():
    class Scale:
        def __init__(self, by):
            self.__by = by

        def __call__(self, x):
            y = x * self.__by
            return y

    assert names(capture(functools.partial(decorated, s=5), torch.ones(1)))[-1] == "y"
    trace = capture(Scale(3), torch.ones(1))
    assert (names(trace), trace.result.item()) == (["y"], 3)


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
    assert trace.agreement.startswith("not compared with a plain run, which would repeat an effect: optimizer.zero_grad()")


def test_a_module_keeps_a_forward_of_its_own():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.forward = self.other

        def other(self, x):
            return x + 1

    module = Own()
    capture(module, torch.ones(1))
    assert module(torch.ones(1)).item() == 2


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


def test_folded_loops_end_where_they_end():
    def f(x):
        i = 0
        try:
            while True:
                i += 1
                if i == 70:
                    raise ValueError
        except ValueError:
            q = x + 1
        z = q * 2
        return z

    assert names(capture(f, torch.ones(1)))[-2:] == ["q", "z"]


def test_methods_of_self_are_calls():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.softmax = nn.Linear(2, 2)

        def forward(self, x):
            y = self.softmax(x)
            return y

    (step,) = [s for s in capture(Net(), torch.ones(1, 2)).steps() if s.name == "y"]
    assert type(step.formula).__name__ == "Call"


def test_large_tensors_changed_in_place_are_said_to_be():
    def f(n):
        a = torch.ones(n)
        b = a * 2
        a.mul_(5)
        return b

    assert any("changed in place" in note for note in capture(f, 70_000).notes)
