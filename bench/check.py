"""How many errors `workings check` finds: correct documents are damaged in one place at a time, and checked again.

    make bench-check                        the documents of bench/documents
    python bench/check.py FILE … --times 200 [--seed 0]

An error is a digit changed, two digits swapped, a sign flipped, a row dropped or a transpose dropped, in a formula that
takes part in a claim; a change that leaves the value as it is counts for none. It is found if the damaged document has a
finding (at `note` or above) that the correct one has not. Then come false alarms in the correct documents, the share of
claims that is decided, and the speed.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from workings.check.document.document import Document
from workings.check.document.finding import LEVELS, Finding
from workings.check.document.options import Options
from workings.check.extract import read, read_text
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Matrix, Node, Number, Script, Sum
from workings.check.run.checker import check_document, examine
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.names import is_closed
from workings.check.value.rounding import one_shape
from workings.check.value.scope import Scope, is_transpose
from workings.check.value.value import Mismatch, Undecided, ball_precision, entries

HERE = Path(__file__).parent / "documents"
CORRECT_TEXTS = [path.read_text() for path in sorted(HERE.glob("*.*")) if path.suffix in (".md", ".tex", ".txt")]
LEVEL = "note"


def claimed(document: Document) -> list[tuple[Node, Node, list[int], str]]:
    """Every part of a side in a decided claim: the part, the side, the part's positions, the formula's text."""
    found = []
    for line, index in examine(document, Options()).decided:
        formula, side = line.formulas[index], line.sides[index]
        for node in side.walk():
            found.append((node, side, [formula.position(i) for i in range(*node.span)], formula.text))
    return found


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


def damages(document: Document, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Damaged texts, one error each, with the kind of the error."""
    text = document.text
    parts = claimed(document)
    rng.shuffle(parts)
    for node, side, places, source in parts:
        if not places or places != list(range(places[0], places[0] + len(places))):
            continue  # the part comes out of a macro
        start, end = places[0], places[-1] + 1
        written = text[start:end]
        for kind, changed in damaged(node, written, rng):
            if changed != written and not is_harmless(node, side, source, changed):
                yield kind, text[:start] + changed + text[end:]


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


def main() -> None:
    """Damage, check, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=sorted(p for p in HERE.glob("*.*") if p.suffix != ".py"))
    parser.add_argument("--times", type=int, default=60, help="damages of each kind and document")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fuzz", type=float, default=20, help="seconds of damaged texts; an hour is 3600")
    parser.add_argument("--missed", action="store_true", help="print the damages that are not found")
    options = parser.parse_args()
    documents = [read(path) for path in options.files]
    found: dict[str, list[int]] = {}
    print("document                          formulas  unread  claims  decided  error  likely  note")
    for document in documents:
        report = check_document(document)
        levels = [sum(finding.level == level for finding in report.findings) for level in LEVELS[:3]]
        counts = report.counts
        print(
            f"{Path(document.name).name:32}  {counts.formulas:8}  {counts.unread:6}  {counts.claims:6}  {counts.decided:7}"
            f"  {levels[0]:5}  {levels[1]:6}  {levels[2]:4}"
        )
        before = marks(report.findings)
        tried: dict[str, int] = {}
        rng = random.Random(options.seed)
        for kind, text in damages(document, rng):
            if tried.get(kind, 0) >= options.times:
                continue
            tried[kind] = tried.get(kind, 0) + 1
            kind_of = "markdown" if document.kind == "notebook" else document.kind
            after = marks(check_document(read_text(text, document.name, kind_of)).findings)
            hit = bool(after - before)
            found.setdefault(kind, []).append(hit)
            if not hit and options.missed:
                first = next((i for i, (a, b) in enumerate(zip(text, document.text, strict=False)) if a != b), 0)
                print(f"  missed {kind}: {document.place(first)} …{text[max(0, first - 50) : first + 50]!r}…")
    print("\nerrors found (at level note or above)")
    for kind, hits in sorted(found.items()):
        print(f"  {kind:18} {sum(hits):5} of {len(hits):5}   {sum(hits) / len(hits):6.1%}")
    everything = [hit for hits in found.values() for hit in hits]
    if everything:
        print(f"  {'all':18} {sum(everything):5} of {len(everything):5}   {sum(everything) / len(everything):6.1%}")
    times = parse_times(documents)
    print(f"\nparse: median {statistics.median(times) * 1e3:.3f} ms per formula, {len(times)} formulas")
    lines = sum(
        formula.text.count("\n") + formula.text.count("\\\\") + 1 for document in documents for formula in document.formulas
    )
    start = time.process_time()
    for document in documents:
        check_document(read_text(document.text, document.name, "markdown" if document.kind == "notebook" else document.kind))
    spent = time.process_time() - start
    count, longest = fuzz(documents, options.fuzz, options.seed)
    print(f"fuzz: {count} damaged texts in {options.fuzz:g} s without an error, the longest took {longest:.2f} s")
    print(f"check: {lines} lines of mathematics in {spent:.2f} s of CPU, {lines / spent:,.0f} lines per second")


if __name__ == "__main__":
    main()
