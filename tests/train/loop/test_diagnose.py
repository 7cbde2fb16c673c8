"""A loss that is no number: the step, the batch, the first module that made one, and the last good checkpoint."""

import math

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from workings.train import Run, Training, fit
from workings.train.loop.diagnose import NotFinite, by_modules, cause, description, is_finite


class Root(nn.Module):
    """The root of its inputs, which negative numbers have not."""

    def forward(self, x):
        y = x.sqrt()
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 1, bias=False)
        self.blocks = nn.ModuleList([nn.Identity(), Root()])
        nn.init.ones_(self.inner.weight)

    def forward(self, x):
        h = self.inner(x)
        for block in self.blocks:
            h = block(h)
        return h


def loss(model, x):
    out = model(x)
    return out.mean()


def batches(step):
    return torch.full((3, 2), -1.0 if step == 6 else 1.0)


def test_the_module_the_step_and_the_batch_are_named(tmp_path):
    settings = Training(steps=10, rate=1e-3, save_every=2, evaluate_every=10)
    with pytest.raises(NotFinite) as error:
        fit(Net(), batches, loss, settings=settings, folder=tmp_path)
    said = str(error.value)
    line = Root.forward.__code__.co_firstlineno + 1
    assert said == (
        "The loss is nan at step 6. Its batch: float32 [3, 2] from -1 to -1, kept in "
        f"{tmp_path}/bad-batch.safetensors. The first is made in blocks.1 (Root), `y = x.sqrt()`, {__file__}:{line}. "
        "The last checkpoint is of step 6. Try a lower rate, a longer warmup or clip, or fix the data."
    )
    assert torch.equal(load_file(tmp_path / "bad-batch.safetensors")["0"], batches(6))
    last, problems = Run(tmp_path).last()
    assert (last.name, problems) == ("step-00000006", [])
    assert all(is_finite(t) for t in load_file(last / "weights.safetensors").values())


def test_hooks_name_the_module_where_the_tracer_cannot_read():
    assert by_modules(loss, Net(), batches(6)) == "The first is made in blocks.1 (Root)."
    assert by_modules(loss, Net(), batches(0)) == ""


def test_a_loss_that_makes_it_itself():
    def bad(model, x):
        L = model(x).mean()
        return (L - L).log()

    assert cause(bad, Net(), batches(0)).startswith("The first is made by the loss, `return (L - L).log()`, ")


def test_a_bad_batch_and_a_bad_weight():
    model = Net()
    assert (
        cause(loss, model, (torch.ones(2), torch.tensor([math.inf]))) == "The batch itself has one, in its tensor number 2."
    )
    nn.init.constant_(model.inner.weight, math.nan)
    assert cause(loss, model, batches(0)) == "The weight inner.weight has one already: the update before was too large."
    first = cause(loss, model, batches(0), before=["inner.weight"])
    assert first == "The weight inner.weight had one before the first update."


def test_a_gradient_that_is_no_number_is_caught_before_the_update():
    # √x at 0: the value is 0, the slope infinite, and 0 · ∞ is no number
    model = nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    with pytest.raises(NotFinite, match=r"^The norm of the gradient is nan at step 0, though the loss is 0\."):
        fit(model, [torch.zeros(1, 2)], lambda m, x: m(x).abs().sqrt().mean(), settings=Training(clip=1.0))
    assert torch.equal(model.weight, before)


def test_spoilt_weights_are_not_saved(tmp_path):
    def bad(m, x):
        return m(x).abs().sqrt().mean()

    data = [torch.ones(1, 2), torch.zeros(1, 2)]  # the second batch spoils the weights, and its own loss is 0
    with pytest.raises(
        NotFinite, match=r"^The weights have a NaN or an infinity after step 2\. .* last checkpoint is of step 1\."
    ):
        fit(
            nn.Linear(2, 1, bias=False),
            data,
            bad,
            settings=Training(steps=4, save_every=1, evaluate_every=4),
            folder=tmp_path,
        )
    assert Run(tmp_path).last()[0].name == "step-00000001"


def test_before_the_first_evaluation_the_starting_weights_are_there(tmp_path):
    model = Net()
    start = {name: t.clone() for name, t in model.state_dict().items()}
    with pytest.raises(NotFinite) as error:
        fit(model, batches, loss, settings=Training(steps=100), folder=tmp_path)
    assert str(error.value).startswith("The loss is nan at step 6.")
    assert str(error.value).endswith(
        " The last checkpoint is of step 0, the weights it started from. "
        "Try a lower rate, a longer warmup or clip, or fix the data."
    )
    found = load_file(Run(tmp_path).last()[0] / "weights.safetensors")
    assert all(torch.equal(t, start[name]) for name, t in found.items()) and found.keys() == start.keys()


def test_where_no_checkpoint_could_be_saved_it_says_so(tmp_path):
    model = Net()
    nn.init.constant_(model.inner.weight, math.nan)
    with pytest.raises(NotFinite) as error:
        fit(model, batches, loss, settings=Training(steps=10), folder=tmp_path)
    assert str(error.value) == (
        f"The loss is nan at step 0. Its batch: float32 [3, 2] from 1 to 1, kept in {tmp_path}/bad-batch.safetensors. "
        "The weight inner.weight had one before the first update. No checkpoint has been saved. "
        "Fix the model's initial weights."
    )
    with pytest.raises(NotFinite) as error:  # without a folder nobody expects one
        fit(model, batches, loss, settings=Training(steps=10))
    assert "heckpoint" not in str(error.value)


def test_a_weight_that_was_spoilt_from_the_start_is_not_blamed_on_an_update(tmp_path):
    model = nn.ModuleDict({"used": nn.Linear(2, 1), "other": nn.Linear(1, 1)})
    nn.init.constant_(model["other"].bias, math.inf)
    with pytest.raises(NotFinite) as error:  # the loss never meets it; the first checkpoint does
        fit(
            model, [torch.ones(1, 2)], lambda m, x: m["used"](x).square().mean(), folder=tmp_path, settings=Training(steps=3)
        )
    assert "The weight other.bias had one before the first update." in str(error.value)
    assert "too large" not in str(error.value)


def test_complex_numbers_are_looked_at_too():
    assert is_finite(torch.tensor([1 + 2j]))
    assert not is_finite(torch.tensor([complex(0, math.nan)]))


def test_a_batch_in_words():
    assert description(torch.tensor([[2.5], [-1]])) == "float32 [2, 1] from -1 to 2.5"
    assert description({"x": torch.tensor([[1, 5]]), "name": "a"}) == "int64 [1, 2] from 1 to 5"
    assert description("text") == "str"
