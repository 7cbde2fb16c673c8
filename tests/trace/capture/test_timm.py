"""Image models from timm, tiny and with random weights, opened down to their statements, forward and backward."""

import pytest
import torch
import torch.nn.functional as F

from tests.timm_here import OPERATORS, declare, timm
from workings import show
from workings.show.printers.shape_table import text
from workings.trace.capture.capture import capture
from workings.trace.gradient.backward import backward
from workings.trace.shapes.report import shapes

try:
    models = timm().models
except ImportError as error:
    pytest.skip(f"{error}: make test installs what tests/peers.txt lists", allow_module_level=True)

SMALL = {"in_chans": 1, "num_classes": 3}


def vit():
    return models.VisionTransformer(img_size=8, patch_size=4, embed_dim=8, depth=2, num_heads=2, **SMALL), 8


def resnet():
    return models.ResNet(models.resnet.BasicBlock, (1, 1, 1, 1), channels=(2, 4, 4, 4), stem_width=2, **SMALL), 16


def convnext():
    return models.ConvNeXt(depths=(1, 1, 1, 1), dims=(4, 4, 4, 4), patch_size=2, **SMALL), 32


def mixer():
    return models.MlpMixer(img_size=8, patch_size=4, num_blocks=1, embed_dim=8, **SMALL), 8


def swin():
    sizes = {"embed_dim": 4, "depths": (2, 1), "num_heads": (1, 2), "window_size": 2}
    return models.SwinTransformer(img_size=8, patch_size=2, **sizes, **SMALL), 8


FEATURES = "VisionTransformer.forward_features"
SHIFTED = "layers.0.blocks.1.SwinTransformerBlock._attn"
ADDRESSES = {
    vit: {
        "patch_embed.proj",
        "blocks.0.attn",
        "blocks.1.mlp.fc2",
        "head",
        f"{FEATURES}.VisionTransformer._pos_embed.pos_embed",
    },
    resnet: {"conv1", "layer1.0.bn1", "layer4.0.downsample.0", "global_pool.pool", "fc", "ResNet.forward_features.x"},
    convnext: {"stem.0", "stages.0.blocks.0.conv_dw", "stages.3.blocks.0.mlp.fc1", "head.fc", "ConvNeXt.forward_head.x"},
    mixer: {"stem.proj", "blocks.0.mlp_tokens.fc1", "blocks.0.mlp_channels.fc2", "head", "MlpMixer.forward_features.x"},
    swin: {
        "patch_embed.proj",
        "layers.0.blocks.1.attn.qkv",
        "layers.1.downsample.reduction",
        "head.fc",
        f"{SHIFTED}.x_windows",
    },
}
"""Modules by their paths, and a statement of a method that is called inside the model."""


def made(make):
    torch.manual_seed(0)
    model, side = make()
    return model.eval(), torch.randn(1, 1, side, side)


@pytest.mark.parametrize("make", ADDRESSES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_model_is_captured_whole(make, depth):
    model, x = made(make)
    trace = capture(model, x, depth=depth)
    assert trace.error is None
    assert torch.equal(trace.result, model(x))
    assert trace.agreement == "matches the unmodified run (largest difference 0)"
    steps = list(trace.steps())
    assert not [s.note for s in steps if s.note.startswith("not shown")]
    expansions = [s for s in steps if s.kind == "expansion"]
    assert all(float(s.note.split()[-1]) < 1e-4 for s in expansions)
    assert bool(expansions) == (depth == 4)
    if depth >= 3:
        assert len(steps) > 100
        assert ADDRESSES[make] <= {s.address for s in steps}


@pytest.mark.parametrize("make", ADDRESSES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_gradient_of_every_parameter_is_shown(make, depth):
    model, x = made(make)
    y = torch.tensor([1])

    def loss(x):
        z = model(x)
        L = F.cross_entropy(z, y)
        return L

    trace = capture(loss, x, depth=depth)
    backward(trace)
    shown = [s.result for s in trace.steps() if s.kind == "gradient" and isinstance(s.result, torch.Tensor)]
    names, parameters = zip(*model.named_parameters(), strict=True)
    for name, expected in zip(names, torch.autograd.grad(loss(x), parameters), strict=True):
        assert any(torch.equal(gradient, expected) for gradient in shown), name
    notes = [s.note for s in trace.steps() if s.kind == "gradient"]
    assert sum(note.startswith("rule checked") for note in notes) >= (20 if depth >= 3 else 1)


@pytest.mark.parametrize("make", ADDRESSES)
def test_every_layer_has_its_sizes(make):
    model, x = made(make)
    report = shapes(model, x)
    assert report.failure is None
    assert report.parameters == sum(p.numel() for p in model.parameters())
    assert report.layers[-1].path in dict(model.named_parameters()) or report.layers[-1].output == (1, 3)


def test_the_table_of_a_vision_transformer_worked_by_hand():
    # 4 patches of 4·4 numbers and CLS are 5 tokens. Outside the layers Q Kᵀ and A V: 2 blocks, 2 · 2 heads · 5·5·4 = 400.
    table = text(shapes(*made(vit)), 140)
    assert (
        "patch_embed.proj         Conv2d(1, 8, 4, stride=4)  1×8×2×2  ⌊(8 − 4 + 2·0)/4⌋ + 1 = 2  8·(4·4·1 + 1) = 136"
        in table
    )
    assert "blocks.1.attn.qkv        Linear(8, 24)              1×5×24   8 → 24                     8·24 + 24 = 216" in table
    assert table.endswith("800 of the multiply-adds are outside the layers.")


def test_a_vision_transformer_in_print():
    work = show(*made(vit), depth=4)
    lines = [line.strip() for line in work.text(width=120).splitlines()]
    assert "blocks.0.attn: Attention" in lines
    assert any(line.startswith("x = x + pos_embed") for line in lines)
    assert any(line.startswith("A = softmax(S) = ") for line in lines)
    assert r"\noindent\textbf{blocks.0.attn: Attention}" in work.latex()
    assert "blocks.0.attn: Attention" in work.markdown()
    assert "blocks.0.attn" in work.html()


def test_declaring_twice_is_no_error():
    declare()
    declare()
    assert all(hasattr(torch.ops.torchvision, name) for name in OPERATORS)
