"""How many errors `workings check` finds: correct documents are damaged in one place at a time, and checked again.

    make bench-check                        the documents of bench/documents
    python bench/check.py FILE … --times 200 [--seed 0]

An error is a digit changed, two digits swapped, a sign flipped, a row dropped or a transpose dropped, in an equation that
ends in numbers, whether or not the checker had decided it; a change that leaves the value as it is counts for none. It is
found if the damaged document has a finding (at `note` or above) that the document has not. First stand the judged findings
of `bench/judged/` (see tools/calibrate.py), blind ones apart; then what is found and decided in each document; then speed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.calibrate import rows
from workings.check.argument.lines import EQUAL
from workings.check.document.document import Document
from workings.check.document.finding import LEVELS, Finding
from workings.check.document.options import Options
from workings.check.extract import read, read_text
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Matrix, Node, Number, Script, Sum
from workings.check.run.checker import check_document, examine
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.names import is_closed, is_name
from workings.check.value.rounding import one_shape
from workings.check.value.scope import Scope, is_transpose
from workings.check.value.value import Mismatch, Undecided, ball_precision, entries

HERE = Path(__file__).parent / "documents"
CORRECT_TEXTS = [path.read_text() for path in sorted(HERE.glob("*.*")) if path.suffix in (".md", ".tex", ".txt")]
LEVEL = "note"


@dataclass(frozen=True)
class Part:
    """A part of a side of an equation: the part, its side, its positions in the document, the formula's text."""

    node: Node
    side: Node
    places: list[int]
    text: str
    closed: bool
    """Whether the equation is between numbers alone."""


def calculations(document: Document) -> Iterator[Part]:
    """Every part of the sides of equations that end in numbers, whatever the checker makes of them."""
    for line in examine(document, Options()).lines:
        for index, relation in enumerate(line.relations):
            if relation not in EQUAL or not is_closed(line.sides[index + 1]):
                continue
            closed = is_closed(line.sides[index])
            if is_name(line.sides[index]) and not closed:
                continue  # a name that is given a value
            for k in (index, index + 1) if closed else (index + 1,):
                formula, side = line.formulas[k], line.sides[k]
                for node in side.walk():
                    yield Part(node, side, [formula.position(i) for i in range(*node.span)], formula.text, closed)


def is_harmless(node: Node, side: Node, text: str, changed: str) -> bool:
    """Whether a change leaves the value of a closed side as it is: that is no error."""
    if not is_closed(side):
        return False
    first, last = (span - side.span[0] for span in node.span)
    written = text[slice(*side.span)]
    try:
        with ball_precision():
            context = EvaluationContext(Scope())
            before, after = (evaluate(parse(t), context) for t in (written, written[:first] + changed + written[last:]))
            return one_shape(before, after) is not None and all(
                bool(abs(x - y) < 1e-12) for x, y in zip(entries(before), entries(after), strict=True)
            )
    except (ParseError, Undecided, Mismatch):
        return False


def damages(document: Document, rng: random.Random) -> Iterator[tuple[str, bool, str]]:
    """Damaged texts, one error each, with the kind of the error and whether it stands between numbers alone."""
    text = document.text
    parts = list(calculations(document))
    rng.shuffle(parts)
    for part in parts:
        places = part.places
        if not places or places != list(range(places[0], places[0] + len(places))):
            continue  # the part comes out of a macro
        start, end = places[0], places[-1] + 1
        written = text[start:end]
        for kind, changed in damaged(part.node, written, rng):
            if changed != written and not is_harmless(part.node, part.side, part.text, changed):
                yield kind, part.closed, text[:start] + changed + text[end:]


def damaged(node: Node, written: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A part of a formula with an error in it, in every way that applies."""
    digits = [i for i, c in enumerate(written) if c.isdigit()]
    match node:
        case Number() if digits:
            yield "first digit", put(written, digits[0], other_digit(written[digits[0]], rng))
            if len(digits) > 1:
                yield "last digit", put(written, digits[-1], other_digit(written[digits[-1]], rng))
                i, j = rng.sample(digits, 2)
                yield "digits swapped", put(put(written, i, written[j]), j, written[i])
        case Sum(terms=terms) if len(terms) > 1:
            signs = [m.start() for m in re.finditer(r"[+-]", written)]
            if signs and "{" not in written:
                i = rng.choice(signs)
                yield "sign flipped", put(written, i, "-" if written[i] == "+" else "+")
        case Matrix(rows=rows) if len(rows) > 2:
            cut = written.find("\\\\")
            begin = re.match(r"\\begin\{[^}]*\}(?:\{[^}]*\})?", written)
            if begin and cut > 0:
                yield "row dropped", written[: begin.end()] + written[cut + 2 :]
        case Script(above=above) if above is not None and is_transpose(above):
            shorter = re.sub(r"\^\s*(?:\{\s*(?:\\top|T|\\mathsf\{T\})\s*\}|\\top|T)\s*$", "", written)
            yield "transpose dropped", shorter + " "


def put(text: str, place: int, character: str) -> str:
    """The text with one character changed."""
    return text[:place] + character + text[place + 1 :]


def other_digit(digit: str, rng: random.Random) -> str:
    """Another digit."""
    return rng.choice([d for d in "123456789" if d != digit])


def marks(findings: list[Finding]) -> set[tuple[str, str]]:
    """What tells one finding from another, wherever it stands."""
    wanted = LEVELS[: LEVELS.index(LEVEL) + 1]
    return {(finding.kind, finding.says) for finding in findings if finding.level in wanted}


def parse_times(documents: list[Document]) -> list[float]:
    """Seconds for each formula."""
    times = []
    for document in documents:
        for formula in document.formulas:
            start = time.perf_counter()
            with contextlib.suppress(ParseError):
                parse(formula.text)
            times.append(time.perf_counter() - start)
    return times


def fuzz(documents: list[Document], seconds: float, seed: int) -> tuple[int, float]:
    """Check damaged texts for a while: how many, and the longest time of one. Anything that is raised is a defect."""
    rng = random.Random(seed)
    pieces = [piece for document in documents for piece in PIECE.findall(document.text)]
    begun, count, longest = time.perf_counter(), 0, 0.0
    while time.perf_counter() - begun < seconds:
        if rng.random() < 0.5:
            text = "$$" + " ".join(rng.choice(pieces) for _ in range(rng.randrange(1, 60))) + "$$"
        else:
            text = scrambled(rng.choice(documents).text, pieces, rng)
        start = time.perf_counter()
        check_document(read_text(text, "fuzz.md", rng.choice(("markdown", "latex", "text"))))
        longest = max(longest, time.perf_counter() - start)
        count += 1
    return count, longest


PIECE = re.compile(r"\\[A-Za-z]+|\$+|[{}]|[-+*/=^_&|()\[\]]|\d+\.?\d*|[A-Za-z]+|\\\\|\n")


def scrambled(text: str, pieces: list[str], rng: random.Random) -> str:
    """A part of a text with a few characters lost, put in, or replaced by a piece from elsewhere."""
    start = rng.randrange(len(text))
    characters = list(text[start : start + rng.randrange(50, 1500)])
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(characters) + 1)
        characters[place : place + rng.randrange(2)] = rng.choice(
            [*pieces[:50], rng.choice(pieces), "\\", "{", "}", "$", "&", "\0"]
        )
    return "".join(characters)


def inject(documents: list[Document], options: argparse.Namespace) -> None:
    """Damage the documents in one place at a time, check them again, and print what is found."""
    found: dict[tuple[bool, str], list[bool]] = {}
    for document in documents:
        before = marks(check_document(document).findings)
        tried: dict[tuple[bool, str], int] = {}
        for kind, closed, text in damages(document, random.Random(options.seed)):
            if tried.get((closed, kind), 0) >= options.times:
                continue
            tried[closed, kind] = tried.get((closed, kind), 0) + 1
            kind_of = "markdown" if document.kind == "notebook" else document.kind
            after = marks(check_document(read_text(text, document.name, kind_of)).findings)
            hit = bool(after - before)
            found.setdefault((closed, kind), []).append(hit)
            if not hit and options.missed and closed:
                first = next((i for i, (a, b) in enumerate(zip(text, document.text, strict=False)) if a != b), 0)
                print(f"  missed {kind}: {document.place(first)} …{text[max(0, first - 50) : first + 50]!r}…")
    for closed, title in ((True, "between numbers alone"), (False, "with letters on the left")):
        print(f"\nerrors found (at level note or above), {title}")
        hits = {kind: each for (is_closed_one, kind), each in sorted(found.items()) if is_closed_one == closed}
        hits["all"] = [hit for each in hits.values() for hit in each]
        for kind, each in hits.items():
            if each:
                print(f"  {kind:18} {sum(each):5} of {len(each):5}   {sum(each) / len(each):6.1%}")


def judged_figures() -> None:
    """What was judged: real findings by level, blind ones apart, with the 95 % interval (Wilson)."""
    every = list(rows())
    if not every:
        return
    print("judged findings: real of all, share, 95 % interval")
    for design, blind in ((1, True), (2, True), (2, False)):
        title = f"  design {design}, {'blind' if blind else 'on documents seen before'}"
        chosen = [row for row in every if row.design == design and row.is_blind == blind]
        for level in LEVELS[:2]:
            real = [row.is_real for row in chosen if row.level == level]
            if real:
                low, high = wilson(sum(real), len(real))
                share = f"{sum(real) / len(real):6.1%}  {low:.0%} … {high:.0%}"
                print(f"{title:42} {level:7} {sum(real):4} of {len(real):4}  {share}")


def wilson(successes: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The interval of a share.

    >>> [round(end, 2) for end in wilson(9, 10)]
    [0.6, 0.98]
    """
    share = successes / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def main() -> None:
    """Count, damage, check, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=sorted(p for p in HERE.glob("*.*") if p.suffix != ".py"))
    parser.add_argument("--times", type=int, default=60, help="damages of each kind and document")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fuzz", type=float, default=20, help="seconds of damaged texts; an hour is 3600")
    parser.add_argument("--missed", action="store_true", help="print the damages between numbers that are not found")
    options = parser.parse_args()
    judged_figures()
    start = time.process_time()
    documents = [read(path) for path in options.files]
    reports = [check_document(document) for document in documents]
    spent = time.process_time() - start
    print("\ndocument                          formulas  unread  claims  decided  error  likely  note")
    for document, report in zip(documents, reports, strict=True):
        levels = [sum(finding.level == level for finding in report.findings) for level in LEVELS[:3]]
        counts = report.counts
        print(
            f"{Path(document.name).name:32}  {counts.formulas:8}  {counts.unread:6}  {counts.claims:6}  {counts.decided:7}"
            f"  {levels[0]:5}  {levels[1]:6}  {levels[2]:4}"
        )
    if options.times:
        inject(documents, options)
    times = parse_times(documents)
    print(f"\nparse: median {statistics.median(times) * 1e3:.3f} ms per formula, {len(times)} formulas")
    if options.fuzz:
        count, longest = fuzz(documents, options.fuzz, options.seed)
        print(f"fuzz: {count} damaged texts in {options.fuzz:g} s without an error, the longest took {longest:.2f} s")
    lines = sum(document.text.count("\n") + 1 for document in documents)
    print(f"check: {lines} lines of files in {spent:.2f} s of CPU, {lines / spent:,.0f} lines per second")


if __name__ == "__main__":
    main()
