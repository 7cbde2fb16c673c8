r"""What a Vision Transformer and a convolutional network know of the plane.

E = X Wᵀ + b                     patches as tokens: a convolution with kernel P and stride P
conv(shift(x)) = shift(conv(x))  away from the borders; a ViT answers a shift by less than a patch with other tokens
r ← r + (F − 1) j,  j ← j S      the receptive field of a convolutional stack; attention sees all patches in its first layer
d̄ = Σ_ij A_ij |p_i − p_j| / n    mean attention distance, over the places p of the patches
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.models.vit import ViT
from workings.nn.transformer.masks import window_mask
from workings.nn.vision.convolution import receptive_field
from workings.nn.vision.patch_tokens import cosine_map, grid_of, patch_embedding, patches, resampled, resampled_positions
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Bars, Curves, Heatmap, Images, Line


@study(rows=("D1", "D2", "D3"))
def patch_tokens(
    grid: Annotated[int, Range(3, 14, "a smaller grid has no inside"), "patches along a side"] = 7,
    seed: Seed = 0,
    broken: Literal["", "patches that overlap", "positions exchanged", "grid read as a row"] = "",
) -> list[Part]:
    """Patches are a strided convolution; positions alone tell a ViT their order, and are resampled in the plane.

    Exact images for the convolution, a random ViT for the order of patches, and smooth position vectors for the resampling.
    """
    from workings import exact, show

    g = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    image: Any = exact(torch.randint(-4, 5, (2, 4, 6), generator=g).tolist())
    W: Any = exact(torch.randint(-3, 4, (3, 8), generator=g).tolist())
    step = 1 if broken == "patches that overlap" else 2
    conv: Any = F.conv2d(image.unsqueeze(0), W.reshape(3, 2, 2, 2), stride=step).flatten(2).squeeze(0).T
    tokens: Any = patch_embedding(image, W, None, 2)
    large = torch.zeros(1, 3, 224, 224)
    cut = F.conv2d(large, torch.zeros(1, 3, 16, 16), stride=8 * step).shape[-2:]
    numbers = patches(large, 16).shape[-1]
    order = torch.randperm(16, generator=g)
    order = order.roll(1) if bool((order == torch.arange(16)).all()) else order
    moved = {has: _shuffle_effect(has != (broken == "positions exchanged"), order, g) for has in (False, True)}
    E = _smooth_positions(grid)
    old, new = (grid, grid), (grid + 3, grid + 1)
    same, finer = resampled(E, old, old), resampled_positions(torch.cat([9 + 0 * E[:1], E]), old, new)
    law = _smooth_positions(*new)
    if broken == "grid read as a row":
        row = F.interpolate(E.T[None], size=new[0] * new[1], mode="linear", align_corners=False)[0].T
        finer = torch.cat([9 + 0 * E[:1], row])
    off = (
        float((finer[1:] - law).abs().reshape(*new, -1)[2:-2, 1:-1].max())
        if grid > 3
        else float((finer[1:] - law).abs().max())
    )
    similar = cosine_map(E)[grid * (grid // 2) + grid // 2].reshape(grid, grid)
    return [
        equal(
            "Mapping each patch linearly is a convolution whose kernel and stride are the patch",
            tokens,
            conv,
            "the same sums over c·P·P pixels",
        ),
        proved(
            "An image of 224 × 224 has 14 × 14 = 196 patches of 16 × 16 × 3 = 768 numbers: 197 tokens with CLS",
            (*cut, numbers) == (14, 14, 768) == (*grid_of(224, 224, 16), 3 * 16 * 16),
            f"a convolution leaves {cut[0]} × {cut[1]}, a patch has {numbers} numbers",
            "224/16 = 14",
        ),
        compared(
            "Without positions shuffled patches leave the class token as it was",
            moved[False],
            Bounds(high=1e-12),
            "largest change of a logit",
            "attention is equivariant, and CLS stays where it is",
        ),
        compared(
            "With positions it changes, by more than a thousandth",
            moved[True],
            Bounds(low=1e-3),
            "largest change of a logit",
            "each place adds a vector of its own",
        ),
        compared(
            "Positions resampled in the plane keep a smooth field, within a twentieth inside, and the same grid as it is",
            off + float((same - E).abs().max()),
            Bounds(high=0.05),
            f"largest difference, from {old[0]} × {old[1]} to {new[0]} × {new[1]}",
            "cubic interpolation of a field with one wave along each side",
        ),
        Heatmap("Smooth positions: cosine of each place with the middle one", similar.tolist(), digits=1, diverging=True),
        Images(
            "A component of the position vectors before and after resampling",
            [[_grey(E[:, 2].reshape(old)), _grey(finer[1:, 2].reshape(new))]],
            [[f"{old[0]} × {old[1]}", f"{new[0]} × {new[1]}"]],
        ),
        Worked(
            "Two patches as tokens", show(patch_embedding, exact([[[1, 2, 3, 4], [5, 6, 7, 8]]]), exact("1 0 0 1"), None, 2)
        ),
    ]


def _shuffle_effect(positions: bool, order: Tensor, g: torch.Generator) -> float:
    """What a shuffle of the sixteen patches changes in the logits of a random ViT."""
    model = ViT(16, 4, width=16, depth=2, heads=2, classes=5, channels=1, positions=positions).double()
    if model.positions is not None:
        with torch.no_grad():
            model.positions.normal_()
    image = torch.randn(1, 1, 16, 16, generator=g, dtype=torch.float64)
    tiles = image.reshape(4, 4, 4, 4).transpose(1, 2).reshape(16, 4, 4)[order]
    shuffled = tiles.reshape(4, 4, 4, 4).transpose(1, 2).reshape(1, 1, 16, 16)
    with torch.no_grad():
        return float((model(shuffled) - model(image)).abs().max())


def _smooth_positions(height: int, width: int | None = None) -> Tensor:
    """Position vectors that are smooth over the plane: a wave along each side and their products."""
    y = (torch.arange(height) + 0.5) / height
    x = (torch.arange(width or height) + 0.5) / (width or height)
    waves = [
        torch.sin(3 * y)[:, None] + 0 * x,
        torch.cos(3 * x) + 0 * y[:, None],
        torch.sin(3 * y)[:, None] * torch.cos(2 * x),
    ]
    return torch.stack(waves, -1).flatten(0, 1)


def _grey(field: Tensor) -> list[list[float]]:
    return ((field - field.min()) / (field.max() - field.min())).tolist()


# ------------------------------------------------------------------------------------------------ shifts and reach


def _cnn(depth: int, stride: int = 1) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i in range(depth):
        layers += [nn.Conv2d(1 if i == 0 else 4, 4, 3, padding=1, stride=stride), nn.Tanh()]
    return nn.Sequential(*layers).double()


@study(rows=("D6",))
def shift_tests(
    depth: Annotated[int, Range(1, 6, "the image has 32 pixels"), "layers of both"] = 3,
    seed: Seed = 0,
    broken: Literal[
        "", "place added to the image", "patches of one pixel", "every second pixel", "window around each patch"
    ] = "",
) -> list[Part]:
    """A convolutional network follows a shift and looks nearby; a ViT does neither by itself.

    Random networks on random images: what a shift by one pixel does, and which pixels an output sees, by the gradient.
    """
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    image = torch.randn(1, 1, 32, 32, generator=g, dtype=torch.float64)
    stride = 2 if broken == "every second pixel" else 1
    cnn = _cnn(depth, stride)
    place = (
        torch.linspace(-2, 2, 32, dtype=torch.float64) if broken == "place added to the image" else torch.zeros(32).double()
    )

    def features(x: Tensor) -> Tensor:
        return cnn(x + place)

    patch = 1 if broken == "patches of one pixel" else 4
    side = 8 if patch == 1 else 32
    vit = ViT(side, patch, width=16, depth=depth, heads=2, classes=5, channels=1, positions=False, pool="mean").double()
    with torch.no_grad():
        cnn_off = _apart(features(image.roll(1, -1)).roll(-1, -1), features(image), 2 * depth + 2)
        small = image[..., :side, :side]
        plain, moved = (_token_map(vit, each, side // patch) for each in (small, small.roll(1, -1)))
        vit_off = float(min(_best_match(moved, plain), _best_match(moved.roll(-1, -1), plain)))
    whole = ViT(32, 4, width=16, depth=1, heads=2, classes=5, channels=1, positions=False, pool="mean").double()
    mask = window_mask(64, 9) if broken == "window around each patch" else None
    field = _pixels_seen(features, image, 16 // stride**depth if stride > 1 else 16)
    first = _patches_seen(whole, image, mask)
    distance, uniform = _attention_distance(whole, image, mask)
    fields = [receptive_field(_cnn(layers)) for layers in range(1, 7)]
    return [
        compared(
            "A shift by one pixel shifts the maps of a convolutional network, inside, to rounding",
            cnn_off,
            Bounds(high=1e-12),
            "largest difference, of the largest value",
            "translation equivariance of a convolution",
        ),
        compared(
            "The tokens of a ViT are no shifted copy: they differ by more than a tenth",
            vit_off,
            Bounds(low=0.1),
            "difference to the nearest shift, of their length",
            "a shift by less than a patch cuts the image in another way",
        ),
        proved(
            f"An output of {depth} convolutions of 3 × 3 sees (1 + 2L)² pixels",
            field == (1 + 2 * depth) ** 2,
            f"{field} pixels have a gradient; 1 + 2·{depth} = {1 + 2 * depth}",
            "r ← r + (F − 1) j",
        ),
        proved(
            "In its first layer every patch of a ViT sees every other",
            first == 64,
            f"{first} of 64 patches have a gradient",
            "attention weights are positive",
        ),
        compared(
            "The mean attention distance of an untrained ViT is that of equal weights, within a tenth",
            distance / uniform,
            Bounds(0.9, 1.1),
            f"{distance:.3g} patches, over {uniform:.3g} of equal weights",
            "scores near 0 give weights near 1/n: no locality is built in",
        ),
        Curves(
            "How far an output sees, in pixels of 32",
            list(range(1, 7)),
            [
                Line("convolutions 3 × 3", fields),
                Line("ViT", [32] * 6),
                Line("1 + 2L", [1 + 2 * n for n in range(1, 7)], dashed=True),
            ],
            "layers",
            "pixels along a side",
        ),
        Bars(
            "What a shift by one pixel leaves unexplained",
            ["convolutional network", "ViT"],
            {"difference": [max(cnn_off, 1e-17), vit_off]},
            "difference, of the length",
            "log",
        ),
        Table(
            "Inductive biases",
            ["", "convolutional network", "ViT"],
            [
                ["follows a shift", "yes, inside", "by whole patches, without positions"],
                ["sees in the first layer", "3 × 3 pixels", "all patches"],
            ],
        ),
    ]


def _apart(a: Tensor, b: Tensor, border: int) -> float:
    """The largest difference of two maps away from their borders, of the largest value."""
    border = min(border, a.shape[-1] // 2 - 1)
    inside = (..., slice(border, -border), slice(border, -border)) if border else (...,)
    return float((a - b)[inside].abs().max() / b.abs().max())


def _token_map(vit: ViT, image: Tensor, side: int) -> Tensor:
    return vit.encode(image)[0].T.reshape(-1, side, side)


def _best_match(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).norm() / b.norm()


def _pixels_seen(features: Any, image: Tensor, at: int) -> int:
    """How many pixels an output in the middle has a gradient of."""
    image = image.detach().requires_grad_()
    (slope,) = torch.autograd.grad(features(image)[0, :, at, at].sum(), image)
    return int((slope != 0).sum())


def _patches_seen(vit: ViT, image: Tensor, mask: Tensor | None) -> int:
    """How many patches the first block's output of a middle patch has a gradient of."""
    X = vit.embed(image).detach().requires_grad_()
    (slope,) = torch.autograd.grad(vit.blocks[0](X, mask=mask)[0, 27].pow(2).sum(), X)
    return int((slope[0].norm(dim=-1) > 0).sum())


def _attention_distance(vit: ViT, image: Tensor, mask: Tensor | None) -> tuple[float, float]:
    """The mean distance, in patches, at which the first layer looks, and that of equal weights."""
    places = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0)).double()
    apart = torch.cdist(places, places)
    block: Any = vit.blocks[0]
    with torch.no_grad():
        A = block.weights(vit.embed(image), mask)[0].mean(0)
    return float((A * apart).sum() / len(A)), float(apart.mean())
