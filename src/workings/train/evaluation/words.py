"""Each word's part in a classifier's decision as a table, and what a change of the text does to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from workings.errors import WorkingsError
from workings.train.evaluation.comparison import aligned
from workings.train.text.explain import Explanation, Part

_TURNS = frozenset("but however although though yet except despite instead unless unlike".split())
"""Words that turn a sentence round; which part of it they turn is a matter of order."""
ARROW = re.compile(r"\s*(?:=>|->|→)\s*")


def table(read: Explanation, most: int = 5) -> str:
    """The words that speak for the class most and those that speak against it most."""
    if not read.parts:
        return "The model knows none of its words."
    parts = read.parts if len(read.parts) <= 2 * most else (*read.parts[:most], *read.parts[-most:])
    rows = [["word", "times", "leave one out", "gradient × input"]]
    rows += [[p.word, str(p.times), signed(p.leave_one_out), signed(p.gradient_input)] for p in parts]
    if len(read.parts) > len(parts):
        rows.insert(1 + most, ["…", "", "", ""])
    marked = next((word for part in parts for word in part.word.split() if word.endswith("_")), "")
    legend = f"\n{marked} is {marked[:-1]} after not, never, -n't …" if marked else ""
    return aligned(rows) + legend


def order_warning(text: str) -> str:
    """A warning where an explanation of the text would need the order of its words, which the model does not see.

    >>> order_warning("Good, but too long")
    "'but': what it turns round depends on the order of the words, which a mean of vectors does not see."
    >>> order_warning("Good")
    ''
    """
    found = list(dict.fromkeys(word for word in re.findall(r"\w+", text.lower()) if word in _TURNS))
    what = "what it turns round depends" if len(found) == 1 else "what they turn round depends"
    names = ", ".join(map(repr, found))
    return f"{names}: {what} on the order of the words, which a mean of vectors does not see." if found else ""


def apply_edit(text: str, edit: str) -> str | None:
    """The text after an edit: `old => new` for these words wherever they stand; without an arrow the edit is the new text.

    >>> apply_edit("A good film, so good.", "good => bad"), apply_edit("A good film.", "good =>")
    ('A bad film, so bad.', 'A film.')
    """
    if not ARROW.search(edit):
        return edit
    old, new = ARROW.split(edit, maxsplit=1)
    if not old.strip():
        raise WorkingsError(f"An edit names the words that it changes, as in 'good => bad'; got {edit!r}.")
    words = re.compile(rf"(?<!\w){re.escape(old.strip())}(?!\w)" + ("" if new.strip() else r"\s?"), re.IGNORECASE)
    after = words.sub(new.strip().replace("\\", r"\\"), text)
    return after if after != text else None


def most_similar(texts: Sequence[str], edit: str, cut: Callable[[str], list[str]]) -> int:
    """The text that shares the largest part of its words with an edited one.

    >>> most_similar(["a good film", "a long book"], "a bad film", str.split)
    0
    """
    words = {*cut(edit)}
    shares = [len(words & (other := {*cut(text)})) / max(1, len(words | other)) for text in texts]
    return shares.index(max(shares))


def comparison_table(before: Explanation, after: Explanation, classes: Sequence[str], most: int = 5) -> str:
    """The probabilities of two texts, and the parts of words: those that came or went, and those that count most.

    Of a whole new text almost every word came or went: the ones that count most are enough.
    """
    rows = [["", "before", "after"]]
    rows += [[name, f"{p:.1%}", f"{q:.1%}"] for name, p, q in zip(classes, before.p, after.p, strict=True)]
    rows.append(["margin", signed(before.margin), signed(after.margin)])
    old, new = ({part.word: part for part in read.parts} for read in (before, after))
    both = {**old, **new}
    by_size = sorted(both, key=lambda word: -abs(both[word].times * both[word].leave_one_out))
    moved = [word for word in by_size if old.get(word, _NONE).times != new.get(word, _NONE).times]
    hidden = moved[4 * most :]
    moved = moved[: 4 * most]
    words = [["word", "leave one out before", "after", "gradient × input before", "after"]]
    for word in dict.fromkeys([*moved, *by_size[:most]]):
        a, b = old.get(word), new.get(word)
        ways = ("leave_one_out", "gradient_input")
        words.append([word, *(signed(getattr(x, way)) if x else "–" for way in ways for x in (a, b))])
    more = f"\n… and {len(hidden)} more words that came or went" if hidden else ""
    unknown = "" if new else "\nThe model knows none of the new text's words: what it says is what it says of nothing."
    return f"{aligned(rows)}\n\n{aligned(words)}{more}{unknown}"


_NONE = Part("", 0, 0.0, 0.0)


def signed(x: float) -> str:
    """
    >>> signed(-0.25), signed(2.0)
    ('−0.250', '+2.000')
    """
    return f"{x:+.3f}".replace("-", "−")


def shortened(text: str, most: int = 320) -> str:
    """A text in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"
