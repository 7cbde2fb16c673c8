"""Layers that a document lists by name, and what it says later of each layer's output.

- Conv-1: convolutional layer with 8 filters of size 5×5, stride 1, padding 0.
The output of Conv-1 is 28 × 28 × 8.
"""

from __future__ import annotations

import re

from workings.check.argument.argument import Argument
from workings.check.document.document import Prose
from workings.check.knowledge.convolution import BY, FILTERS, KERNEL, PADDING, STRIDE, only_match, sizes, whole
from workings.check.knowledge.images import stated_sizes
from workings.check.knowledge.layers import Flow, Layer, Pair, after
from workings.check.value.scope import Scope

_NAME = r"[A-Z][A-Za-z]{0,15}[-\s_]?\d{1,2}"
_LAYER = re.compile(rf"^[-*+\s]{{0,6}}(?:\\item\s)?[*_`]{{0,2}}({_NAME})[*_`]{{0,2}}\s?:[*_`]{{0,2}}\s(.{{10,300}})$", re.M)
_OUTPUT = re.compile(
    rf"\boutputs?\s(?:size\s)?of\s(?:the\s)?(?:layer\s)?[*_`]{{0,2}}({_NAME})[*_`]{{0,2}},?\s(?:is|has|are)\s(?:of\s)?(?:the\s)?(?:a\s)?"
    rf"(?:(?:size|shape|dimensions?)\s)?(?:of\s)?\$?(\d+){BY}(\d+){BY}(\d+)(?!{BY}\d)"
)
_OTHER = re.compile(r"\bdilat|\bgroup|depthwise|transposed|ceil|global|adaptive|\bsame\b", re.I)


def check_named_layers(argument: Argument, scope: Scope) -> None:
    """Follow the sizes through each list of named layers, and compare the outputs that are stated after it."""
    lists = [(prose, found) for prose in argument.document.prose if len(found := _LAYER.findall(prose.text[:5000])) > 1]
    if len(lists) != 1:
        return  # of several networks nobody knows which is meant
    prose, layers = lists[0]
    made = _outputs(argument, prose, layers)
    for later in argument.document.prose if made else []:
        if later.start <= prose.start:
            continue
        for claim in _OUTPUT.finditer(later.text):
            name = _plain_name(claim[1])
            stated = [int(claim[i]) for i in (2, 3, 4)]
            if name in made and stated not in _readings(made[name]):
                flow = made[name]
                assert flow.size is not None
                truth = f"{flow.size[0]} × {flow.size[1]} × {flow.channels}"
                why = f"The layers up to {claim[1]}, as they are listed, make {truth} of the input that is stated."
                argument.add_at(later.start + claim.start(2), later.start + claim.end(4), "likely", "size", truth, why)


def _plain_name(name: str) -> str:
    """A name without its hyphen: Conv-1 and Conv1 are one layer."""
    return re.sub(r"[-\s_]", "", name).lower()


def _readings(flow: Flow) -> list[list[int]]:
    """C × H × W and H × W × C."""
    if flow.size is None or flow.channels is None:
        return []
    return [[flow.channels, *flow.size], [*flow.size, flow.channels]]


def _outputs(argument: Argument, prose: Prose, layers: list[tuple[str, str]]) -> dict[str, Flow]:
    """What comes out of each layer, as far as every number is stated."""
    before = argument.document.text[max(0, prose.start - 5000) : prose.start]
    found: set[Pair] = set(stated_sizes(before, 1)) | set(stated_sizes(before, 3))
    made: dict[str, Flow] = {}
    if len(found) != 1:
        return made
    flow = Flow(size=found.pop())
    for name, words in layers:
        layer = _layer_in_words(words)
        if layer is None:
            break
        flow, misfit = after(layer, flow)
        if misfit is not None or flow.channels is None or flow.size is None or _plain_name(name) in made:
            break
        made[_plain_name(name)] = flow
    return made


def _layer_in_words(words: str) -> Layer | None:
    """A layer in words, if its kernel, stride and padding are all stated."""
    kernel, stride, padding = only_match(KERNEL, words), whole(only_match(STRIDE, words)), only_match(PADDING, words)
    if kernel is None or stride is None or padding is None or _OTHER.search(words):
        return None
    k = sizes(kernel)
    window: dict[str, int | Pair | str | bool]
    window = {"kernel_size": (k[0], k[-1]), "stride": stride, "padding": whole(padding) or 0}
    if re.search(r"\bpool", words, re.I):
        return Layer("AvgPool2d", window)
    filters = whole(only_match(FILTERS, words))
    if filters is None or not re.search(r"\bconv", words, re.I):
        return None
    return Layer("Conv2d", {**window, "out_channels": filters})
