"""A picture file as numbers, the way a viewer shows it: upright, on white where it is transparent, 16 bits as well as 8.

Axes: 3 channels, h height, w width.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from workings.errors import WorkingsError

_BROKEN = (OSError, ValueError, SyntaxError, EOFError, IndexError, struct.error, zlib.error)
"""What Pillow raises at damaged files."""


def pixels(path: Path) -> Shaped[Tensor, "3 h w"]:
    """Red, green and blue, 0 … 255, with fractions where the file has more than 8 bits. Of many frames it is the first."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as opened:
            image = ImageOps.exif_transpose(opened)
            found = _wide(image, path, opened.format) if image.mode[0] in "IF" else np.asarray(on_white(image))
    except FileNotFoundError:
        raise WorkingsError(f"{path} does not exist.") from None
    except (*_BROKEN, Image.DecompressionBombError) as error:
        raise WorkingsError(f"{path} is not a picture that can be read: {str(error).rstrip('.')}.") from None
    return torch.from_numpy(found.copy()).permute(2, 0, 1)


def on_white(image: Any) -> Any:
    """A picture of 8 bits in red, green and blue, with white behind what is transparent."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("LA") if image.mode == "La" else image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")


def _wide(image: Any, path: Path, form: str | None) -> np.ndarray:
    """A grey picture of more than 8 bits, 0 … 255; which of its numbers is white must follow from the file."""
    grey = np.asarray(image)
    low, high = grey.min(), grey.max()
    if image.mode.startswith("I;16") or (image.mode == "I" and form in ("PNG", "PPM")):
        white = 65535
    elif image.mode == "F" and 0 <= low <= high <= 1:
        white = 1
    else:
        kind, needed = ("fractions", "0 … 1") if image.mode == "F" else ("32 bits a pixel", "8 or 16 bits")
        raise WorkingsError(
            f"{path} has {kind}, from {low:g} to {high:g}, and does not say which number is white; {needed} are needed. "
            "Save it as a PNG of 8 or 16 bits."
        )
    scaled = grey.astype(np.float32) * (255 / white)
    if isinstance(clear := image.info.get("transparency"), int):
        scaled[grey == clear] = 255
    return np.repeat(scaled[..., None], 3, axis=2)
