"""A trace as one self-contained page: MathML with its font, pictures as data, folding; no network, no frameworks.

Each step is a row (`html_step.py`); its gradients stand beside it, what happened inside it is folded below it. The page
forbids itself every request and every script but its own, and all text of the trace passes through `markup.escaped`.
"""

from __future__ import annotations

from dataclasses import dataclass

from workings.page import document as pages
from workings.show.options import Options
from workings.show.outline.outline import agreement, letters_of
from workings.show.outline.rows import Row, Rows, rows_of, top_of
from workings.show.printers.html_contents import contents
from workings.show.printers.html_step import place_of, row_markup
from workings.show.value.html_value import ValueOptions, pictures
from workings.show.write.markup import element, escaped
from workings.trace.record import Trace
from workings.trace.step import Step

_PAGE_CELLS = 80_000
"""Cells of all heatmaps of a page together: many large tensors get coarser pictures."""
_FEWEST_CELLS = 100
"""Cells of a heatmap, however many there are: a matrix of 10 × 10 can still be read."""
_UNFOLDED = 12
"""Heatmaps that are unfolded from the start, when there are no more of them."""
_OPENED = 60
"""Steps of a page that are all unfolded from the start, unless the reader asks for a depth."""
_DEEPEST = 1000


def html(trace: Trace, options: Options | None = None, title: str = "") -> str:
    """The page.

    >>> from workings.trace.step import Step
    >>> page = html(Trace(Step("root", children=[Step("assign", "<script>", result=2)])), Options())
    >>> "<mtext>&lt;script&gt;</mtext>" in page, "http:" in page
    (True, False)
    """
    heading = title or title_of(trace)
    return document(heading, solution(trace, options or Options(), heading))


def document(title: str, body: str) -> str:
    """A page with the style and the script of worked solutions."""
    return pages.document(title, body, _asset("page.css"), _asset("page.js"))


def _asset(name: str) -> str:
    return pages.asset("workings.show", name)


def title_of(trace: Trace) -> str:
    top = top_of(trace.root)
    return trace.root.name or top.name or top.source or "Workings"


def solution(trace: Trace, options: Options, heading: str, alone: bool = True) -> str:
    """The page's one element; contents stand beside it where the page is its own."""
    page = _Page.of(trace, options)
    head = element("header", element("h1", escaped(heading)) + _findings(trace, page))
    listed = contents(page.rows) if alone else ""
    body = _columns(page.rows) + page.list(page.rows.top, 0)
    classes = "work listed" if listed else "work"
    return element("main", f'{listed}<div class="solution">{head}{body}</div>', class_=classes)


def _columns(rows: Rows) -> str:
    """What stands in the two columns of a page with gradients."""
    if not any(row.gradients for row in rows.walk()):
        return ""
    return (
        '<p class="columns" aria-hidden="true"><span>↓ forward: formula, values, result</span> '
        "<span>↑ backward: what each input receives</span></p>"
    )


@dataclass(frozen=True)
class _Page:
    """What the rows of a page share."""

    rows: Rows
    place: ValueOptions
    first_bad: Step | None
    error: BaseException | None
    open_to: int
    taken: frozenset[str]

    @staticmethod
    def of(trace: Trace, options: Options) -> _Page:
        rows = rows_of(trace, options)
        steps = [row.step for row in rows.walk()]
        large = sum(pictures(step.result, options) for step in steps)
        cells = min(8192, max(_FEWEST_CELLS, _PAGE_CELLS // max(1, large)))
        all_open = _DEEPEST if len(steps) <= _OPENED else 1
        return _Page(
            rows,
            ValueOptions(options, cells, large <= _UNFOLDED),
            trace.first_bad,
            trace.error,
            all_open if options.depth is None else options.depth,
            letters_of(trace),
        )

    def list(self, rows: list[Row], level: int, classes: str = "steps") -> str:
        return element("ol", "".join(self.row(row, level) for row in rows), class_=classes) if rows else ""

    def row(self, row: Row, level: int) -> str:
        """A step: a turn of a loop folds under its own line, other steps have what is inside them below."""
        step, line = row.step, row_markup(row, self.place, self.taken, self.error)
        body = element("div", line, class_="forward") + self.list(row.gradients, level + 1, "gradients")
        inside = self.list(row.inside, level + 1)
        if step.kind == "turn" and inside:
            body = f'<details class="inside"{self.opened(row, level)}><summary>{line}</summary>{inside}</details>'
        elif inside:
            body += f'<details class="inside"{self.opened(row, level)}><summary>{_summary(row)}</summary>{inside}</details>'
        if row.deeper:
            body += element("p", f"{row.deeper:,} steps nested deeper are not shown.", class_="note")
        classes = f"step {step.kind}" + " two" * bool(row.gradients) + " bad" * (step is self.first_bad)
        return element("li", body, class_=classes, id=row.id)

    def opened(self, row: Row, level: int) -> str:
        """Open to the reader's depth, and always down to what went wrong."""
        inner = (found.step for inside in row.inside for found in inside.walk())
        wrong = any(step.kind == "error" or step is self.first_bad for step in inner)
        return " open" if level + 1 < self.open_to or wrong else ""


def _summary(row: Row) -> str:
    """blocks.0.attn 9 steps"""
    word = "turn" if all(inner.step.kind in ("turn", "folded") for inner in row.inside) else "step"
    count = f"{len(row.inside):,} {word}{'s' if len(row.inside) > 1 else ''}"
    return f"{element('code', escaped(row.called))} {count}" if row.called else f"{count} inside"


# ------------------------------------------------------------------------------------------------- the top


def _findings(trace: Trace, page: _Page) -> str:
    """What to know before reading: whether it matches the unmodified run, the first NaN, the error, the notes."""
    kind = "agreement" if trace.matches else "note"
    said = agreement(trace, page.place.options)
    parts = [element("p", escaped(said), class_=kind)] if said else []
    if trace.error is not None:
        failed = next((step for step in trace.root.walk() if step.kind == "error"), None)
        said = f"{getattr(trace.error, 'kind', type(trace.error).__name__)}: {trace.error}"
        parts.append(element("p", f"Stopped by an error{_link(failed, page)}: {escaped(said)}", class_="failure"))
    if trace.first_bad is not None:
        what = "infinity" if trace.first_nan is not None else "NaN or infinity"
        parts.append(element("p", f"First {what}{_link(trace.first_bad, page)}", class_="failure"))
    if trace.first_nan is not None:
        parts.append(element("p", f"First NaN{_link(trace.first_nan, page)}", class_="failure"))
    parts += [element("p", escaped(note), class_="note") for note in [trace.root.note, *trace.notes] if note]
    if page.rows.helpers:
        calls = ", ".join(f"{element('code', escaped(name))} {n:,}×" for name, n in page.rows.helpers.items())
        parts.append(element("p", f"Called often and computing nothing, so not opened: {calls}", class_="note helpers"))
    return "".join(parts)


def _link(step: Step | None, page: _Page) -> str:
    if step is None:
        return ""
    row = page.rows.by_step.get(id(step))
    said = escaped(step.name or step.source or step.kind)
    where = f" ({place_of(step)})" if step.where else ""
    return f' in <a href="#{escaped(row.id)}">{said}</a>{where}' if row is not None else f" in {said}{where}"
