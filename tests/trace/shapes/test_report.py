"""Sizes, parameters and multiply-adds with their arithmetic; nothing of the model changes."""

import pytest
import torch
from torch import nn

from workings import exact
from workings.show.printers.shape_table import text
from workings.trace.shapes.report import shapes


@pytest.fixture(autouse=True, params=["with numbers", "without numbers"])
def _both_ways(request, monkeypatch):
    """Every test runs on a full copy and on one that has shapes only."""
    if request.param == "without numbers":
        monkeypatch.setattr("workings.trace.shapes.report.SMALL", -1)


def cnn(features: int = 144) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5),
        nn.AvgPool2d(4, 4),
        nn.ReLU(),
        nn.Conv2d(8, 16, 4, padding=1),
        nn.AvgPool2d(2, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(features, 10),
    )


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def only(module: nn.Module, *sizes: int):
    """The report's one layer."""
    (layer,) = shapes(module, torch.zeros(sizes)).layers
    return layer


TABLE = """\
Sequential on 1×1×32×32

layer                               output     size                         parameters             multiply-adds    memory
──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
0      Conv2d(1, 8, 5)              1×8×28×28  ⌊(32 − 5 + 2·0)/1⌋ + 1 = 28  8·(5·5·1 + 1) = 208           156800  24.5 KiB
1      AvgPool2d(4)                 1×8×7×7    ⌊(28 − 4 + 2·0)/4⌋ + 1 = 7   0                                     1.53 KiB
2      ReLU()                       1×8×7×7    the same                     0                                     1.53 KiB
3      Conv2d(8, 16, 4, padding=1)  1×16×6×6   ⌊(7 − 4 + 2·1)/1⌋ + 1 = 6    16·(4·4·8 + 1) = 2064          73728  2.25 KiB
4      AvgPool2d(2)                 1×16×3×3   ⌊(6 − 2 + 2·0)/2⌋ + 1 = 3    0                                        576 B
5      ReLU()                       1×16×3×3   the same                     0                                        576 B
6      Flatten()                    1×144      16·3·3 = 144                 0                                        576 B
7      Linear(144, 10)              1×10       144 → 10                     144·10 + 10 = 1450              1440      40 B
──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
total                                                                       3722                          231968  31.5 KiB"""


def test_the_table_worked_by_hand():
    # Multiply-adds: 28·28·8·25 = 156800, 6·6·16·(16·8) = 73728, 144·10 = 1440. Memory: 8·28·28·4 = 25088 = 24.5·1024.
    assert text(shapes(cnn(), torch.zeros(1, 1, 32, 32)), 130) == TABLE


def test_a_narrow_table_wraps_between_words():
    lines = text(shapes(cnn(), torch.zeros(1, 1, 32, 32)), 90).splitlines()
    assert max(map(len, lines)) <= 90
    assert "Conv2d(8, 16," in "\n".join(lines)


@pytest.mark.parametrize(
    ("module", "sizes", "size", "parameters"),
    [
        (nn.Conv1d(2, 4, 3, stride=2, dilation=2), (1, 2, 12), "⌊(12 + 2·0 − 2·(3 − 1) − 1)/2⌋ + 1 = 4", "4·(3·2 + 1) = 28"),
        (nn.Conv2d(4, 4, 3, groups=4, bias=False), (1, 4, 5, 5), "⌊(5 − 3 + 2·0)/1⌋ + 1 = 3", "4·3·3·1 = 36"),
        (
            nn.Conv2d(1, 1, (3, 1)),
            (1, 1, 5, 5),
            "⌊(5 − 3 + 2·0)/1⌋ + 1 = 3, ⌊(5 − 1 + 2·0)/1⌋ + 1 = 5",
            "1·(3·1·1 + 1) = 4",
        ),
        (nn.Conv2d(1, 1, 3, padding="same"), (1, 1, 5, 5), "5·5 → the same (padding='same')", "1·(3·3·1 + 1) = 10"),
        (nn.MaxPool2d(2, ceil_mode=True), (1, 1, 5, 5), "⌈(5 − 2 + 2·0)/2⌉ + 1 = 3", "0"),
        (nn.ConvTranspose2d(1, 2, 3, stride=2), (1, 1, 4, 4), "(4 − 1)·2 − 2·0 + 1·(3 − 1) + 0 + 1 = 9", "1·2·3·3 + 2 = 20"),
        (nn.LayerNorm(6), (2, 6), "the same", "6 + 6 = 12"),
        (nn.BatchNorm2d(3), (2, 3, 4, 4), "the same", "3 + 3 = 6"),
        (nn.LSTM(3, 4, batch_first=True), (2, 5, 3), "5 steps, 3 → 4", "4·(4·3 + 4·4 + 4 + 4) = 144"),
        (nn.GRU(3, 4, bias=False), (5, 2, 3), "5 steps, 3 → 4", "3·(4·3 + 4·4) = 84"),
        (nn.RNN(3, 4, bidirectional=True), (5, 2, 3), "5 steps, 3 → 2·4", "4·3 + 4·4 + 4 + 4 + 4·3 + 4·4 + 4 + 4 = 72"),
        (nn.Linear(3, 2, bias=False), (3,), "3 → 2", "3·2 = 6"),
    ],
)
def test_arithmetic_of_layers(module, sizes, size, parameters):
    layer = only(module, *sizes)
    assert (layer.arithmetic, layer.parameter_arithmetic) == (size, parameters)
    assert layer.parameters == count(module)
    assert layer.output == tuple(first(module.eval()(torch.zeros(sizes))).shape)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def test_tokens_and_attention():
    class Tiny(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 6)
            self.position = nn.Parameter(torch.zeros(5, 6))
            self.block = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
            self.head = nn.Linear(6, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x):
            return self.head(self.block(self.embed(x) + self.position))

    model = Tiny()
    report = shapes(model, torch.zeros(1, 5, dtype=torch.long))
    rows = {layer.path: layer for layer in report.layers}
    assert report.failure is None
    assert report.parameters == count(model)
    assert rows["embed"].arithmetic == "each index → 6 numbers"
    assert rows["block.self_attn"].arithmetic == "2 heads of 6/2 = 3"
    assert rows["block.self_attn"].parameter_arithmetic == "4·(6·6 + 6) = 168"
    # 4 projections of 5·6·6, then Q Kᵀ and A V, 5·5·3 for each of 2 heads
    assert rows["block.self_attn"].multiply_adds == 4 * 5 * 6 * 6 + 2 * 2 * 5 * 5 * 3
    assert rows["head"].parameters == 0
    assert rows["head"].warnings == ("shares parameters with embed: counted once",)
    assert rows["position"].parameter_arithmetic == "5·6 = 30"
    assert "Shared parameters are counted once." in report.notes


def test_products_outside_the_layers_are_counted():
    class Product(nn.Module):
        def forward(self, x):
            return x @ x.mT

    wrapper = nn.Module()
    wrapper.inner = nn.Linear(3, 3)
    wrapper.forward = lambda x: torch.matmul(wrapper_inner(x), x.mT)
    wrapper_inner = nn.Identity()
    assert shapes(Product(), torch.zeros(2, 3)).multiply_adds == 2 * 2 * 3
    report = shapes(wrapper, torch.zeros(2, 3))
    assert report.notes == ("12 of the multiply-adds are outside the layers.",)
    assert report.parameters == 12


def test_the_floor_warns_of_what_it_discards():
    assert only(nn.MaxPool2d(2), 1, 1, 7, 6).warnings == ("the last row is never read: 5/2 leaves a remainder of 1",)
    assert only(nn.Conv1d(1, 1, 2, stride=4), 1, 1, 8).warnings == (
        "the last 2 entries are never read: 6/4 leaves a remainder of 2",
    )
    assert only(nn.Conv2d(1, 1, 3, stride=2, padding=1), 1, 1, 8, 8).warnings == ()  # only padding is dropped
    assert "0: the last row" not in text(shapes(cnn(), torch.zeros(1, 1, 32, 32)))
    assert "the last column is never read" in text(shapes(nn.AvgPool2d(2), torch.zeros(1, 1, 4, 5)))


def test_nothing_of_the_model_changes():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    seed = torch.get_rng_state()
    shapes(model, torch.ones(4, 3))
    assert model.training and all(m.training for m in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), seed)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_code_that_asks_for_numbers_runs_on_a_copy():
    class Asking(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.lstm = nn.LSTM(3, 4)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            x = x.add_(1)
            return self.lstm(self.norm(x))[0] if x.sum().item() > 0 else x

    model, x = Asking(), torch.ones(2, 3)
    report = shapes(model, x)
    assert [layer.output for layer in report.layers] == [(2, 3), (2, 4)]
    assert report.layers[1].multiply_adds == 2 * 4 * 4 * (3 + 4)
    assert model.calls == 0
    assert torch.equal(x, torch.ones(2, 3))


def test_a_layer_used_twice_is_counted_once():
    layer = nn.Linear(3, 3)
    report = shapes(nn.Sequential(layer, nn.ReLU(), layer), torch.zeros(1, 3))
    assert [row.parameters for row in report.layers] == [12, 0, 0]
    assert report.parameters == 12
    assert report.multiply_adds == 18


def test_exact_models_have_shapes_too():
    layer = only(exact.exactify(nn.Linear(3, 2)), 1, 3)
    assert (layer.output, layer.parameters) == ((1, 2), 8)


def test_lazy_layers_take_their_size():
    report = shapes(nn.Sequential(nn.Flatten(), nn.LazyLinear(2)), torch.zeros(1, 3, 4))
    assert report.layers[1].kind == "Linear(12, 2)"


def test_layers_before_a_failure_are_kept():
    report = shapes(cnn(120), torch.zeros(1, 1, 32, 32))
    assert len(report.layers) == 7
    assert report.failure.path == "7"
    assert str(report.failure.explanation) == ("nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)")
    assert text(report).endswith("layer 7 failed: nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)")


def test_a_failure_outside_the_layers_names_the_call():
    class Joined(nn.Module):
        def forward(self, x):
            return torch.cat([x, x[:, :1]])

    failure = shapes(Joined(), torch.zeros(2, 3)).failure
    assert (failure.path, failure.kind) == ("", "Joined")
    assert str(failure.explanation) == (
        "cat along dim=0 needs equal sizes in every other axis, but [2, 3] and [2, 1] differ; use dim=1"
    )


def test_a_failure_without_explanation_keeps_the_message():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError("weights")

    assert text(shapes(Broken(), torch.zeros(1))).endswith("failed: KeyError: 'weights'")
