"""Is it slower than it was? The benchmarks with the sources of two checkouts in turn, and the ratio old/new of each figure.

    make bench-against OLD=../old/src
    python bench/against.py ../old/src --rounds 9 show exact

In each round a benchmark runs in two fresh processes, one right after the other: with the old sources, and with those of
this checkout; who goes first alternates. Both run the benchmark of this checkout, which uses only what is public on both
sides. A ratio above 1 says that the new sources are faster. First stand the best values of both and their ratio, which other
processes disturb least, then the median of the rounds' own ratios and its quartiles; `slower` where the first ratio and the
upper quartile are below 0.97. Six minutes on a quiet machine; on a busy one take more rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import quantiles

HERE = Path(__file__).resolve().parent
NEW = HERE.parent / "src"
BENCHMARKS = {"show": "show.py", "exact": "exact.py", "nn": "nn.py", "check": "check_speed.py"}
LEAST = 0.97
"""A ratio below it is more than the noise of a quiet machine."""


def figures(benchmark: str, src: Path) -> dict[str, float]:
    """The figures of a benchmark, the lower the better, with the sources in `src`."""
    environment = {**os.environ, "PYTHONPATH": str(src), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, str(HERE / BENCHMARKS[benchmark]), "--json"]
    return json.loads(subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def pairs(benchmark: str, old: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Of every figure its old and its new value in each round."""
    found: dict[str, list[tuple[float, float]]] = {}
    for i in range(rounds):
        sides = {side: figures(benchmark, side) for side in ((old, NEW) if i % 2 == 0 else (NEW, old))}
        for name, value in sides[old].items():
            found.setdefault(name, []).append((value, sides[NEW][name]))
    return found


def print_rows(found: dict[str, list[tuple[float, float]]]) -> None:
    for name, values in found.items():
        ratios = [old / new for old, new in values]
        lower, middle, upper = quantiles(ratios, n=4, method="inclusive")
        before, after = (min(side) for side in zip(*values, strict=True))
        slower = "  slower" if max(upper, before / after) < LEAST else ""
        print(
            f"{name:46s}{before:9.4f}{after:9.4f}{before / after:8.3f}{middle:10.3f}  {lower:.3f} … {upper:.3f}{slower}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the sources to compare with: the folder that holds the package")
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help=f"some of {', '.join(BENCHMARKS)} (all)")
    parser.add_argument("--rounds", type=int, default=6, help="at least 2; even is fairer (default %(default)s)")
    options = parser.parse_args()
    if not (options.old / "workings").is_dir():
        parser.error(f"{options.old} does not hold the package: name a checkout's src")
    if unknown := {*options.benchmarks} - {*BENCHMARKS}:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    print(f"{'seconds, or / what stands beside it':46s}{'old':>9s}{'new':>9s}{'old/new':>8s}{'median':>10s}  quartiles")
    for benchmark in options.benchmarks or BENCHMARKS:
        print_rows(pairs(benchmark, options.old.resolve(), options.rounds))


if __name__ == "__main__":
    main()
