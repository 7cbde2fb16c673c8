"""The loop: what it computes, against a loop written out; splitting, averaging, stopping."""

import math
import random
import time
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.train.tiny import Net, examples, loss
from workings.errors import WorkingsError
from workings.train import Run, Training, fit
from workings.train.loop.batches import RepeatedBatches
from workings.train.loop.memory import Average
from workings.train.loop.optimizers import build_optimizers, rate_share


def net(drop: float = 0.0) -> Net:
    torch.manual_seed(1)
    return Net(4, "tanh", drop)


def batches(step: int):
    return examples(step, 6)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def written_out(model: nn.Module, rule: torch.optim.Optimizer, steps: int, clip: float = 0.0) -> None:
    for step in range(steps):
        rule.zero_grad()
        loss(model, batches(step)).backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        rule.step()


def test_one_step_of_sgd_by_hand():
    # L = (w·1 − 3)² at w = 1: ∂L/∂w = 2(1 − 3) = −4, so w ← 1 − 0.1·(−4) = 1.4
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    settings = Training(steps=1, rate=0.1, optimizer="sgd", beta1=0.0, schedule="constant")
    history = fit(model, [torch.ones(1, 1)], lambda m, x: (m(x) - 3).square().mean(), settings=settings)
    assert_close(model.weight.item(), 1.4)
    assert (history.ended, history.rows[0]["loss"]) == ("finished", 4.0)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"optimizer": "adamw"}, lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.9, 0.99), weight_decay=0.0)),
        ({"optimizer": "sgd"}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
        ({"optimizer": "sgd", "clip": 0.1}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
    ],
)
def test_many_steps_equal_a_loop_written_out(settings, rule):
    ours, theirs = net(), net()
    fit(ours, batches, loss, settings=Training(steps=20, rate=0.01, schedule="constant", **settings))
    written_out(theirs, rule(theirs.parameters()), 20, settings.get("clip", 0.0))
    assert_close(weights(ours), weights(theirs))


def test_muon_takes_the_hidden_matrices_and_adamw_the_rest():
    model = nn.ModuleDict({"embed": nn.Embedding(5, 3), "inner": nn.Linear(3, 3), "head": nn.Linear(3, 5)})
    muon, adamw = build_optimizers(model, Training(optimizer="muon"))
    assert [p.shape for g in muon.param_groups for p in g["params"]] == [(3, 3)]
    assert sum(len(g["params"]) for g in adamw.param_groups) == 4
    ours, theirs = net(), net()
    fit(ours, batches, loss, settings=Training(steps=20, rate=0.01, optimizer="muon", schedule="constant"))
    matrices, rest = [[p for p in theirs.parameters() if (p.dim() == 2) == wanted] for wanted in (True, False)]
    rules = [torch.optim.Muon(matrices, lr=0.01, momentum=0.9, weight_decay=0.0)]
    rules += [torch.optim.AdamW(rest, lr=0.01, betas=(0.9, 0.99), weight_decay=0.0)]
    for step in range(20):
        theirs.zero_grad()
        loss(theirs, batches(step)).backward()
        for rule in rules:
            rule.step()
    assert_close(weights(ours), weights(theirs))


def test_decay_is_for_matrices_only():
    (rule,) = build_optimizers(nn.Linear(2, 2), Training(decay=0.5))
    assert [(g["params"][0].dim(), g["weight_decay"]) for g in rule.param_groups] == [(2, 0.5), (1, 0.0)]


def test_schedules_by_hand():
    # warmup 4: 1/4, 2/4, 3/4, 1; then 8 steps down to the floor 0.2 of which half is done at step 8: 0.2 + 0.8/2 = 0.6
    settings = Training(steps=12, warmup=4, floor=0.2)
    assert [rate_share(settings, t) for t in (0, 1, 2, 3)] == [0.25, 0.5, 0.75, 1.0]
    assert rate_share(settings, 8) == pytest.approx(0.6)
    cosine = Training(steps=4, schedule="cosine")
    assert rate_share(cosine, 1) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
    assert rate_share(Training(schedule="constant"), 999) == 1.0


def test_the_average_by_hand():
    # μ = min(0.9, (1+t)/(10+t)): 2/11 after the first update, 3/12 after the second
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = Average(model, 0.9)
    for t, w in ((1, 11.0), (2, 4.0)):
        nn.init.constant_(model.weight, w)
        average.update(t)
    # after 1: 9/11 · 11 = 9;  after 2: 1/4 · 9 + 3/4 · 4 = 5.25
    assert_close(average.means[0].item(), 5.25)
    nn.init.constant_(model.weight, 0.0)
    average.update(10**6)
    assert_close(average.means[0].item(), 0.9 * 5.25)


def test_the_average_is_evaluated_and_left_in_the_model():
    seen = []
    model = net()
    fit(model, batches, loss, settings=Training(steps=10, rate=0.1, average=0.9, evaluate_every=10),
        evaluate=lambda m: seen.append(weights(m)) or {"loss": 1.0})  # fmt: skip
    assert torch.equal(seen[-1], weights(model))
    plain = net()
    fit(plain, batches, loss, settings=Training(steps=10, rate=0.1))
    assert not torch.equal(weights(plain), weights(model))


def test_bfloat16_rounds_the_forward_pass_only():
    kinds = []
    model = net()
    model.blocks[1].register_forward_hook(lambda module, given, out: kinds.append(out.dtype))
    fit(model, batches, loss, settings=Training(steps=5, rate=0.05, precision="bfloat16"))
    assert kinds == [torch.bfloat16] * 5
    assert weights(model).dtype == torch.float32
    full = net()
    fit(full, batches, loss, settings=Training(steps=5, rate=0.05))
    assert 0 < (weights(full) - weights(model)).abs().max() < 0.1


def test_patience_stops():
    figures = iter([3.0, 2.0, 2.5, 2.0, 1.0])
    history = fit(net(), batches, loss, settings=Training(steps=50, evaluate_every=10, patience=2),
                  evaluate=lambda model: {"loss": next(figures)})  # fmt: skip
    assert history.ended == "stopped after 2 evaluations without improvement"
    assert [row["step"] for row in history.rows] == [10, 20, 30, 40]
    assert (history.best["step"], history.best["loss"]) == (20, 2.0)


def test_a_highest_figure_is_best():
    figures = iter([0.5, 0.9, 0.7])
    history = fit(net(), batches, loss, settings=Training(steps=3, evaluate_every=1), best="accuracy", highest=True,
                  evaluate=lambda model: {"accuracy": next(figures)})  # fmt: skip
    assert (history.best["step"], history.best["accuracy"]) == (2, 0.9)


def test_a_figure_that_is_not_there_is_named():
    with pytest.raises(WorkingsError) as error:
        fit(net(), batches, loss, settings=Training(steps=1), best="accuracy", evaluate=lambda model: {"f1": 1.0})
    assert str(error.value) == (
        "The best checkpoint is chosen by 'accuracy', but the figures are step, train, loss, f1, seconds, "
        "examples_per_second, rate."
    )


def test_the_time_limit_stops_and_evaluates():
    def slow(step):
        time.sleep(0.02)
        return batches(step)

    history = fit(net(), slow, loss, settings=Training(steps=10_000, seconds=0.3), evaluate=lambda model: {"loss": 1.0})
    assert history.ended == "stopped by the time limit"
    assert 1 < history.rows[-1]["step"] < 100


def test_the_speed_is_that_of_training_alone():
    def batches(step):
        time.sleep(0.01)
        return examples(step, 8)

    def evaluate(model):
        time.sleep(0.2)
        return {"loss": 0.0}

    # 8 examples in a little over 0.01 s are less than 800 a second; with evaluations of 0.2 s it would be less than 40
    history = fit(nn.Linear(2, 1), batches, loss, settings=Training(steps=6, evaluate_every=1), evaluate=evaluate)
    assert all(80 < row["examples_per_second"] < 800 for row in history.rows[1:])
    assert history.rows[-1]["seconds"] > 1.2


def test_evaluation_is_without_dropout_and_gradients():
    seen = []

    def evaluate(model):
        seen.append((model.training, torch.is_grad_enabled()))
        return {"loss": 0.0}

    model = net(drop=0.5)
    model.eval()
    fit(model, batches, loss, settings=Training(steps=2, evaluate_every=1), evaluate=evaluate)
    assert seen == [(False, False)] * 2
    assert not model.training  # as it was before


def test_gradients_from_before_are_not_learnt_from():
    fresh, used = net(), net()
    (100 * used(torch.ones(1, 2))).sum().backward()
    settings = Training(steps=1, rate=0.1, optimizer="sgd")
    for model in (fresh, used):
        fit(model, batches, loss, settings=settings)
    assert torch.equal(weights(fresh), weights(used))


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_module_in_eval_stays_so_and_the_rest_trains(average):
    seen = []

    def looked(model, batch):
        seen.append([module.training for module in model])
        return loss(model, batch)

    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 1))
    model[1].eval()
    before = model[1].running_mean.clone()
    settings = Training(steps=4, evaluate_every=2, average=average)
    fit(model, batches, looked, settings=settings, evaluate=lambda m: {"loss": float(any(k.training for k in m.modules()))},
        sample=lambda m: str(m.training))  # fmt: skip
    assert torch.equal(model[1].running_mean, before)
    assert seen == [[True, False, True, True]] * 4
    assert [module.training for module in model] == [True, False, True, True]
    model.eval()
    model[3].train()  # modes of one's own
    seen.clear()
    history = fit(model, batches, looked, settings=settings, evaluate=lambda m: {"loss": float(m[3].training)})
    assert seen == [[False, False, False, True]] * 4 and history.best["loss"] == 0.0


def test_a_model_that_was_not_in_use_is_trained_as_a_whole():
    seen = []
    model = net(drop=0.5).eval()
    fit(model, batches, lambda m, b: seen.append(m.blocks[0][2].training) or loss(m, b), settings=Training(steps=2))
    assert seen == [True, True] and not any(module.training for module in model.modules())


def test_a_figure_that_is_no_number_is_never_the_best(tmp_path):
    def judged(*figures, **given):
        values = iter(figures)
        return fit(net(), batches, loss, settings=Training(steps=len(figures), evaluate_every=1, **given),
                   evaluate=lambda model: {"loss": next(values)}, folder=tmp_path / str(len(figures)))  # fmt: skip

    history = judged(math.nan, 3.0, math.inf, 2.0, 2.5, patience=3)
    assert (history.ended, history.best["step"], history.best["loss"]) == ("finished", 4, 2.0)
    assert Run(tmp_path / "5").best().name == "step-00000004"
    history = judged(math.nan, math.nan, 1.0, patience=2)
    assert (history.ended, history.best) == ("stopped after 2 evaluations without improvement", {})
    assert Run(tmp_path / "3").best().name == "step-00000002"


def test_random_numbers_are_afterwards_as_if_nothing_had_been_drawn():
    def drawn():
        return random.random(), float(np.random.rand()), torch.rand(1).item()

    found, model = [], net(drop=0.5)
    for steps in (0, 2, 5):
        random.seed(1), np.random.seed(2), torch.manual_seed(3)
        if steps:
            fit(model, batches, loss, settings=Training(steps=steps))
        found.append(drawn())
    assert found[0] == found[1] == found[2]


def test_dropout_follows_from_seed_and_step_whatever_evaluation_draws():
    def run(evaluate, seed=0):
        model = net(drop=0.5)
        fit(model, batches, loss, settings=Training(steps=10, rate=0.1, evaluate_every=3, seed=seed), evaluate=evaluate)
        return weights(model)

    plain = run(None)
    assert torch.equal(plain, run(lambda model: {"loss": torch.randn(17).sum().item()}))
    assert not torch.equal(plain, run(None, seed=1))


def test_an_iterable_goes_round_and_a_model_may_give_its_own_loss():
    class Own(nn.Linear):
        def forward(self, x, y):
            return (super().forward(x) - y).square().mean()

    torch.manual_seed(0)
    model = Own(2, 1)
    history = fit(model, [examples(0, 6), examples(1, 3)], settings=Training(steps=60, rate=0.1, evaluate_every=20))
    assert history.rows[-1]["train"] < history.rows[0]["train"]


def test_a_shuffling_loader_repeats_itself_for_a_resumed_run():
    from torch.utils.data import DataLoader, TensorDataset

    def loader():
        return DataLoader(TensorDataset(torch.arange(10)), batch_size=3, shuffle=True)

    going, again = RepeatedBatches(loader(), seed=5), RepeatedBatches(loader(), seed=5)
    seen = [going(step)[0].tolist() for step in range(9)]
    assert [again(step)[0].tolist() for step in (7, 8)] == seen[7:]
    assert sorted(number for batch in seen[:4] for number in batch) == list(range(10))
    assert seen[:4] != seen[4:8]


@pytest.mark.parametrize("data", [[], iter([torch.ones(1, 2)])])
def test_data_that_runs_out_is_an_error(data):
    with pytest.raises(WorkingsError) as error:
        fit(nn.Linear(2, 1), data, lambda m, x: m(x).mean(), settings=Training(steps=2))
    assert str(error.value) == (
        "The data has no batches: it is empty, or an iterator that is used up. Give a list or a DataLoader."
    )


@pytest.mark.parametrize(
    ("model", "bad", "message"),
    [
        (net(), lambda m, b: m(b[0]), "A loss is one number; got a tensor of shape [6, 1]. Take its mean."),
        (net(), lambda m, b: 1.0, "A loss is a tensor of one number; got a float."),
        (net(), lambda m, b: b[0].mean(), "The loss does not depend on the model's parameters: it has no gradient."),
        (nn.ReLU(), loss, "The model has no parameters to train: none of them requires a gradient."),
    ],
)
def test_what_is_not_a_loss_is_refused(model, bad, message):
    with pytest.raises(WorkingsError) as error:
        fit(model, batches, bad, settings=Training(steps=2))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"settings": {"steps": 3}},
            "settings is a Training, such as Training(steps=1000, rate=0.001); got a dict.",
        ),
        ({"model": torch.ones(1)}, "The model is a torch.nn.Module; got a Tensor."),
        (
            {"data": 3},
            "The data is an iterable of batches, or a function from the step's number to its batch; got an int.",
        ),
        (
            {"evaluate": lambda model: 3.0},
            'evaluate gives figures by name, such as {"loss": 0.5}; got a float.',
        ),
        (
            {"evaluate": lambda model: {"loss": 1, "words": "many"}},
            "evaluate gives a number for each name; got loss: int, words: str.",
        ),
        (
            {"evaluate": lambda model: {"loss": torch.ones(2)}},
            "evaluate gives a number for each name; got loss: Tensor.",
        ),
        ({"sample": lambda model: 3}, "sample gives text to read; got an int."),
        (
            {"model": nn.LazyLinear(1)},
            "weight has no shape before the model is first used: call it on a batch before training.",
        ),
        (
            {"model": nn.Embedding(5, 1, sparse=True), "data": [torch.tensor([1])], "loss": lambda m, x: m(x).mean()},
            "The gradient of weight is sparse, which the rules of update do not take: use sparse=False.",
        ),
        (
            {"loss": lambda m, b: loss(m, b) * (1 + 1j)},
            "A loss is a real number; got a complex one. Take the square of its size.",
        ),
    ],
)
def test_what_cannot_be_trained_is_said_in_words(given, message):
    with pytest.raises(WorkingsError) as error:
        fit(**{"model": net(), "data": batches, "loss": loss, "settings": Training(steps=2), **given})
    assert str(error.value) == message


def test_complex_weights_learn(tmp_path):
    # |w − (1 + 2i)|² is smallest at w = 1 + 2i
    def go(folder, steps):
        model = nn.Linear(1, 1, bias=False, dtype=torch.complex64)
        nn.init.zeros_(model.weight)
        data = [torch.ones(1, 1, dtype=torch.complex64)]
        settings = Training(steps=200, rate=0.1, average=0.5, save_every=steps)
        fit(model, data, lambda m, x: (m(x) - (1 + 2j)).abs().square().mean(), settings=settings, folder=folder)
        return model.weight.item()

    assert_close(go(tmp_path / "run", 200), 1 + 2j, rtol=1e-2, atol=1e-2)


def test_a_parameter_with_gaps_is_updated_in_its_own_places():
    # every second column of a matrix: the fused kernel would go through the memory between them
    table = torch.zeros(4, 6)
    ours, theirs = nn.Module(), torch.zeros(4, 3, requires_grad=True)
    ours.w = nn.Parameter(table[:, ::2])
    target = torch.arange(12.0).view(4, 3)
    fit(ours, [target], lambda m, y: (m.w - y).square().mean(), settings=Training(steps=5, rate=0.1, schedule="constant"))
    rule = torch.optim.AdamW([theirs], lr=0.1, betas=(0.9, 0.99), weight_decay=0.0)
    for _ in range(5):
        rule.zero_grad()
        (theirs - target).square().mean().backward()
        rule.step()
    assert_close(ours.w.detach(), theirs.detach())
    assert torch.equal(table[:, 1::2], torch.zeros(4, 3))


def test_a_model_may_give_its_loss_by_name():
    class Named(nn.Linear):
        def forward(self, x, y):
            return {"loss": (super().forward(x) - y).square().mean()}

    assert fit(Named(2, 1), [examples(0, 6)], settings=Training(steps=2)).ended == "finished"


def test_compiling_is_not_tried_for_a_short_run_and_says_so():
    from workings.train.process.progress import Progress

    class Notes(Progress):
        said: list[str]

        def note(self, text):
            self.said.append(text)

    notes = Notes()
    notes.said = []
    fit(net(), batches, loss, settings=Training(steps=2, compile="auto"), progress=notes)
    assert notes.said == ["not compiled: the run takes about 0 s as it is"]


def test_compiling_needs_a_compiler(monkeypatch):
    monkeypatch.setattr("workings.train.process.compiling.compiler", lambda: None)
    fit(net(), batches, loss, settings=Training(steps=1, compile="auto"))
    with pytest.raises(WorkingsError, match=r"torch.compile needs a C\+\+ compiler \(g\+\+ or clang\+\+\)"):
        fit(net(), batches, loss, settings=Training(steps=1, compile="yes"))


def test_measuring_leaves_the_model_as_it_was():
    from workings.train.process.compiling import seconds
    from workings.train.process.distributed import Objective

    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    before = {name: t.clone() for name, t in model.state_dict().items()}
    assert seconds(Objective(model, loss), batches(0)) > 0
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.slow
def test_compiled_steps_learn_the_same(monkeypatch):
    monkeypatch.setattr("workings.train.process.compiling.WORTH", 0.0)
    ours, plain = net(), net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's compiler warns of itself
        fit(ours, batches, loss, settings=Training(steps=5, rate=0.05, compile="yes"))
        fit(net(), batches, loss, settings=Training(steps=5, rate=0.05, compile="auto"))
    fit(plain, batches, loss, settings=Training(steps=5, rate=0.05))
    assert_close(weights(ours), weights(plain))
