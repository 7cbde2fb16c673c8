"""Steps that change a text before a model reads it, and what each does to the figures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workings.errors import WorkingsError, did_you_mean
from workings.train.evaluation.comparison import BOUND, aligned, bits
from workings.train.text.language import Language, TextFigures, measure

WARNING = (
    "A step changes the text, and so the task: mapping every word to the unknown token would bring the perplexity to 1 "
    "without improving the model. Only a fall that leaves the unknown share and the characters as they were is a better fit."
)


def _without_accents(text: str) -> str:
    """
    >>> _without_accents("café naïve")
    'cafe naive'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


STEPS: dict[str, tuple[str, Callable[[str], str]]] = {
    "lower": ("small letters", str.lower),
    "digits": ("each digit is 0", lambda text: re.sub(r"\d", "0", text)),
    "numbers": ("each number is N", lambda text: re.sub(r"\d+(?:[.,]\d+)*", "N", text)),
    "punctuation": ("punctuation is left out", lambda text: re.sub(r"[^\w\s]", "", text)),
    "apart": ("punctuation stands apart", lambda text: re.sub(r"(?<=\w)([^\w\s])|([^\w\s])(?=\w)", r" \1\2 ", text)),
    "accents": ("letters without accents", _without_accents),
    "spaces": ("one space for each stretch of white space", lambda text: re.sub(r"\s+", " ", text).strip()),
}


@dataclass(frozen=True)
class Step:
    """A text after a step: its name, a line that shows what happened, the figures."""

    name: str
    before: str
    after: str
    figures: TextFigures


def parse_steps(names: str) -> list[str]:
    """The steps of a list with commas."""
    found = [name.strip() for name in names.split(",") if name.strip()]
    for name in found:
        if name not in STEPS:
            hint = did_you_mean(name, STEPS, f"There are: {', '.join(STEPS)}.")
            raise WorkingsError(f"--preprocess has no step {name!r}.{hint}")
    if not found:
        raise WorkingsError(f"--preprocess needs a step; there are: {', '.join(STEPS)}.")
    return found


def preprocess(language: Language, text: str, names: Sequence[str], file: str) -> list[Step]:
    """The figures of the text as it is, then after each step, which goes on from the one before."""
    found = [Step("as it is", "", "", measure(language, text, file))]
    for name in names:
        changed = STEPS[name][1](text)
        before, after = _difference(text, changed)
        found.append(Step(name, before, after, measure(language, changed, f"{file} after {name}")))
        text = changed
    return found


def _difference(old: str, new: str, around: int = 16) -> tuple[str, str]:
    """The first place where two texts differ, with a little of what is around it.

    >>> _difference("It was 1851.", "It was 0000.")
    ('It was 1851.', 'It was 0000.')
    """
    if old == new:
        return "", ""
    at = first_difference(old, new)
    start = max(0, at - around)
    return old[start : at + around], new[start : at + around]


def first_difference(old: str, new: str) -> int:
    """The first place where two texts differ, which may be the end of one."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def as_text(steps: Sequence[Step]) -> str:
    """The steps as text: a table of figures, before and after of each, and the warning."""
    rows = [["step", "tokens", "per token", "bits/character", "unknown"]]
    for step in steps:
        m = step.figures
        figures = [f"{m.tokens:,}", f"{m.perplexity(m.tokens):.4g}", bits(m), f"{m.unknown:.2%}"]
        rows.append([step.name, *figures])
    shown = [f"{s.name}: {s.before!r} → {s.after!r}" if s.before != s.after else f"{s.name}: no change" for s in steps[1:]]
    signs = [BOUND] * any(step.figures.unknown for step in steps)
    return "\n".join([aligned(rows), *signs, *shown, WARNING])
