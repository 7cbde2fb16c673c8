"""Layers described in words: sizes and parameters of a convolution, parameters of a linear layer.

    n' = ⌊(n + 2p − k) / s⌋ + 1,   parameters = filters · (k · k · channels + 1)

A paragraph is judged only if it describes one layer, with every number that is needed.
"""

from __future__ import annotations

import re

from workings.check.argument.argument import Argument
from workings.check.document.document import Prose
from workings.check.value.scope import Scope

BY = r"\s{0,3}\$?\s{0,3}(?:×|x|\\times|by)\s{0,3}\$?\s{0,3}"
_COUNT = r"(?<![\d.,])(\d{1,3}(?:(?:\{,\}|,|\\,|~)\d{3})+|\d+)(?![\d.]*\d)"
_FILL = r"(?:\s|\$|\(|,|=|:|is|are|of|size|has|a|an|the|to|then|with|shape|dimensions?|kernel|\*){0,14}?"
KERNEL = re.compile(
    rf"\b(?:kernels?|filters?|windows?)\b{_FILL}\s?\$?(?<!\d)(\d+)(?!\s*(?:filters|kernels|channels))(?:{BY}(\d+))?"
    rf"|(?<![\d×x.])(\d+){BY}(\d+)\$?\s+(?:kernels?|filters?|convolution\w*)",
    re.I,
)
STRIDE = re.compile(rf"\bstride{_FILL}\s?\$?[sS]?\s*=?\s*(\d+)|\bstride\s+\$?(\d+)", re.I)
PADDING = re.compile(
    rf"\bpadding{_FILL}\s?\$?[pP]?\s*=?\s*(\d+)|\b(no padding|without padding|unpadded|valid padding)\b", re.I
)
_INPUT = re.compile(
    rf"\b(?:input|image)s?\b{_FILL}\s?\$?(?<![\d.])(\d+){BY}(\d+)(?:{BY}(\d+))?(?!\d|{BY}\d)"
    rf"|(?<![\d×x.])(?<!\\times )(\d+){BY}(\d+)(?:{BY}(\d+))?\$?\s*(?:gr[ae]y\s?-?scale |RGB |colou?r )?(?:input|image)s?\b",
    re.I,
)
_OUTPUT = re.compile(
    rf"\b(?:outputs?(?: feature maps?| volume)?|feature maps?|results?|yields|gives|produces)\b{_FILL}\s?"
    rf"\$?(?<![\d.])(\d+){BY}(\d+)(?:{BY}(\d+))?(?!\d|{BY}\d)(?!\$?\s+(?:kernel|filter|image|input|conv|stride))",
    re.I,
)
FILTERS = re.compile(
    rf"{_COUNT}\$?\s+(?:different |learned |output )?(?:filters|kernels|output channels|feature maps)\b", re.I
)
_CHANNELS = re.compile(r"(?<![\d.])(\d+)\$?\s+(?:input |colou?r )?channels\b", re.I)
_PARAMETERS = re.compile(
    rf"\b(?:has|have|gives|needs|contains|with|are|is|=)\s+(?:a total of |in total |exactly )?\$?{_COUNT}\$?\s+"
    r"(?:(?:trainable|learnable|free)\s+)?(?:parameters|weights)\b(?!\s+(?:in|and|for|per|each|of)\b)",
    re.I,
)
_LINEAR = re.compile(
    rf"\b(?:linear|fully[- ]connected|dense) layer\b[^.;]{{0,40}}?{_COUNT}\$?\s+(?:inputs?|input features|units)\s+"
    rf"(?:and|to)\s+\$?{_COUNT}\$?\s+(?:outputs?|output features|units)\b[^.;]{{0,40}}",
    re.I,
)
_DOUBT = re.compile(
    r"\b(?:pool\w*|dilat\w*|group\w*|depthwise|separable|transposed|circular|not|wrong|instead|would|suppose|1d|3d|blocks?"
    r"|networks?|stacks?|stacked|model|architecture|deep|repeat\w*|VGG|ResNet|AlexNet|without bias"
    r"|second|two|each|layers)\b",
    re.I,
)


def check_convolutions(argument: Argument, scope: Scope) -> None:
    """Every paragraph that describes one layer."""
    for prose in argument.document.prose:
        low = prose.text.lower()
        if len(low) > 3000:
            continue
        if "stride" in low or "param" in low or "weights" in low:
            if "layer" in low:
                _check_linear(argument, prose)
            if "filter" in low or "kernel" in low or "convol" in low:
                _check_convolution(argument, prose)


def _number(text: str) -> int:
    """A whole number with or without separators.

    >>> _number("31{,}370")
    31370
    """
    return int(re.sub(r"\D", "", text))


def only_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The one place at which a pattern stands; none if there are several that differ."""
    found = list(pattern.finditer(text))
    values = {tuple(part for part in match.groups() if part) for match in found}
    return found[0] if len(values) == 1 else None


def whole(match: re.Match[str] | None) -> int | None:
    """The number that was found."""
    return next((_number(part) for part in match.groups() if part and part[0].isdigit()), None) if match else None


def sizes(match: re.Match[str] | None) -> list[int]:
    """The two or three sizes that were found."""
    return [int(part) for part in match.groups() if part] if match else []


def _planes(given: list[int]) -> list[list[int]]:
    """Height and width of C × H × W or of H × W × C, whose order is not said; the likelier one last."""
    if len(given) < 3:
        return [given[:2]]
    return [given[:2], given[1:]] if given[1] == given[2] else [given[1:], given[:2]]


def _check_convolution(argument: Argument, prose: Prose) -> None:
    """The output's size, and the number of parameters."""
    text = prose.text
    kernel = only_match(KERNEL, text)
    if kernel is None or _DOUBT.search(text):
        return
    k = sizes(kernel)
    k = k if len(k) == 2 else k * 2
    given = only_match(_INPUT, text)
    channels = _channels_of(text, sizes(given))
    _check_output(argument, prose, k, sizes(given))
    filters, claim = whole(only_match(FILTERS, text)), only_match(_PARAMETERS, text)
    if claim is None or filters is None or channels is None:
        return
    stated = _number(claim[1])
    weights = filters * k[0] * k[1] * channels
    if stated in (weights, weights + filters):
        return
    truth = f"{filters} · ({k[0]} · {k[1]} · {channels} + 1) = {weights + filters}"
    why = f"Each filter has {k[0]} · {k[1]} · {channels} weights and one bias."
    _add_finding(argument, prose, claim, truth, why)


def _channels_of(text: str, given: list[int]) -> int | None:
    """The channels of the input, if the words say so."""
    stated = [whole(only_match(_CHANNELS, text))]
    if len(given) == 3:
        stated.append(given[2] if _planes(given)[-1] == given[:2] else given[0])
    found = {n for n in stated if n}
    if re.search(r"\bgr[ae]y\s?-?scale\b", text, re.I):
        found.add(1)
    if re.search(r"\bRGB\b", text):
        found.add(3)
    return found.pop() if len(found) == 1 else None


def _check_output(argument: Argument, prose: Prose, k: list[int], given: list[int]) -> None:
    """n' = ⌊(n + 2p − k) / s⌋ + 1."""
    text = prose.text
    claim, s, padding = only_match(_OUTPUT, text), whole(only_match(STRIDE, text)), only_match(PADDING, text)
    if claim is None or not s or padding is None or len(given) < 2:
        return
    p = whole(padding) or 0
    stated = _planes(sizes(claim))
    for plane in _planes(given):
        made = [(n + 2 * p - kernel) // s + 1 for n, kernel in zip(plane, k, strict=True)]
        if made in stated or plane in stated:
            return
    why = f"⌊({plane[0]} + 2 · {p} − {k[0]}) / {s}⌋ + 1 = {made[0]}."  # of the likelier plane, the last
    _add_finding(argument, prose, claim, f"{made[0]} × {made[1]}", why)


def _check_linear(argument: Argument, prose: Prose) -> None:
    """A linear layer with a inputs and b outputs has a b + b parameters."""
    layer, claim = only_match(_LINEAR, prose.text), only_match(_PARAMETERS, prose.text)
    if layer is None or claim is None or _DOUBT.search(prose.text):
        return
    a, b = _number(layer[1]), _number(layer[2])
    if _number(claim[1]) not in (a * b, a * b + b):
        why = "A weight for each pair of input and output, a bias each."
        _add_finding(argument, prose, claim, f"{a} · {b} + {b} = {a * b + b}", why)


def _add_finding(argument: Argument, prose: Prose, claim: re.Match[str], truth: str, why: str) -> None:
    """Report the number that is wrong."""
    last = max(i for i in range(1, len(claim.groups()) + 1) if claim[i])
    argument.add_at(prose.start + claim.start(1), prose.start + claim.end(last), "likely", "size", truth, why)
