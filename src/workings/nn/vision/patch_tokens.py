r"""Images as tokens (Dosovitskiy et al. 2021): patches, their embedding, and learned positions.

    X = patches of the image         one row of c·P·P numbers for each patch, in raster order
    E = X Wᵀ + b                     patch embedding: the same as a convolution with kernel P and stride P

224/16 = 14, so an image of 224×224 has 14·14 = 196 patches of 16·16·3 = 768 numbers, and 197 tokens with CLS.

There is one learned position vector for each raster index and one for CLS; nothing tells the model which patches are
neighbours. At another resolution the vectors of the patches are laid out as a grid and resampled in 2-D, that of CLS kept.

Axes: b batch, c channels, n m height and width, p patches, k = c·P·P numbers in a patch, d width of a token, t = p + 1.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from workings.errors import ShapeError, WorkingsError
from workings.fused import fused
from workings.nn.fits import check_directed, check_shapes
from workings.nn.vision.conv_layers import conv2d

Image = Float[Tensor, "*b c n m"]
Grid = tuple[int, int]
_RESAMPLING = ("bilinear", "bicubic")


def grid_of(height: int, width: int, P: int) -> Grid:
    """Rows and columns of patches.

    >>> grid_of(224, 224, 16)
    (14, 14)
    """
    if P < 1 or height % P or width % P:
        raise ShapeError(
            f"Patches of {P}×{P} must tile the image: {height}×{width} leaves {height % P if P > 0 else height} rows and "
            f"{width % P if P > 0 else width} columns over. Resize or pad the image, or choose another patch size."
        )
    return height // P, width // P


def patches(image: Image, P: int) -> Float[Tensor, "*b p k"]:
    """The image cut into P×P patches, each flattened to a row: channel by channel, row by row.

    >>> patches(torch.arange(16.0).reshape(1, 4, 4), 2)[0]
    tensor([0., 1., 4., 5.])
    """
    check_shapes(patches, image)
    y, x = grid_of(image.shape[-2], image.shape[-1], P)
    X = rearrange(image, "... c (y i) (x j) -> ... (y x) (c i j)", y=y, x=x)
    return X


def patch_embedding_conv(
    image: Image, W: Float[Tensor, "d k"], b: Float[Tensor, " d"] | None, P: int
) -> Float[Tensor, "*b p d"]:
    r"""The patch embedding as a convolution: each row of W is a P×P kernel, and the stride is P.

    $$E = \operatorname{conv}(\text{image}; W, \text{kernel } P, \text{stride } P) + b$$
    """
    _check_patches(image, W, b, P)
    W = W.reshape(-1, image.shape[-3], P, P)
    E = conv2d(image, W, b, P)  # … d y x
    E = E.flatten(-2).mT
    return E


def _patch_embedding_kernel(image: Image, W: Tensor, b: Tensor | None, P: int) -> Float[Tensor, "*b p d"]:
    _check_patches(image, W, b, P)
    return F.linear(patches(image, P), W, b)


@fused(_patch_embedding_kernel)
def patch_embedding(image: Image, W: Float[Tensor, "d k"], b: Float[Tensor, " d"] | None, P: int) -> Float[Tensor, "*b p d"]:
    r"""Each patch as a token: its numbers, mapped linearly to the width of the model.

    $$E = X W^\top + b$$

    >>> patch_embedding(torch.arange(16.0).reshape(1, 4, 4), torch.ones(1, 4), None, P=2).flatten()
    tensor([10., 18., 42., 50.])
    """
    _check_patches(image, W, b, P)
    X = patches(image, P)
    E = X @ W.T
    if b is not None:
        E = E + b
    return E


def _check_patches(image: Tensor, W: Tensor, b: Tensor | None, P: int) -> None:
    """Refuse a W without a column for each number of a patch."""
    check_shapes(patch_embedding, image, W, b)
    c = image.shape[-3]
    _ = grid_of(image.shape[-2], image.shape[-1], P)
    if W.shape[-1] != c * P * P:
        raise ShapeError(
            f"X Wᵀ needs one column of W for each number of a patch: {c}·{P}·{P} = {c * P * P}, but W is {[*W.shape]}."
        )


def resampled(
    E: Float[Tensor, "p d"], old: Grid, new: Grid, how: str = "bicubic", antialias: bool = True
) -> Float[Tensor, "q d"]:
    """Position vectors of a grid `old` for a grid `new`, by 2-D interpolation; the same where the grids agree.

    `antialias` smooths first where the grid shrinks, so that no vector is skipped.

    >>> E = torch.tensor([[0.0], [1.0]])
    >>> resampled(E, (1, 2), (1, 3), "bilinear").flatten()
    tensor([0.0000, 0.5000, 1.0000])
    """
    if how not in _RESAMPLING:
        raise WorkingsError(f"Positions are resampled by {' or '.join(_RESAMPLING)}, not by {how!r}.")
    if E.dim() != 2 or len(E) != old[0] * old[1]:
        raise ShapeError(
            f"A grid of {old[0]}×{old[1]} has {old[0] * old[1]} positions, but there are {len(E) if E.dim() else 0} vectors."
        )
    if min(new) < 1:
        raise ShapeError(f"A grid of patches has at least one row and one column, not {new[0]}×{new[1]}.")
    image = rearrange(E, "(y x) d -> 1 d y x", y=old[0])
    smooth = antialias and (new[0] < old[0] or new[1] < old[1])
    image = F.interpolate(image, size=new, mode=how, align_corners=False, antialias=smooth)
    return rearrange(image, "1 d y x -> (y x) d")


def resampled_positions(
    E: Float[Tensor, "t d"], old: Grid, new: Grid, how: str = "bicubic", extra: int = 1
) -> Float[Tensor, "u d"]:
    """`resampled` for a table whose first `extra` rows (CLS) belong to no place of the grid and are kept."""
    check_shapes(resampled_positions, E)
    kept, grid = E[:extra], E[extra:]
    return torch.cat([kept, resampled(grid, old, new, how)])


def cosine_map(E: Float[Tensor, "*b p d"]) -> Float[Tensor, "*b p p"]:
    r"""How alike the position vectors are, each with each.

    $$C_{ij} = \frac{E_i \cdot E_j}{\|E_i\|\,\|E_j\|}$$
    """
    check_shapes(cosine_map, E)
    check_directed("E", E)
    U = E / E.norm(dim=-1, keepdim=True)
    C = U @ U.mT
    return C
