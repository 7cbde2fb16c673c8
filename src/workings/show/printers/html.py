"""A trace as one self-contained page: MathML, inline SVG, folding; no network, no fonts, no frameworks.

Each step is a row: name = formula = the values put in = result, then its shape, its source line and its place; what happened
inside it is folded below it. The page forbids itself every request and every script but its own (its
Content-Security-Policy), and all text of the trace passes through `markup.escaped`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from workings.checksum import source_hash
from workings.show.formula import mathml
from workings.show.formula.mathml import operator, relation
from workings.show.formula.notation import mathml_formula
from workings.show.formula.shown import as_shown
from workings.show.formula.sizes import rewrite
from workings.show.options import Options
from workings.show.outline import turns
from workings.show.outline.assignment import entry_assignment
from workings.show.outline.equation import entries_of, entry_of
from workings.show.outline.outline import agreement, aliases, letters_of, note_of
from workings.show.outline.plumbing import inside_of, is_aside, is_plumbing
from workings.show.printers.text import truth
from workings.show.value.html_value import ValueOptions, facts, pictures, term, value_markup
from workings.show.value.value import is_opaque, is_scalar
from workings.show.write.brief import short_repr
from workings.show.write.markup import element, escaped
from workings.trace.code.look_up import MISSING
from workings.trace.formula.tree import Call, Code, Formula, Leaf, Number, leaves
from workings.trace.record import Trace
from workings.trace.step import Step

_PAGE_CELLS = 80_000
"""Cells of all heatmaps of a page together: many large tensors get coarser pictures."""
_UNFOLDED = 12
"""Heatmaps that are unfolded from the start, when there are no more of them."""
_SMALL = {"short": 16, "long": 64}
"""Entries of an operand that are put into the formula."""
_OPENED = 60
"""Steps of a page that are all unfolded from the start, unless the reader asks for a depth."""
_NESTED = 60
"""Levels of steps inside steps; browsers draw no more than about 500 nested elements."""

_HEADED = frozenset("call module loop turn branch expansion folded error".split())
"""Kinds whose name is a heading in the author's words, not a letter of a formula."""
_BADGES = {"assign": "", "expression": "", "operation": "", "input": "input", "root": ""}


def html(trace: Trace, options: Options | None = None, title: str = "") -> str:
    """The page.

    >>> from workings.trace.step import Step
    >>> page = html(Trace(Step("root", children=[Step("assign", "<script>", result=2)])), Options())
    >>> "<mtext>&lt;script&gt;</mtext>" in page, "http:" in page
    (True, False)
    """
    top = _top(trace.root)
    heading = title or trace.root.name or top.name or top.source or "Workings"
    return document(heading, fragment(trace, options or Options(), heading))


def fragment(trace: Trace, options: Options, heading: str = "Workings") -> str:
    """The page's one element, `main`, without its style and script."""
    page = _Page.of(trace, options)
    head = element("header", element("h1", escaped(heading)) + _findings(trace, page) + _buttons(trace))
    return element("main", head + _list(inside_of(_top(trace.root)), page, 0), class_="workings")


def _top(root: Step) -> Step:
    """What the page is about: of a capture of one module, that module."""
    while len(root.children) == 1 and root.children[0].kind in ("call", "module") and root.children[0].children:
        root = root.children[0]
    return root


@dataclass(frozen=True)
class _Page:
    """What the rows of a page share."""

    place: ValueOptions
    options: Options
    numbers: dict[int, int] = field(default_factory=dict)
    first_bad: Step | None = None
    error: BaseException | None = None
    open_to: int = 0
    taken: frozenset[str] = frozenset()

    @staticmethod
    def of(trace: Trace, options: Options) -> _Page:
        large = sum(pictures(step.result, options) for step in trace.root.walk())
        cells = min(4096, max(64, _PAGE_CELLS // max(1, large)))
        numbers = {id(step): i for i, step in enumerate(trace.root.walk())}
        all_open = _NESTED if len(numbers) <= _OPENED else 1
        open_to = all_open if options.depth is None else options.depth
        return _Page(
            ValueOptions(options, cells, large <= _UNFOLDED),
            options,
            numbers,
            trace.first_bad,
            trace.error,
            open_to,
            letters_of(trace),
        )

    def anchor(self, step: Step) -> str:
        return f"step-{self.numbers.get(id(step), 0)}"


def document(title: str, body: str) -> str:
    """A page that needs nothing else."""
    style, script = _asset("page.css"), _asset("page.js")
    allowed = f"style-src 'unsafe-inline'; script-src {source_hash(script)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)}</title><style>{style}</style>"
    )
    page = f'<head>{head}</head><body class="workings-page">{body}<script>{script}</script></body>'
    return f'<!doctype html>\n<html lang="en">{page}</html>\n'


def _asset(name: str) -> str:
    return (files("workings.show") / "assets" / name).read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------- the top


def _findings(trace: Trace, page: _Page) -> str:
    """What to know before reading: whether it matches the unmodified run, the first NaN, the error, the notes."""
    kind = "agreement" if trace.matches else "note"
    said = agreement(trace, page.options)
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
    return "".join(parts)


def _link(step: Step | None, page: _Page) -> str:
    if step is None:
        return ""
    said = step.name or step.source or step.kind
    where = f" ({_where(step)})" if step.where else ""
    return f' in <a href="#{page.anchor(step)}">{escaped(said)}</a>{where}'


def _buttons(trace: Trace) -> str:
    if not any(child.kind != "gradient" for step in _top(trace.root).children for child in step.children):
        return ""
    unfold = '<button type="button" data-open="1">Unfold all</button>'
    return f'<p class="tools">{unfold} <button type="button">Fold all</button></p>'


# ------------------------------------------------------------------------------------------------- the rows


def _list(steps: list[Step], page: _Page, level: int, classes: str = "steps") -> str:
    rows = [_row(step, page, level) for step in steps if _is_wanted(step, page.options) and not is_plumbing(step)]
    return element("ol", "".join(rows), class_=classes) if rows else ""


def _is_wanted(step: Step, options: Options) -> bool:
    """By name: `hide` leaves a step out with all inside it, `only` keeps the named ones and what leads to them."""
    names = aliases(step)
    if names & options.hide:
        return False
    if not options.only or names & options.only or step.kind == "error":
        return True
    return any(_is_wanted(child, options) for child in step.children)


def _row(step: Step, page: _Page, level: int) -> str:
    classes = f"step {step.kind}" + (" bad" if step is page.first_bad else "")
    gradients = [child for child in step.children if child.kind == "gradient"]
    inside = [child for child in inside_of(step) if child.kind != "gradient" and not is_aside(child)]
    body = _line(step, page) + _below(step, page)
    if step.kind == "turn" and inside and level < _NESTED:
        body = _turn(step, body, page, level)
    elif level < _NESTED:
        body += _list(gradients, page, level + 1, "steps gradients") + _fold(inside, page, level)
    elif step.children:
        body += element("p", f"{sum(1 for _ in step.walk()) - 1:,} steps nested deeper are not shown.", class_="note")
    return element("li", body, class_=classes, id=page.anchor(step))


def _turn(step: Step, line: str, page: _Page, level: int) -> str:
    """A turn of a loop folds under its own line."""
    inside = _list([*turns.tall(step, page.options), *step.children], page, level + 1)
    return (
        f'<details class="inside"{_open_attribute(page, level, step.children)}><summary>{line}</summary>{inside}</details>'
    )


def _open_attribute(page: _Page, level: int, steps: list[Step]) -> str:
    """Open to the reader's depth, and always down to what went wrong."""
    wrong = any(inner.kind == "error" or inner is page.first_bad for step in steps for inner in step.walk())
    return " open" if level + 1 < page.open_to or wrong else ""


def _fold(steps: list[Step], page: _Page, level: int) -> str:
    """What happened inside a step; of a statement that is one call, the inside of the call."""
    of = ""
    while len(steps) == 1 and steps[0].kind in ("call", "module") and steps[0].children and not _remarkable(steps[0], page):
        of, steps = f" {steps[0].name}", inside_of(steps[0])
    inside = _list(steps, page, level + 1)
    if not inside:
        return ""
    word = "turn" if all(step.kind in ("turn", "folded") for step in steps) else "step"
    count = f"{len(steps)} {word}{'s' if len(steps) > 1 else ''}"
    folded = _open_attribute(page, level, steps)
    return f'<details class="inside"{folded}><summary>{count} inside{escaped(of)}</summary>{inside}</details>'


def _remarkable(step: Step, page: _Page) -> bool:
    """Whether a call needs a row of its own."""
    return bool(step.note) or step is page.first_bad or any(child.kind == "gradient" for child in step.children)


def _line(step: Step, page: _Page) -> str:
    badge = _BADGES.get(step.kind, step.kind)
    parts = [element("span", badge, class_="badge")] if badge else []
    if step.kind in _HEADED:
        heading = _heading(step, page.options)
        parts.append(element("code", escaped(heading), class_="name") if heading else "")
    parts += _equation(step, page)
    if step.kind == "branch" and step.result is not None:
        parts.append(element("code", escaped(f": {truth(step.result)}"), class_="name"))
    return element("div", "".join(parts), class_="line")


def _heading(step: Step, options: Options) -> str:
    """A loop by its header, a turn by its number and what it is about, anything else by its name."""
    if step.kind == "turn" and (about := turns.heading(step, options)):
        return f"{step.name}, {about}"
    return step.source.rstrip(":") or step.name if step.kind == "loop" else step.name


def _equation(step: Step, page: _Page) -> list[str]:
    """name = formula, = the values put in, = result: pieces that wrap on a narrow page."""
    name = [] if step.kind in _HEADED or not step.name else [mathml.name(step.name)]
    parts: list[str] = []
    if step.formula is not None:
        written = _formula(step.formula, step, page.taken)
        parts.append(_piece([*name, operator("="), written] if name else [written]))
        values = _formula_with_values(step, page)
        parts += [_piece([relation("="), values])] if values and values != written else []
    elif name:
        parts.append(_piece(name))
    if _has_result(step) and not _says_itself(step):
        place = entry_assignment(step)
        if place is not None:
            parts += [value_markup(place.entry, page.place, step.name)] if place.entry is not MISSING else []
            parts.append(_piece([relation("⇒"), mathml.name(place.whole)]))
        parts.append(value_markup(step.result, page.place, step.name if place is None else place.whole))
    return parts


def _says_itself(step: Step) -> bool:
    """Whether the value is what stands before it: the letter w of an input w, the call that made an optimizer."""
    if isinstance(step.formula, Call) and step.kind == "assign":
        return is_opaque(step.result)
    written = term(step.result, Options()) if step.kind == "input" else None
    return written is not None and written.string == mathml.name(step.name)


def _piece(markup: list[str]) -> str:
    return element("span", mathml.math(*markup), class_="piece")


def _has_result(step: Step) -> bool:
    """Whether a value is worth a place: not of a loop, of `print(x)`, of `return Z` where Z stands above."""
    if step.kind in ("error", "loop", "turn", "branch", "folded") or (
        step.kind == "return" and isinstance(step.formula, Leaf)
    ):
        return False
    return step.result is not None or (step.kind in ("assign", "input") and not step.is_stopped)


def _formula(f: Formula, step: Step, taken: frozenset[str]) -> str:
    """The formula in the author's names, where numbers are known to be numbers; nested too deeply, its source."""
    try:
        return mathml_formula(as_shown(f, step.operands, step.source), None, _scalars(step.operands), taken)
    except RecursionError:
        return mathml_formula(Code(step.source))


def _scalars(operands: dict[str, Any]) -> frozenset[str]:
    return frozenset(text for text, value in operands.items() if is_scalar(value))


def _formula_with_values(step: Step, page: _Page) -> str:
    """The formula with small operands in place of their names; nothing where that says no more than the result."""
    f, options = step.formula, page.options
    most = _SMALL.get(options.substitution, 0)
    if f is None or isinstance(f, (Leaf, Number, Code, Call)) or not most:
        return ""
    try:
        f = as_shown(f, step.operands, step.source)
        entries = entries_of(step, f)
        f = rewrite(f, lambda part: Leaf(key) if (key := entry_of(part)) in entries else None)
        given = step.operands | entries
        read = [text for text in leaves(f) if text in given]
        values = {text: term(given[text], options, most) for text in read}
        known = {text: value for text, value in values.items() if value is not None}
        if not known or (options.substitution == "short" and len(known) < len(read)):
            return ""
        return mathml_formula(f, known, _scalars(given), page.taken)
    except RecursionError:
        return ""


def _where(step: Step) -> str:
    return "" if step.where is None else escaped(f"{PurePath(step.where.file).name}:{step.where.line}")


def _below(step: Step, page: _Page) -> str:
    """Shape, source and place; then the remark; for a failed statement its operands."""
    source = "" if step.kind in ("loop", "turn") else step.source
    parts = [facts(step.result), element("code", escaped(source), class_="source") if source else ""]
    parts += [element("span", _where(step), class_="where") if step.where and step.kind != "gradient" else ""]
    below = element("div", " ".join(filter(None, parts)), class_="facts") if any(parts) else ""
    if step.kind == "error":
        return below + _explanation(step, page)
    note = note_of(step, page.options)
    return below + (element("p", escaped(note), class_="note") if note else "")


def _explanation(step: Step, page: _Page) -> str:
    """Why the statement failed, with what it was given."""
    said = step.note or (str(page.error) if page.error else "")
    rows = [
        f'<tr><th scope="row"><code>{escaped(text)}</code></th><td>{_operand(x)}</td></tr>'
        for text, x in step.operands.items()
    ]
    table = element("table", "".join(rows), class_="operands") if rows else ""
    return element("p", escaped(said), class_="explanation") * bool(said) + table


def _operand(x: Any) -> str:
    return facts(x) or element("code", escaped(short_repr(x)))
