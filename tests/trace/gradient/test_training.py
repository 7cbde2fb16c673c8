"""The commonest block of all in code that is recorded: `loss.backward()`, clipping, `optimizer.step()`, a schedule."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import lr_scheduler

import workings
from workings.trace.formula.tree import leaves


def lines(work, kind="gradient"):
    return {step.name: step for step in work.steps() if step.kind == kind}


def two_layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()


X, Y = torch.tensor([[1.0, 2.0], [3.0, -1.0]]).double(), torch.tensor([[1.0], [0.0]]).double()


def test_the_whole_block_in_its_order():
    model = two_layers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    with workings.trace() as work:
        optimizer.zero_grad()
        out = model(X)
        loss = F.mse_loss(out, Y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    text = work.text()
    places = [
        text.index(part)
        for part in (
            "∂loss/∂model.2.weight = (∂loss/∂out)ᵀ model.2.input",
            "∂loss/∂model.0 = ∂loss/∂out model.2.weight ⊙ (1 − model.2.input²)",
            "∂loss/∂model.0.weight = (∂loss/∂model.0)ᵀ X",
            "loss = mean((out − Y)²)",
            "∂loss/∂out = out − Y",
            "loss.backward()",
            "total_norm = √(",
            "c = 1 / (total_norm + 1e−6)",
            "model.0.weight.grad = c·model.0.weight.grad",
            "optimizer.step()",
            "model.0.weight = model.0.weight − η·model.0.weight.grad",
            "scheduler.step()\n  η = γ·η = 0.5·0.1 = 0.05",
        )
    ]
    assert places == sorted(places)
    assert "not written" not in text and "other numbers" not in text
    for script in (work.latex(), work.markdown()):
        assert r"\frac{\partial \mathrm{loss}}{\partial \mathrm{model.0.weight}}" in script


def test_the_numbers_are_those_of_a_run_without_us():
    plain, watched = two_layers(), two_layers()
    for model in (plain, watched):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        if model is plain:
            F.mse_loss(model(X), Y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        else:
            with workings.trace() as work:
                loss = F.mse_loss(model(X), Y)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other) and torch.equal(one.grad, other.grad)
    assert all(step.note.startswith("rule checked") or not step.note for step in lines(work).values())


def test_the_lines_keep_the_parameters_that_the_step_changes():
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)

    def train(x):
        y = w * x
        L = y * y
        L.backward()
        optimizer.step()
        return L

    # y = 6, L = 36, ∂L/∂y = 12, ∂L/∂w = 12·2 = 24 and w = 3 − 24/4 = −3; ∂L/∂x is not asked for
    work = workings.show(train, torch.tensor(2.0), backward=True)
    found = lines(work)
    assert found["∂L/∂w"].result.item() == 24 and found["∂L/∂w"].operands["x"].item() == 2
    assert w.item() == -3 and lines(work, "input")["x"].result.item() == 2


def test_each_turn_has_the_chain_rule_of_its_own_loss():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    with workings.trace() as work:
        for _ in range(2):
            optimizer.zero_grad()
            loss = w * w
            loss.backward()
            optimizer.step()
    # w = 1, ∂ = 2, w = 1/2, ∂ = 1, w = 1/4
    found = lines(work)
    assert [found[name].result.item() for name in ("∂loss/∂w", "∂loss#2/∂w")] == [2, 1] and w.item() == 0.25


def test_a_function_that_runs_backward_itself_needs_no_other():
    def train(w):
        loss = (w * w).sum()
        loss.backward()
        return loss

    work = workings.show(train, torch.tensor([1.0, 2.0], requires_grad=True), backward=True)
    assert lines(work)["∂loss/∂w"].result.tolist() == [2, 4] and not any("no gradients" in note for note in work.notes)


@pytest.mark.parametrize("given", [torch.tensor([1.0, 10.0]), torch.ones(2)])
def test_a_gradient_that_backward_is_given_is_a_line_of_its_own(given):
    w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    with workings.trace() as work:
        y = w * x
        y.backward(given)
    # L = g₁·3 + g₂·8, so ∂L/∂w = g ⊙ x
    found = lines(work)
    assert found["∂L/∂w"].result.tolist() == w.grad.tolist() == (given * x).tolist()
    assert found["∂L/∂w"].note.startswith("rule checked") and found["∂L/∂y"].result.tolist() == given.tolist()
    assert "L = Σ (g ⊙ y)" in work.text()


def test_a_number_times_itself_backward():
    x = torch.tensor([3.0, 4.0])

    def step(w):
        loss = (w * x).sum()
        loss.backward(gradient=loss)
        return w.grad

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    work = workings.show(step, w, backward=True)
    assert lines(work)["∂L/∂w"].result.tolist() == work.result.tolist() == [33, 44]


def test_nothing_stays_patched():
    functions = nn.utils.clip_grad_norm_.__wrapped__, lr_scheduler.LRScheduler.step
    before = [function.__code__ for function in functions]
    with workings.trace():
        pass
    assert [function.__code__ for function in functions] == before


# ---- clipping


def clipped(clip, *gradients):
    parameters = [torch.zeros(len(g), requires_grad=True) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    with workings.trace() as work:
        clip(parameters)
    notes = [step.note for step in work.steps() if step.note and step.kind != "update"]
    return parameters, [step for step in work.steps() if step.kind == "update"], notes[0]


def test_a_norm_is_clipped_by_hand():
    # √(3² + 4²) = 5, c = 1/5, so (3/5, 4/5)
    parameters, steps, note = clipped(lambda ps: nn.utils.clip_grad_norm_(ps, 1.0), [3.0], [4.0])
    assert [step.name for step in steps] == ["total_norm", "c", "ps[0].grad", "ps[1].grad"]
    assert [step.result.item() for step in steps] == pytest.approx([5, 0.2, 0.6, 0.8], abs=1e-6)
    assert note.startswith("clipping checked") and parameters[0].grad.item() == pytest.approx(0.6)


def test_a_small_norm_is_left():
    _, steps, note = clipped(lambda ps: nn.utils.clip_grad_norm_(parameters=ps, max_norm=6.0), [3.0], [4.0])
    assert [step.name for step in steps] == ["total_norm"] and note == "at most 6, so nothing is clipped"


def test_of_many_gradients_only_the_sum_is_told():
    _, steps, _ = clipped(lambda ps: nn.utils.clip_grad_norm_(ps, 1.0), *[[1.0]] * 9)
    assert steps[0].formula is None and steps[0].result.item() == 3
    assert steps[0].note == "√ of the sum of the squares of the norms of all 9 gradients"


def test_entries_are_clipped():
    _, steps, note = clipped(lambda ps: nn.utils.clip_grad_value_(ps, 2.0), [3.0, -5.0, 1.0], [0.5])
    assert [(step.name, step.result.tolist()) for step in steps] == [("ps[0].grad", [2, -2, 1])]
    assert note.startswith("clipping checked")
    assert clipped(lambda ps: nn.utils.clip_grad_value_(ps, 2.0), [1.0])[2] == "no entry is beyond ±2, so nothing is clipped"


# ---- schedules


@pytest.mark.parametrize(
    ("make", "formula", "rate"),
    [
        (lambda o: lr_scheduler.ExponentialLR(o, 0.5), "γ η", 0.4),
        (lambda o: lr_scheduler.LambdaLR(o, lambda t: 1 / (1 + t)), "η₀ f(t)", 0.4),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 2), "η_min η₀ math.pi t T", 0.4),  # halfway down
        (lambda o: lr_scheduler.LinearLR(o, 0.5, total_iters=1), "", 0.8),  # from half of it to all
    ],
)
def test_a_schedule_by_its_equation(make, formula, rate):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.8)
    scheduler = make(optimizer)
    optimizer.step()
    with workings.trace() as work:
        scheduler.step()
    (step,) = [step for step in work.steps() if step.kind == "update"]
    assert step.name == "η" and step.result == pytest.approx(rate)
    assert (" ".join(leaves(step.formula)) if step.formula is not None else "") == formula
    assert step.note == (type(scheduler).__name__ if formula else "LinearLR: 0.4 before")


# ---- which loss


def test_of_several_results_the_one_that_was_chosen_is_named():
    def f(x):
        a, b = x.sum(), (x * x).sum()
        return a, b

    x = torch.tensor([1.0, 2.0])
    work = workings.show(f, x, backward=True)
    assert work["∂a/∂x"].tolist() == [1, 1] and "differentiated: a; loss='b' chooses another number" in work.notes
    assert workings.show(f, x, backward=True, loss="b")["∂b/∂x"].tolist() == [2, 4]


def test_the_forward_work_stays_where_the_backward_fails():
    def f(x):
        y = (x > 0).sum()
        return y

    work = workings.show(f, torch.tensor([1.0, -2.0]), backward=True)
    assert work["y"] == 1 and work.notes[-1].startswith("no gradients: ")
    assert "no gradients: " in work.text()
