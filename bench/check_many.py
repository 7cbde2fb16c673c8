"""Ten thousand short formulas in one document: `make bench-check_many`; another number: `python bench/check_many.py 2000`.

Prints seconds of the processor, and those per thousand formulas, for the command, the checker and each printer, at
a quarter of the number and at the number: a cost that grows with the square of it shows as four times as much per thousand.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

from command import command_seconds

from workings.check.report.html import html
from workings.check.report.json_form import json_form
from workings.check.report.report import Report
from workings.check.report.sarif import sarif
from workings.check.report.text import Style, text
from workings.check.run.checker import check

WRONG = 50
"""One formula in so many is wrong."""
PER_SECTION = 100
COLUMN = r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}"


def document(formulas: int, seed: int = 0) -> str:
    """A Markdown text of short calculations: sums, products, fractions, powers, a letter and its use, a small matrix."""
    draw = random.Random(seed)
    lines = []
    for at in range(formulas):
        if at % PER_SECTION == 0:
            lines.append(f"\n## Exercise {at // PER_SECTION + 1}\n")
        off = int(draw.randrange(WRONG) == 0)
        a, b = draw.randint(2, 99), draw.randint(2, 99)
        lines.append(
            [
                f"Adding gives ${a} + {b} = {a + b + off}$.",
                f"The product is ${a} \\cdot {b} = {a * b + off}$.",
                f"Here $\\frac{{{a * b}}}{{{b}}} = {a + off}$.",
                f"Its square is ${a}^2 = {a * a + off}$.",
                f"With $x = {a}$ we get $2x + {b} = {2 * a + b + off}$.",
                f"So $\\begin{{bmatrix}} {a} & {b} \\end{{bmatrix}} {COLUMN} = {a + 2 * b + off}$.",
            ][at % 6]
        )
    return "\n".join(lines) + "\n"


def seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def figures(formulas: int) -> dict[str, float]:
    """Seconds by what was done."""
    source = document(formulas)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.md"
        path.write_text(source, encoding="utf-8")
        found = {"whole command": command_seconds("check", str(path), "--no-cache", "--quiet")}
    results: list[Report] = []
    found["checker"] = seconds(lambda: results.append(check(source)))
    printers = {"text": lambda: text(results, Style(verbose=True, undecided=True)), "HTML": lambda: html(results, "likely")}
    printers |= {"JSON": lambda: json_form(results, "likely"), "SARIF": lambda: sarif(results, "likely")}
    return found | {name: seconds(work) for name, work in printers.items()}


def main() -> None:
    formulas = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    few, many = figures(formulas // 4), figures(formulas)
    print(f"{'':16s}{formulas:>12,} formulas{'per thousand':>16s}{f'with {formulas // 4:,}':>16s}")
    for name, took in many.items():
        print(f"{name:16s}{took:19.2f} s{took / formulas * 1000:14.3f} s{few[name] / (formulas // 4) * 1000:14.3f} s")


if __name__ == "__main__":
    main()
