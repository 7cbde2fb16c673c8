"""The digit networks: sizes, parameters, and the heads that run on larger images."""

import pytest
import torch
from torch import nn

from workings import exact
from workings.errors import ShapeError, WorkingsError
from workings.models.cnn import StreetDigits, digits_cnn, fully_convolutional
from workings.nn import parameter_count, receptive_field, spread
from workings.trace.shapes.report import shapes


def test_sizes_and_parameters_by_hand():
    report = shapes(StreetDigits(), torch.zeros(1, 1, 32, 32))
    sizes = {layer.path: layer.output[1:] for layer in report.layers}
    assert sizes == {
        "conv1": (8, 28, 28),
        "pool1": (8, 7, 7),
        "relu1": (8, 7, 7),
        "conv2": (16, 6, 6),
        "pool2": (16, 3, 3),
        "relu2": (16, 3, 3),
        "head.0": (144,),
        "head.1": (10,),
    }
    assert [layer.parameters for layer in report.layers] == [208, 0, 0, 2064, 0, 0, 0, 1450]
    assert report.parameters == 3722 == parameter_count(StreetDigits())


def test_the_receptive_field_by_hand():
    # 5, then 5 + 3·1 = 8, then 8 + 3·4 = 20, then 20 + 1·4 = 24
    assert receptive_field(StreetDigits()) == 24


def test_v1_is_the_linear_head():
    torch.manual_seed(0)
    net = StreetDigits().double()
    v1 = net.convolutional()
    X = torch.randn(3, 1, 32, 32, dtype=torch.float64)
    assert parameter_count(v1) == 3722
    torch.testing.assert_close(v1(X).flatten(1), net(X), rtol=0, atol=1e-14)
    large = torch.randn(1, 1, 64, 48, dtype=torch.float64)
    answers = v1(large)
    assert answers.shape == (1, 10, 5, 3)
    assert v1.conv1.weight is not net.conv1.weight


def test_v2_is_v1_with_a_constant_kernel():
    torch.manual_seed(0)
    v2 = StreetDigits("pooled")
    v1 = StreetDigits("conv")
    v1.load_state_dict(
        v2.state_dict() | {f"head.{k}": v for k, v in spread(v2.head[0], 3, 3).state_dict().items()}, strict=False
    )
    assert parameter_count(v2) == 208 + 2064 + 170
    for size in (32, 56):
        X = torch.randn(2, 1, size, size)
        torch.testing.assert_close(v1(X), v2(X))


def test_exact_and_float_agree():
    net = digits_cnn(4, channels=(1,), classes=2).double()
    X = exact.arange(16).reshape(1, 1, 4, 4) / 7
    with torch.no_grad():
        floats = net(X.float64())
        torch.testing.assert_close(exact.exactify(net)(X).float64(), floats)


@pytest.mark.parametrize(("image", "channels", "features"), [(28, (8, 16), 16 * 7 * 7), (8, (4,), 64), (32, (4, 8, 8), 128)])
@pytest.mark.parametrize("pooling", ["average", "max"])
def test_a_network_for_digits(image, channels, features, pooling):
    net = digits_cnn(image, channels, inputs=3, classes=7, pooling=pooling)
    assert net.linear.in_features == features
    assert net(torch.zeros(2, 3, image, image)).shape == (2, 7)


def test_fully_convolutional():
    torch.manual_seed(0)
    net = digits_cnn(8, channels=(4,)).double()
    full = fully_convolutional(net, 4, 4)
    X = torch.randn(2, 1, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(full(X).flatten(1), net(X), rtol=0, atol=1e-14)
    assert full(torch.zeros(1, 1, 12, 8, dtype=torch.float64)).shape == (1, 10, 3, 1)


def test_it_learns():
    torch.manual_seed(0)
    X = torch.zeros(16, 1, 8, 8)
    X[::2, :, :4] = 1
    y = torch.arange(16) % 2
    net = digits_cnn(8, channels=(4,), classes=2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(X), y).backward()
        optimizer.step()
    assert (net(X).argmax(-1) == y).all()


def test_messages():
    with pytest.raises(WorkingsError) as error:
        StreetDigits("mlp")
    assert str(error.value) == "A head is one of linear, conv, pooled, not 'mlp'."
    with pytest.raises(WorkingsError) as error:
        StreetDigits("conv").convolutional()
    assert str(error.value) == (
        "Only a linear head can be turned into a convolution; "
        "this head is Conv2d(16, 10, kernel_size=(3, 3), stride=(1, 1))."
    )
    with pytest.raises(WorkingsError) as error:
        digits_cnn(pooling="median")
    assert str(error.value) == "Pooling is average or max, not 'median'."
    with pytest.raises(ShapeError, match="so an odd kernel: F = 4 would need P = 3/2"):
        digits_cnn(kernel=4)
    with pytest.raises(ShapeError) as error:
        fully_convolutional(nn.Sequential(nn.ReLU(), nn.ReLU()), 1, 1)
    assert str(error.value) == "The network must end in Flatten and Linear; it ends in ReLU() and ReLU()."


def test_images_of_28_pixels_need_2922_parameters():
    # 28 −4→ 24 ÷4→ 6, 6 + 2 − 3 = 5 ÷2→ 2: the head sees 16·2·2 = 64, so 208 + 2064 + 10·65 = 2922
    net = StreetDigits(image=28).double()
    assert parameter_count(net) == 2922
    x = torch.rand(2, 1, 28, 28, dtype=torch.float64)
    torch.testing.assert_close(net.convolutional()(x).flatten(1), net(x))
    assert StreetDigits("pooled", image=28)(x.float()).shape == (2, 10, 1, 1)
