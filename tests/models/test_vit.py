"""The Vision Transformer: Hugging Face's, what the answer depends on, other resolutions, and a new head."""

import pytest
import torch
from torch import nn

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.vit import ViT
from workings.nn.vision.convolution import parameter_count
from workings.nn.vision.patch_tokens import patches


@pytest.fixture
def image():
    return torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def small(**options):
    torch.manual_seed(1)
    return ViT(image=8, patch=4, width=8, depth=2, heads=2, classes=5, **options).eval()


def shuffled(image, order):
    """The image with its 4×4 patches in another order."""
    X = patches(image, 4)[:, order]
    return X.reshape(2, 2, 2, 3, 4, 4).permute(0, 3, 1, 4, 2, 5).reshape(2, 3, 8, 8)


def test_the_usual_numbers():
    model = ViT(image=224, patch=16, width=32, depth=0, heads=2, classes=10)
    assert model.grid == (14, 14)
    assert model.W.shape == (32, 768)
    assert model.positions.shape == (197, 32)
    assert model.embed(torch.zeros(1, 3, 224, 224)).shape == (1, 197, 32)


def test_parameters_by_hand():
    # patches 8·48 + 8, cls 8, positions 5·8; a block 4·(8·8 + 8) + 2·16 + 8·32 + 32 + 32·8 + 8; norm 16, head 8·5 + 5
    block = 4 * (8 * 8 + 8) + 2 * 16 + (8 * 32 + 32) + (32 * 8 + 8)
    assert parameter_count(small()) == 8 * 48 + 8 + 8 + 5 * 8 + 2 * block + 16 + 8 * 5 + 5


def copy_into(model, reference):
    """Hugging Face's weights; its linear layers hold W transposed to those of our feed-forward network."""
    theirs = {name.removeprefix("vit."): p for name, p in reference.state_dict().items()}
    ours = {
        "W": theirs["embeddings.patch_embeddings.projection.weight"].flatten(1),
        "b": theirs["embeddings.patch_embeddings.projection.bias"],
        "cls": theirs["embeddings.cls_token"][0],
        "positions": theirs["embeddings.position_embeddings"][0],
        "norm.gamma": theirs["layernorm.weight"],
        "norm.beta": theirs["layernorm.bias"],
        "head.weight": theirs["classifier.weight"],
        "head.bias": theirs["classifier.bias"],
    }
    for i in range(len(model.blocks)):
        own, other = f"blocks.{i}.", f"layers.{i}."
        for kind in ("weight", "bias"):
            three = [theirs[f"{other}attention.{name}_proj.{kind}"] for name in "qkv"]
            ours[f"{own}attention.{'W' if kind == 'weight' else 'b'}_QKV"] = torch.cat(three)
            ours[f"{own}attention.{'W' if kind == 'weight' else 'b'}_O"] = theirs[f"{other}attention.o_proj.{kind}"]
            for mine, name in (("norm_1", "layernorm_before"), ("norm_3", "layernorm_after")):
                ours[f"{own}{mine}.{'gamma' if kind == 'weight' else 'beta'}"] = theirs[f"{other}{name}.{kind}"]
        for mine, name in (("1", "fc1"), ("2", "fc2")):
            ours[f"{own}ffn.W_{mine}"] = theirs[f"{other}mlp.{name}.weight"].T
            ours[f"{own}ffn.b_{mine}"] = theirs[f"{other}mlp.{name}.bias"]
    model.load_state_dict(ours)


def test_it_is_hugging_faces(image):
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = ViTConfig(image_size=8, patch_size=4, num_labels=5, layer_norm_eps=1e-5, **sizes)
    reference = ViTForImageClassification(config).eval()
    for parameter in reference.parameters():
        nn.init.normal_(parameter, std=0.3)
    model = small()
    copy_into(model, reference)
    torch.testing.assert_close(model(image), reference(image).logits)
    # another resolution: 3×2 patches
    tall = torch.rand(2, 3, 12, 8)
    expected = reference(tall, interpolate_pos_encoding=True).logits
    torch.testing.assert_close(model.resize((3, 2))(tall), expected)


def test_without_positions_the_order_of_the_patches_means_nothing(image):
    other = shuffled(image, [2, 0, 3, 1])
    assert not torch.equal(other, image)
    for pool in ("cls", "mean"):
        model = small(positions=False, pool=pool)
        torch.testing.assert_close(model(other), model(image))
        model = small(pool=pool)
        assert not torch.allclose(model(other), model(image), atol=1e-4)


def test_the_logits_depend_on_the_cls_output_only(image):
    model = small()
    X = model.encode(image).detach().requires_grad_()
    model.encode = lambda image: X
    (g,) = torch.autograd.grad(model(image).sum(), X)
    assert (g[:, 1:] == 0).all() and g[:, 0].abs().max() > 0


def test_the_mean_depends_on_every_token(image):
    model = small(pool="mean")
    assert model.cls is None and model.positions.shape == (4, 8)
    X = model.encode(image)
    torch.testing.assert_close(model(image), model.head(model.norm(X).mean(1)))


def test_attention_of_cls(image):
    A = small().weights(image)
    assert A.shape == (2, 2, 2, 5, 5)
    torch.testing.assert_close(A.sum(-1), torch.ones(2, 2, 2, 5))


def test_the_weights_are_those_the_model_uses(image):
    """Reading them changes nothing, and the blocks see what `encode` sees."""
    model = small()
    X = model.embed(image)
    torch.testing.assert_close(model.weights(image)[0], model.blocks[0].weights(X))
    torch.testing.assert_close(model.weights(image)[1], model.blocks[1].weights(model.blocks[0](X)))


@pytest.mark.parametrize("how", ["bilinear", "bicubic"])
def test_resize(image, how):
    model = small()
    before, cls = model(image), model.positions[0].clone()
    torch.testing.assert_close(model.resize((2, 2), how)(image), before)
    model.resize((3, 5), how)
    assert model.positions.shape == (16, 8) and model.positions.requires_grad
    assert torch.equal(model.positions[0], cls)
    assert model(torch.rand(1, 3, 12, 20)).shape == (1, 5)


def test_a_new_head(image):
    model = small(head_hidden=6)
    assert [type(layer) for layer in model.head] == [nn.Linear, nn.Tanh, nn.Linear]
    tokens = model.encode(image)
    model.new_head(3).freeze()
    assert model(image).shape == (2, 3) and torch.equal(model.encode(image), tokens)
    assert {name for name, p in model.named_parameters() if p.requires_grad} == {"head.weight", "head.bias"}
    model.freeze(False)
    assert all(p.requires_grad for p in model.parameters())
    assert model.double().new_head(4).head.weight.dtype == torch.float64


def test_only_the_head_moves_when_the_rest_is_frozen(image):
    model = small().new_head(2).freeze()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    nn.functional.cross_entropy(model(image), torch.tensor([0, 1])).backward()
    optimizer.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"head.weight", "head.bias"}


def test_exact_and_float_agree():
    torch.manual_seed(0)
    model = ViT(image=2, patch=1, width=2, depth=1, heads=1, classes=2, channels=1, hidden=2).double().eval()
    image = exact("1 0; -1 1/2").reshape(1, 1, 2, 2)
    with torch.no_grad():
        floats = model(image.float64())
        torch.testing.assert_close(exact.exactify(model)(image).float64(), floats)


def test_messages():
    with pytest.raises(ShapeError) as error:
        small()(torch.zeros(1, 3, 12, 8))
    assert str(error.value) == (
        "There are positions for a grid of 2×2 patches, but the image has 3×2. Call resize((3, 2)) first."
    )
    with pytest.raises(ShapeError, match="Patches of 4×4 must tile the image: 10×8 leaves 2 rows and 0 columns over"):
        small()(torch.zeros(1, 3, 10, 8))
    with pytest.raises(DomainError) as error:
        small(pool="max")
    assert str(error.value) == "A ViT reads its answer off one of cls, mean, not 'max'."
