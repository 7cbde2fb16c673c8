"""The size of the images that go into a network, as a document states it: `32×32 grayscale`, `3×224×224 input`, MNIST."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workings.check.argument.argument import Argument
from workings.check.document.document import Listing
from workings.check.knowledge.layers import Pair

_TIMES = r"\s{0,3}\$?\s{0,3}(?:×|x|\\times)\s{0,3}\$?\s{0,3}"
_IMAGE = re.compile(
    rf"(?<![\d×x.])(?:(?P<channels>[13]){_TIMES})?(?P<height>\d{{1,4}}){_TIMES}(?P<width>\d{{1,4}})(?!\d)(?!{_TIMES}\d{{2,}})"
    r"[^.;\n]{0,12}\b(?:gr[ae]y\s?-?scale|RGB|colou?r|images?|inputs?|pixels?)\b"
    rf"|\b(?:images?|inputs?|input size|resolution)\b[^.;\d\n]{{0,30}}?(?<!\d)(?:(?P<c2>[13]){_TIMES})?"
    rf"(?P<h2>\d{{1,4}}){_TIMES}(?P<w2>\d{{1,4}})(?!\d)(?!{_TIMES}\d{{2,}})",
    re.I,
)
_RANDOM = re.compile(r"(?:randn|rand|zeros|ones|empty)\(\s*\(?\s*\d+\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
_DATASETS = (("mnist", 1, (28, 28)), ("cifar", 3, (32, 32)), ("svhn", 3, (32, 32)))
"""Well-known images: their channels and sizes."""
_CHANGED = re.compile(r"\b(?:resiz|rescal|crop|pad(?:ded)? (?:the|each|images|them|to))|Resize\(|Crop\(|\bPad\(", re.I)
"""Images that are not fed in as they come."""


def image_size(argument: Argument, listing: Listing, channels: int | None) -> tuple[Pair | None, bool]:
    """The one size of input images that the document states near a listing, and whether it does so in numbers."""
    drawn = {(int(h), int(w)) for c, h, w in _RANDOM.findall(listing.text) if int(c) == channels}
    if len(drawn) == 1:
        return drawn.pop(), True
    if channels not in (1, 3) or _CHANGED.search(listing.text):
        return None, False  # a block within a network
    text = argument.document.text
    part = argument.section_start(listing.start)
    before = text[max(part, listing.start - 5000) : listing.start]
    behind = text[listing.start + len(listing.text) :][:800]
    for near in (before, behind):
        sizes = set(stated_sizes(near, channels))
        if sizes:
            return (sizes.pop() if len(sizes) == 1 else None), True
    named = {size for name, c, size in _DATASETS if c == channels and name in before[-1500:].lower()}
    return (named.pop() if len(named) == 1 and not _CHANGED.search(before) else None), False


def stated_sizes(text: str, channels: int) -> Iterator[Pair]:
    """The sizes that a text states of images or inputs, with these channels if it names them."""
    for found in _IMAGE.finditer(text):
        stated = found["channels"] or found["c2"]
        if stated is None or int(stated) == channels:
            yield int(found["height"] or found["h2"]), int(found["width"] or found["w2"])
