r"""What a text refers to: «as in question 1», «from part (a)», «using the result of Exercise 2», \ref{eq:mean}.

The target is found by its own label: the number or letter in its title, or its place among the environments and items of its
kind, which are numbered as they come. The words before a reference are only a cue that it is one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from workings.check.argument.contexts import Context, Contexts, Form, belongs

_CUE = r"(?:as|like|from|of|in|by|using|use|see|with|via|result|recall|wie|aus|von|mit|nach|siehe|dans|selon|voir)"
_REFERENCE = re.compile(
    rf"(?<![A-Za-z]){_CUE}[ \t~\n]+(?:the[ \t]+|our[ \t]+|der[ \t]+|dem[ \t]+)?(?P<noun>[^\W\d_]{{3,}})[ \t~]*"
    r"\(?(?P<label>\d{1,3}(?:\.\d{1,3})*|[a-k](?![A-Za-z])|[ivx]{1,4}(?![A-Za-z]))\)?",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"(?P<noun>第)\s*(?P<label>\d{1,3})\s*[题问]")
_COMMAND = re.compile(r"\\(?:eq|auto|c|C|name)?ref\*?\s*\{([^}]*)\}")
_TARGET = re.compile(r"\\label\s*\{([^}]*)\}")
_TITLE = re.compile(
    r"[\W_]*(?P<noun>[^\W\d_]{3,}|第)?[ \t~]*[(#]?(?P<label>\d{1,3}(?:\.\d{1,3})*|[a-k](?![a-z])|[ivx]{1,4}(?![a-z]))",
    re.IGNORECASE,
)
_PARTS = {"part", "item", "point", "teil", "punkt", "question", "exercise", "problem", "aufgabe"}
"""What the parts of a problem are called, which have no title but their letter."""


def link_references(contexts: Contexts, text: str) -> None:
    """Note in each context which others its text names."""
    for position, target in (*_named(contexts, text), *_by_command(contexts, text)):
        here = contexts.at(position).home
        if not belongs(here, target) and target not in here.refers_to:
            here.refers_to.append(target)


def _named(contexts: Contexts, text: str) -> Iterator[tuple[int, Context]]:
    """Each reference in words that has a target, and the target."""
    found = [*_REFERENCE.finditer(text), *_CHINESE.finditer(text)]
    if not found:
        return
    labels = _labels(contexts)
    for match in found:
        here = contexts.at(match.start())
        targets = labels.get((_noun(match["noun"]), match["label"].lower()), [])
        if _noun(match["noun"]) in _PARTS:
            siblings = [part for part in labels.get(("", match["label"].lower()), []) if part.problem is here.problem]
            targets = siblings or targets
        before = [target for target in targets if target.start < match.start() and not belongs(here, target)]
        if before:
            yield match.start(), before[-1]


def _noun(word: str) -> str:
    """A noun without its plural.

    >>> _noun("Exercises"), _noun("Part")
    ('exercise', 'part')
    """
    return word.lower().removesuffix("s")


def _labels(contexts: Contexts) -> dict[tuple[str, str], list[Context]]:
    """The contexts by what they are called and numbered; parts have no noun."""
    found: dict[tuple[str, str], list[Context]] = defaultdict(list)
    blocks: Counter[str] = Counter()
    for context in contexts.every:
        title = _TITLE.match(context.title)
        if context.form is Form.BLOCK:
            name = _noun(context.title.rstrip("*"))
            blocks[name] += 1
            found[name, str(blocks[name])].append(context)
        elif context.form is Form.PART and context.parent is not None and (title is None or "item" in context.title[:5]):
            number = [part for part in context.parent.children if part.form is Form.PART].index(context) + 1
            found["", str(number)].append(context)
            found["", chr(ord("a") + number - 1)].append(context)
        elif title is not None:
            found[_noun(title["noun"] or ""), title["label"].lower()].append(context)
    return found


def _by_command(contexts: Contexts, text: str) -> Iterator[tuple[int, Context]]:
    """\\ref and its kin: the context in which the \\label stands."""
    if "\\label" not in text:
        return
    places = {match[1].strip(): match.start() for match in _TARGET.finditer(text)}
    for match in _COMMAND.finditer(text):
        for name in match[1].split(","):
            if name.strip() in places:
                yield match.start(), contexts.at(places[name.strip()]).home
