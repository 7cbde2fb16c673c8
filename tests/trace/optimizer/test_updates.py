"""An optimizer's step, worked in its own equations, ends where the optimizer does."""

from fractions import Fraction

import pytest
import torch

import workings
from workings import exact
from workings.trace.formula.tree import Apply, Leaf
from workings.trace.optimizer.updates import snapshots, update_steps, watch

OPTIMIZERS = [
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.2}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "maximize": True}),
    (torch.optim.Adam, {"lr": 0.1}),
    (torch.optim.Adam, {"lr": 0.1, "betas": (0.5, 0.75), "eps": 0.01, "weight_decay": 0.2}),
    (torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
    (torch.optim.Adam, {"lr": 0.1, "maximize": True}),
    (torch.optim.Adam, {"lr": torch.tensor(0.1, dtype=torch.float64)}),
    (torch.optim.AdamW, {"lr": 0.1}),
    (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0}),
    (torch.optim.RMSprop, {"lr": 0.1}),
    (torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.5, "momentum": 0.9, "centered": True, "weight_decay": 0.2}),
    (torch.optim.RMSprop, {"lr": 0.1, "maximize": True}),
    (torch.optim.Adagrad, {"lr": 0.1}),
    (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.2, "initial_accumulator_value": 0.25}),
    (torch.optim.Adadelta, {"lr": 0.5, "rho": 0.75, "eps": 0.01}),
    (torch.optim.Adadelta, {"weight_decay": 0.2, "maximize": True, "lr": 1.0}),
    (torch.optim.Adamax, {"lr": 0.1, "weight_decay": 0.2}),
    (torch.optim.NAdam, {"lr": 0.1}),
    (torch.optim.NAdam, {"lr": 0.1, "weight_decay": 0.2}),
    (torch.optim.NAdam, {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    (torch.optim.RAdam, {"lr": 0.1, "weight_decay": 0.2}),
    (torch.optim.RAdam, {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    (torch.optim.Rprop, {"lr": 0.1}),
    (torch.optim.Rprop, {"lr": 5.0, "etas": (0.25, 2.0), "step_sizes": (0.5, 8.0), "maximize": True}),
]


def some_steps(optimizer, parameters):
    """The update steps of some turns on a bowl whose bottom is at 3; RAdam changes its equation at the sixth."""
    for _ in range(7 if isinstance(optimizer, torch.optim.RAdam) else 3):
        optimizer.zero_grad()
        sum(((p - 3) ** 2).sum() for p in parameters.values()).backward()
        with watch(optimizer, parameters) as steps:
            optimizer.step()
        yield steps


@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS, ids=lambda x: x.__name__ if isinstance(x, type) else str(x))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_equations_end_where_the_optimizer_does(kind, options, dtype):
    W = torch.linspace(-1, 2, 6, dtype=dtype).reshape(2, 3)
    parameters = {"W": torch.nn.Parameter(W), "b": torch.nn.Parameter(W[0] + 1)}
    if dtype == torch.float32 and isinstance(options["lr"], torch.Tensor):
        options = {"lr": torch.tensor(0.1)}
    tolerance = 1e-13 if dtype == torch.float64 else 1e-5
    for steps in some_steps(kind(parameters.values(), **options), parameters):
        assert [step.name for step in steps] == ["W", "b"]
        for step in steps:
            assert step.kind == "update" and step.note.startswith("update checked: largest difference ")
            assert float(step.note.split()[-1]) < tolerance
            assert torch.equal(step.result, parameters[step.name])
            assert torch.equal(step.children[-1].result, parameters[step.name])


@pytest.mark.parametrize(("kind", "options"), [pair for pair in OPTIMIZERS if not isinstance(pair[1]["lr"], torch.Tensor)])
def test_exact_parameters(kind, options):
    options = {**options, "foreach": False}
    parameters = {"w": torch.nn.Parameter(exact("1, 1/2"))}
    for steps in some_steps(kind(parameters.values(), **options), parameters):
        assert steps[0].note.startswith("update checked: largest difference ")


def test_a_momentum_step_by_hand():
    # L = w² at w = 1: g = 2. First b = g = 2, w = 1 − 1/10·2 = 4/5.
    # Then g = 8/5, b = 9/10·2 + 8/5 = 17/5, w = 4/5 − 17/50 = 23/50.
    w = torch.nn.Parameter(exact(1))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    values = []
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).backward()
        with watch(optimizer, {"w": w}) as (steps):
            optimizer.step()
        values.append([(line.name, line.result.fraction()) for line in steps[0].children])
    assert values == [
        [("b", 2), ("w", Fraction(4, 5))],
        [("b", Fraction(17, 5)), ("w", Fraction(23, 50))],
    ]
    assert steps[0].note == "update checked: largest difference 0"


def test_adams_first_step_by_hand():
    # g = 2: m = g/10 and v = g²/1000, so m̂ = g = 2, v̂ = g² = 4 and w = 1 − 1/10 · 2/(2 + 0) = 9/10.
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1, eps=0)
    (w * w).backward()
    with watch(optimizer, {"w": w}) as steps:
        optimizer.step()
    found = {line.name: float(line.result) for line in steps[0].children}
    assert found == pytest.approx({"g": 2, "m": 0.2, "v": 0.004, "m̂": 2, "v̂": 4, "w": 0.9})
    assert list(found) == ["g", "m", "v", "m̂", "v̂", "w"]
    last = steps[0].children[-1]
    assert last.formula.args[0] == Leaf("w") and last.operands["η"] == 0.1 and float(last.operands["w"]) == 1


def lines_of(optimizer, name, w, turns=1):
    for _ in range(turns):
        optimizer.zero_grad()
        (w * w).backward()
        with watch(optimizer, {name: w}) as steps:
            optimizer.step()
    return {line.name: float(line.result) for line in steps[0].children}


def test_rmsprop_and_adagrad_by_hand():
    # L = w² at w = 1: g = 2, g² = 4. RMSprop: v = 4/4 = 1, w = 1 − 0.1·2/1. Adagrad: G = 4, w = 1 − 0.1·2/2.
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    found = lines_of(torch.optim.RMSprop([w], lr=0.1, alpha=0.75, eps=0), "w", w)
    assert found == pytest.approx({"g": 2, "v": 1, "w": 0.8}) and list(found) == ["g", "v", "w"]
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    found = lines_of(torch.optim.Adagrad([w], lr=0.1, eps=0), "w", w)
    assert found == pytest.approx({"g": 2, "G": 4, "w": 0.9})


def test_rprop_halves_its_step_where_the_gradient_changed_its_sign():
    # w = 1, Δ = 3: w = −2. There g = −4, the sign changed: Δ = 3/2, and w stays. Then Δ stays: w = −2 + 3/2.
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Rprop([w], lr=3.0)
    assert [lines_of(optimizer, "w", w)["w"] for _ in range(3)] == pytest.approx([-2, -2, -0.5])


def test_radam_is_rectified_when_its_mean_is_long_enough():
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.RAdam([w], lr=0.1)
    rectified = [("r" in found, found["ρ"] > 5) for found in (lines_of(optimizer, "w", w) for _ in range(7))]
    assert rectified == [(False, False)] * 5 + [(True, True)] * 2


def test_adamw_decays_apart_from_the_gradient():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    (w * w).backward()
    with watch(optimizer) as steps:
        optimizer.step()
    decay, gradient, *_ = steps[0].children
    assert (decay.name, float(decay.result)) == ("θ₁", pytest.approx(0.95))
    assert gradient.formula == Leaf("θ₁.grad")


def test_the_gradient_of_an_update_is_the_one_that_the_parameter_holds():
    # L = (p₁² + p₂²)/2 at (3, 4): ∂L/∂p = (3, 4), of length 5; clipped to length 1, (3/5, 4/5); after two backwards, (6, 8).
    def held(prepare):
        p = torch.tensor([3.0, 4.0], requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=1)
        prepare(p, lambda: (p * p).sum().div(2).backward())
        with watch(optimizer, {"p": p}) as steps:
            optimizer.step()
        return steps[0].children[0]

    def clipped(p, backward):
        backward()
        torch.nn.utils.clip_grad_norm_([p], 1.0)

    def twice(p, backward):
        backward()
        backward()

    for prepare, value in ((clipped, [0.6, 0.8]), (twice, [6.0, 8.0])):
        step = held(prepare)
        assert step.name == "p" and step.formula == Apply("sub", (Leaf("p"), Apply("mul", (Leaf("η"), Leaf("p.grad")))))
        assert step.operands["p.grad"].tolist() == pytest.approx(value)


def test_a_parameter_named_like_a_letter_is_called_theta():
    m = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([m], lr=0.1)
    m.sum().backward()
    with watch(optimizer, {"m": m}) as steps:
        optimizer.step()
    assert steps[0].name == "m"
    assert steps[0].children[-1].formula == Apply(
        "sub", (Leaf("m"), Apply("mul", (Leaf("η"), Leaf("m.grad"))))
    )  # m means nothing else
    optimizer = torch.optim.Adam([m], lr=0.1)
    with watch(optimizer, {"m": m}) as steps:
        optimizer.step()
    assert (steps[0].name, steps[0].children[-1].name) == ("m", "θ")


def test_a_parameter_has_the_name_it_has_where_the_optimizer_is_called():
    class Own:
        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)
            self.optimizer = torch.optim.SGD([self.w], lr=0.5)

        def fit(self, x):
            L = (self.w * x).sum()
            L.backward()
            self.optimizer.step()
            return L

    def names(function, *args):
        return [s.name for s in workings.show(function, *args).steps() if s.kind == "update" and s.source]

    assert names(Own().fit, torch.ones(2)) == ["w"]

    def train(model, optimizer, x):
        L = model.fc1(x).sum()
        L.backward()
        optimizer.step()
        return L

    model = torch.nn.Module()
    model.fc1 = torch.nn.Linear(2, 1)
    assert names(train, model, torch.optim.SGD(model.parameters()), torch.ones(1, 2)) == [
        "model.fc1.weight",
        "model.fc1.bias",
    ]

    def step(optimizer):
        optimizer.step()

    assert names(step, torch.optim.SGD(model.named_parameters())) == ["fc1.weight", "fc1.bias"]
    params = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
    (params[0] * params[1]).backward()

    def outer(optimizer):
        step(optimizer)
        return params  # the list that holds them is what has a name

    assert names(outer, torch.optim.SGD(params)) == ["params[0]", "params[1]"]


def test_parameters_without_any_name_are_counted():
    def make():
        a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        (a * b).backward()
        return torch.optim.SGD([a, b])

    def step(optimizer):
        optimizer.step()

    work = workings.show(step, make())
    assert [s.name for s in work.steps() if s.kind == "update" and s.source] == ["parameter 1", "parameter 2"]


def test_an_optimizer_without_equations_says_so():
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.ASGD([w], lr=0.1)
    w.sum().backward()
    with watch(optimizer, {"w": w}) as steps:
        optimizer.step()
    (step,) = steps
    assert (step.note, step.children) == ("the equations of ASGD are not written out", [])
    assert torch.equal(step.operands["w"], torch.ones(2)) and torch.equal(step.result, w)


def test_a_subclass_may_have_equations_of_its_own():
    class Mine(torch.optim.SGD):
        pass

    w = torch.nn.Parameter(torch.ones(2))
    optimizer = Mine([w], lr=0.1)
    w.sum().backward()
    with watch(optimizer) as steps:
        optimizer.step()
    assert steps[0].note == "the equations of Mine are not written out"


def test_a_parameter_without_gradient_is_not_updated():
    w, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([("w", w), ("unused", unused)], lr=0.1)
    w.sum().backward()
    with watch(optimizer) as steps:
        optimizer.step()
    assert [(step.name, step.note) for step in steps] == [
        ("w", "update checked: largest difference 0"),
        ("unused", "no gradient, no update"),
    ]


def test_a_step_that_does_something_else_is_found_out():
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.5)
    w.sum().backward()
    before = snapshots(optimizer, {"w": w})
    optimizer.step()
    with torch.no_grad():
        w += 1
    (step,) = update_steps(optimizer, before, snapshots(optimizer, {"w": w}))
    assert step.note == ("the equations give other numbers than the optimizer (largest difference 1); its own are shown")
    assert step.children[-1].result.tolist() == [1.5, 1.5]
