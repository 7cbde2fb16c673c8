r"""Convolutional networks for digits.

The grayscale street-number network, with its sizes and parameters:

    image                 1×32×32
    conv1  8 of 5×5       8×28×28     8·(5·5·1 + 1) = 208
    pool1  mean of 4×4    8×7×7
    conv2  16 of 4×4      16×6×6      16·(4·4·8 + 1) = 2064      padding 1
    pool2  mean of 2×2    16×3×3
    linear 144 → 10       10          10·(144 + 1) = 1450        3722 in all

On images of 28×28 the maps end at 16×2×2: linear 64 → 10, 650, and 2922 in all.

Flatten and Linear can be replaced by convolutions, and then larger images give a map of logits:

    v1    Conv2d(16, 10, 3)                      the Linear with its weights reshaped: the same function
    v2    Conv2d(16, 10, 1), mean of 3×3         170 parameters: v1 with a kernel that is constant in space

Axes: b batch, c channels, n m height and width, k classes, y x places.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy

from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import ShapeError, WorkingsError
from workings.nn.vision.convolution import conv_size, pool_size, same_padding
from workings.nn.vision.linear_conv import linear_to_conv

HEADS = {
    "linear": lambda side: nn.Sequential(nn.Flatten(), nn.Linear(16 * side * side, 10)),
    "conv": lambda side: nn.Conv2d(16, 10, side),
    "pooled": lambda side: nn.Sequential(nn.Conv2d(16, 10, 1), nn.AvgPool2d(side, stride=1)),
}
POOLING = {"average": nn.AvgPool2d, "max": nn.MaxPool2d}


class StreetDigits(nn.Module):
    """The network for 32×32 grayscale digits; `head` is "linear", or "conv" (v1) or "pooled" (v2) to run on larger images.

    `image` is the side of the images, if it is another: the head is made for the maps that then arrive.

    >>> import torch
    >>> StreetDigits()(torch.zeros(2, 1, 32, 32)).shape
    torch.Size([2, 10])
    >>> StreetDigits("conv")(torch.zeros(2, 1, 64, 48)).shape
    torch.Size([2, 10, 5, 3])
    """

    def __init__(self, head: str = "linear", image: int = 32) -> None:
        super().__init__()
        if head not in HEADS:
            raise WorkingsError(f"A head is one of {', '.join(HEADS)}, not {head!r}.")
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.pool1 = nn.AvgPool2d(4)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(8, 16, 4, padding=1)
        self.pool2 = nn.AvgPool2d(2)
        self.relu2 = nn.ReLU()
        self.side = pool_size(conv_size(pool_size(conv_size(image, 5), 4), 4, P=1), 2)
        self.head = HEADS[head](self.side)

    def forward(self, X: Float[Tensor, "b 1 n m"]) -> Float[Tensor, "b ..."]:
        """The logits: `b k` from the linear head, `b k y x` from the others."""
        self.fits(X)
        Y = self.conv1(X)  # 8×28×28
        Y = self.pool1(Y)  # 8×7×7
        Y = self.relu1(Y)
        Y = self.conv2(Y)  # 16×6×6
        Y = self.pool2(Y)  # 16×3×3
        Y = self.relu2(Y)
        Y = self.head(Y)
        return Y

    def fits(self, X: Tensor) -> None:
        """Refuse images of other channels, and of a size that the head is not made for."""
        if X.dim() != 4 or X.shape[1] != 1:
            raise ShapeError(f"StreetDigits takes grayscale images, b × 1 × n × m, but X is {[*X.shape]}.")
        sides = tuple(pool_size(conv_size(pool_size(conv_size(n, 5), 4), 4, P=1), 2) for n in X.shape[-2:])
        fixed = isinstance(self.head, nn.Sequential) and isinstance(self.head[0], nn.Flatten)
        if (fixed and sides != (self.side, self.side)) or min(sides) < self.side:
            raise ShapeError(
                f"The head is made for maps of {self.side}×{self.side}, but images of {X.shape[-2]}×{X.shape[-1]} arrive "
                f"as {sides[0]}×{sides[1]}: resize them"
                + (", or turn the head into a convolution by convolutional()." if fixed else ".")
            )

    def convolutional(self) -> StreetDigits:
        """A copy with v1 in place of Flatten and Linear: the same logits, and maps of them for larger images."""
        if not isinstance(self.head, nn.Sequential) or not isinstance(self.head[-1], nn.Linear):
            raise WorkingsError(f"Only a linear head can be turned into a convolution; this head is {self.head}.")
        new = deepcopy(self)
        new.head = linear_to_conv(self.head[-1], 16, self.side, self.side)
        return new


def digits_cnn(
    image: int = 28,
    channels: Sequence[int] = (8, 16),
    kernel: int = 3,
    classes: int = 10,
    inputs: int = 1,
    pooling: str = "max",
) -> nn.Sequential:
    """A stage for each entry of `channels`: convolution that keeps the size, ReLU, pooling that halves it; then Linear.

    >>> import torch
    >>> digits_cnn(8, channels=(4,))(torch.zeros(1, 1, 8, 8)).shape
    torch.Size([1, 10])
    """
    if pooling not in POOLING:
        raise WorkingsError(f"Pooling is {' or '.join(POOLING)}, not {pooling!r}.")
    size, c = image, inputs
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for i, o in enumerate(channels, 1):
        P = same_padding(kernel)
        layers[f"conv{i}"] = nn.Conv2d(c, o, kernel, padding=P)
        layers[f"relu{i}"] = nn.ReLU()
        layers[f"pool{i}"] = POOLING[pooling](2)
        size, c = pool_size(conv_size(size, kernel, P=P), 2), o
    layers["flatten"] = nn.Flatten()
    layers["linear"] = nn.Linear(c * size * size, classes)
    return nn.Sequential(layers)


def fully_convolutional(network: nn.Sequential, height: int, width: int) -> nn.Sequential:
    """A copy of a network that ends in Flatten and Linear, with a convolution of the same numbers in their place (v1).

    `height` and `width` are those of the maps that arrive at Flatten. On images of the old size it computes the same logits,
    on maps of 1×1.
    """
    parts = [*network.named_children()]
    if len(parts) < 2 or min(height, width) < 1:
        raise ShapeError(
            f"The network must end in Flatten and Linear, on maps of at least 1×1; it has {len(parts)} layers, "
            f"and the maps are {height}×{width}."
        )
    *body, (_, flatten), (name, linear) = parts
    if not isinstance(flatten, nn.Flatten) or not isinstance(linear, nn.Linear):
        raise ShapeError(f"The network must end in Flatten and Linear; it ends in {flatten} and {linear}.")
    conv = linear_to_conv(linear, linear.in_features // (height * width), height, width)
    kept = [(key, deepcopy(layer)) for key, layer in body]
    return nn.Sequential(OrderedDict([*kept, (name, conv)]))
