"""Emoji drawings with their names, in four styles, so that a whole style can be kept for the test.

Axes: n pictures, 3 channels, s height and width. Brightness is 0 … 1 on white.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from workings.atomic import replacing
from workings.train.data.fetch import archive, folder
from workings.train.data.members import members
from workings.train.data.pixels import on_white
from workings.train.data.sources import STYLES


@dataclass
class Drawings:
    """The captions that all styles share, and each style's drawings in the same order."""

    captions: list[str]
    styles: dict[str, Float[Tensor, "n 3 s s"]]


def emoji(size: int = 32) -> Drawings:
    """All drawings, `size` pixels wide; rendered once, then kept beside the archives."""
    sets = {style: svg_by_caption(style) for style in STYLES}
    captions = sorted(set.intersection(*(set(icons) for icons in sets.values())))
    return Drawings(captions, {style: _pictures_of(style, sets[style], captions, size) for style in STYLES})


def svg_by_caption(style: str) -> dict[str, str]:
    """The drawings of a style: caption → SVG."""
    files = {name.rpartition("/")[2]: content for name, content in members(archive(f"emoji-{style}"))}
    data = json.loads(files["icons.json"])
    width, height = data.get("width", 16), data.get("height", 16)
    found = {}
    for name, icon in data["icons"].items():
        box = f"{icon.get('left', 0)} {icon.get('top', 0)} {icon.get('width', width)} {icon.get('height', height)}"
        found[name.replace("-", " ")] = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{icon["body"]}</svg>'
    return found


def _pictures_of(style: str, icons: dict[str, str], captions: list[str], size: int) -> Float[Tensor, "n 3 s s"]:
    """The pictures of a style, from the cache or rendered now."""
    kept = folder() / f"emoji-{style}-{size}-{len(captions)}.npy"
    if not kept.is_file():
        pixels = np.stack([picture(icons[caption], size) for caption in _with_bar(captions, f"drawing {style}")])
        with replacing(kept) as partial, partial.open("wb") as file:
            np.save(file, pixels, allow_pickle=False)
    return torch.from_numpy(np.load(kept, allow_pickle=False)).permute(0, 3, 1, 2).to(torch.float32) / 255


def _with_bar(captions: list[str], title: str) -> Iterable[str]:
    """The captions, with a bar on a terminal while they are gone through."""
    if not sys.stderr.isatty():
        return captions
    from rich.console import Console
    from rich.progress import track

    return track(captions, title, console=Console(stderr=True), transient=True)


def picture(svg: str, size: int) -> np.ndarray:
    """An SVG as pixels on white."""
    import resvg_py
    from PIL import Image

    content = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=size, height=size))
    image = Image.open(io.BytesIO(content)).convert("RGBA").resize((size, size))
    return np.asarray(on_white(image))
