"""The formula of a finding or a relation as a tree, where it can be read; otherwise its source stands for it."""

from __future__ import annotations

import re
from functools import lru_cache

from workings.check.document.finding import Finding
from workings.check.document.relation import Relation
from workings.check.document.report_data import ReportData
from workings.check.latex.one_line import one_line
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.signs import FUNCTIONS
from workings.check.latex.syntax import Node, Symbol
from workings.check.report.links import Links

_LONGEST = 2_000
"""Characters of a source that is worth typesetting."""
_NUMBERS = r"[-−+]?[0-9.]+(?:\s+[-−+]?[0-9.]+)*"
_FLAT = re.compile(rf"\[\s*({_NUMBERS}(?:\s*;\s*{_NUMBERS})*)\s*\]")
"""A matrix of numbers as quotations have it."""
_WORD = re.compile(r"(?<![\\a-zA-Z{])[a-zA-Z]{2,}")


@lru_cache(maxsize=4096)
def tree(source: str) -> Node | None:
    """The tree of a formula's source, or nothing; a macro of the document is read only where it is expanded."""
    if not source.strip() or len(source) > _LONGEST:
        return None
    try:
        found = parse(source)
    except (ParseError, RecursionError):
        return None
    has_macro = any(isinstance(part, Symbol) and part.name.startswith("\\") for part in found.walk())
    return None if has_macro else found


def _quoted_tree(says: str) -> Node | None:
    """The tree of what is quoted, where matrices are flat: [1 0; 0 1].

    >>> one_line(_quoted_tree("A = [1 -2; 0.5 1]"))
    'A = [1 −2; 0.5 1]'
    """
    return tree(_FLAT.sub(lambda found: rf"\begin{{bmatrix}} {_rows(found[1])} \end{{bmatrix}}", says))


def _rows(flat: str) -> str:
    return r" \\ ".join(" & ".join(row.split()) for row in flat.split(";"))


def formula_of(result: ReportData, links: Links, part: Finding | Relation) -> tuple[str, Node | None]:
    """What a part says, and its tree. The text of the document has more than `says`, which is flat and may be cut short."""
    relation = part if isinstance(part, Relation) else links.relation_of(part)
    if relation is not None:
        found = tree(result.document.text[relation.start : relation.end])
        return relation.says, found if found is not None else _quoted_tree(relation.says)
    return part.says, _quoted_tree(part.says)


def truth_tree(truth: str) -> Node | None:
    """The tree of what would be right, unless it is said in words.

    >>> truth_tree("no value") is None, truth_tree("8/3 ≈ 2.66667") is None
    (True, False)
    """
    in_words = any(word.lower() not in FUNCTIONS for word in _WORD.findall(truth))
    return None if in_words else tree(truth)


def readable(says: str, found: Node | None) -> str:
    """On one line: in Unicode where it was read, else as it is written."""
    return says if found is None else one_line(found)
