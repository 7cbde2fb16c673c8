"""The contents of a page: a search field and a tree of links, to the calls and modules and the statements at the top."""

from __future__ import annotations

from workings.show.outline.rows import Row, Rows
from workings.show.write.markup import element, escaped
from workings.show.write.names import text_name

_FEW = 6
"""Statements that need no contents."""
_MOST = 160
"""Links of the tree; what is nested deeper is found by unfolding it, or by the search."""
_LONG = 40


def contents(rows: Rows) -> str:
    """The navigation; nothing for a page of a few statements."""
    if rows.total <= _FEW:
        return ""
    depth = 1
    while depth < 4 and _size(rows.top, depth + 1) <= _MOST:
        depth += 1
    search = (
        f'<input type="search" id="search" placeholder="Find in {rows.total:,} statements" '
        'aria-label="Find a statement" aria-controls="found" autocomplete="off" spellcheck="false">'
    )
    found = '<ol id="found" aria-live="polite" hidden></ol>'
    keys = (
        '<p class="keys"><button type="button" data-fold="open">Unfold all</button> '
        '<button type="button" data-fold="">Fold all</button> <button type="button" data-theme-switch>Theme</button>'
        "<span><kbd>J</kbd> <kbd>K</kbd> step</span> <span><kbd>/</kbd> find</span></p>"
    )
    return element("nav", search + found + _tree(rows.top, depth) + keys, class_="contents", aria_label="Contents")


def _listed(rows: list[Row], is_top: bool) -> list[Row]:
    """What has statements inside it; at the top, every value that has a name."""
    return [
        row for row in rows if row.inside or (is_top and row.step.name and row.step.kind in ("input", "assign", "error"))
    ]


def _size(rows: list[Row], depth: int, is_top: bool = True) -> int:
    listed = _listed(rows, is_top)
    return len(listed) + sum(_size(row.inside, depth - 1, False) for row in listed) if depth else 0


def _tree(rows: list[Row], depth: int, is_top: bool = True) -> str:
    items = []
    for row in _listed(rows, is_top):
        count = sum(1 for inner in row.walk() if inner.number) - 1 if row.inside else 0
        link = f'<a href="#{escaped(row.id)}">{escaped(_title(row))}' + (f" <span>{count:,}</span></a>" if count else "</a>")
        items.append(f"<li>{link}{_tree(row.inside, depth - 1, False) if depth > 1 else ''}</li>")
    return element("ul", "".join(items)) if items else ""


def _title(row: Row) -> str:
    """The call that a statement is, or its name: blocks.0.attn, S."""
    step = row.step
    said = row.called or (step.source.rstrip(":") if step.kind == "loop" else "") or text_name(step.name) or step.source
    said = f"turn {said}" if step.kind == "turn" else said
    said = " ".join(said.split())
    return said if len(said) <= _LONG else said[: _LONG - 1] + "…"
