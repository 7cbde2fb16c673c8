"""The figures of foreign code as a table, and what each piece lacks as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

Figures = dict[str, dict[str, Any]]
_WORST = 8
_KINDS = ("model", "function")


def table(figures: Figures) -> str:
    """For models, functions and both; then the worst pieces, what gradients lack most often, and what did not run."""
    ran = {name: found for name, found in figures.items() if "failed" not in found}
    rows = [_HEAD, *(_row(f"{kind}s", [f for f in ran.values() if f["kind"] == kind]) for kind in _KINDS)]
    lines = [*rows, _row("all", [*ran.values()]), "", *_worst(ran), "", *_lacking(ran, _WORST)]
    failed = [
        f"{name}: {found['failed'].strip().splitlines()[-1][:140]}" for name, found in figures.items() if "failed" in found
    ]
    return "\n".join([*lines, *(["", f"did not run: {len(failed)}", *failed] if failed else [])])


_COLUMNS = "pieces statements shown unprinted missing values wrong false gradients wrong rules page/kB".split()
_HEAD = f"{'':10s}" + "".join(f"{name:>11s}" for name in _COLUMNS)


def _row(name: str, found: list[dict[str, Any]]) -> str:
    def total(key: str) -> int:
        return sum(f[key] if isinstance(f[key], int) else len(f[key]) for f in found)

    lines = total("lines")
    share = f"{100 * total('checked') / lines:.1f}%" if lines else "-"
    pages = sorted(f["page_bytes"] / 1000 for f in found)
    page = f"{pages[len(pages) // 2]:.0f}-{pages[-1]:.0f}" if pages else "-"
    wrong = total("wrong") + sum(not f["result"] for f in found)
    cells = [len(found), total("expected"), total("shown"), total("unprinted"), total("missing"), total("values"), wrong]
    cells += [total("false"), total("gradients"), total("gradients_wrong"), share, page]
    return f"{name:10s}" + "".join(f"{cell!s:>11s}" for cell in cells)


def _worst(ran: Figures) -> Iterator[str]:
    """By each measure, the pieces that stand worst."""
    measures = {
        "statements missing": lambda f: len(f["missing"]),
        "gradient lines without a checked rule": lambda f: f["lines"] - f["checked"],
        "false formulas": lambda f: len(f["false"]) + len(f["disagree"]),
        "page in kB": lambda f: f["page_bytes"] // 1000,
    }
    for name, measure in measures.items():
        order = sorted(ran, key=lambda title: -measure(ran[title]))[:_WORST]
        yield f"{name}: " + (", ".join(f"{title} {measure(ran[title])}" for title in order if measure(ran[title])) or "none")


def _lacking(ran: Figures, most: int) -> Iterator[str]:
    """Why gradient lines have no checked rule, most frequent first."""
    reasons = Counter[str]()
    for found in ran.values():
        reasons.update(found["without"])
    yield "gradient lines without a checked rule, by reason:"
    yield from (f"{count:6d}  {reason}" for reason, count in reasons.most_common(most))


def report(figures: Figures) -> str:
    """What each piece lacks."""
    ran = {name: found for name, found in figures.items() if "failed" not in found}
    parts = [
        "# Foreign code, shown",
        "",
        "```text",
        table(figures),
        "```",
        "",
        "## Gradient lines without a checked rule",
        "",
    ]
    parts += ["```text", *_lacking(ran, 60), "```", "", "## Pieces", ""]
    for name, found in figures.items():
        parts += [f"### {name}", "", *_piece(found), ""]
    return "\n".join(parts)


def _piece(found: dict[str, Any]) -> Iterator[str]:
    if "failed" in found:
        yield from ("```text", found["failed"].strip(), "```")
        return
    yield (
        "{recorded} of {expected} statements recorded, {shown} printed; {values} values, {gradients} gradients compared; "
        "{checked} of {lines} gradient lines with a checked rule; page {page_bytes} bytes, {text_lines} lines of text; "
        "plain {plain_seconds:.2f} s, shown {show_seconds:.1f} s, printed {print_seconds:.1f} s. {agreement}"
    ).format(**found)
    lists = {
        "missing": found["missing"],
        "recorded, not printed": found["unprinted"],
        "wrong values": found["wrong"] + ([] if found["result"] else ["the result"]),
        "false formulas": found["false"],
        "rules that disagree": found["disagree"],
        "wrong gradients": found["gradients_wrong"],
        "gradient lines without a rule": [f"{count} × {why}" for why, count in Counter(found["without"]).most_common()],
        "said": [*found["notes"], *found["step_notes"]],
        "gradient refused": [found["backward_refused"]] if found["backward_refused"] else [],
        "stopped": [found["stopped"]] if "stopped" in found else [],
    }
    for title, items in lists.items():
        if items:
            yield ""
            yield f"{title}:"
            yield from (f"- `{' '.join(str(item).split())}`" for item in items[:40])
