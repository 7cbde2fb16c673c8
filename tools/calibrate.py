"""How sure a finding is: learn it from judged findings, and write the weights that the checker reads.

    make calibrate                        writes src/workings/check/argument/levels.toml
    python tools/calibrate.py --compare   each set left out in turn: these weights, a table of classes, the levels of the day

`bench/judged/*.tsv` has a row for each finding that somebody judged by computing it anew, on documents of others:

    set document line kind basis support level design blind real

`document` is the beginning of the file's SHA-256; the texts are not here. `design` is 1 for the checker as it was before it
had contexts and roles, 2 for the one since. `blind` is 1 if the checker had never been run on the document, nor changed
after looking at it: these rows are a record, printed by `make bench-check`. The rows with 0 (`current….tsv`) are findings of
the checker as it is on the same documents. `support` says why a finding could be believed (`none` for no reason); rows from
before it was noted have no such column and teach nothing. `LATER` says of each newer reason which sets do not know it.

The formula stands in `argument/levels.py`. The weights are those of a logistic regression with a ridge: a normal prior
around 0, so that a class that nobody judged is an average one, and few findings move a weight little.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workings.check.argument.levels import NEEDED, group

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "bench" / "judged"
TABLE = ROOT / "src" / "workings" / "check" / "argument" / "levels.toml"
COLUMNS = ("set", "document", "line", "kind", "basis", "support", "level", "design", "blind", "real")
UNKNOWN, NONE = "-", "none"
"""The support of findings that were judged before it was noted, and of those that have no support."""
LATER = ("computed", "near", "elsewhere", "concluded", "fixed", "form", "doubted", "contradicted")
OLD = frozenset({("L", False), *((name, True) for name in "MNOP")})
"""Reasons that were not noted yet in these tables (set, blind): there they count as on average."""
RIDGE = 2.0
"""The precision of the prior of each weight."""
NO_CLASS = ("rounding",)
"""Kinds that are notes by nature."""
HEAD = "# Written by `make calibrate` from bench/judged/: what adds to the log-odds that a finding is real.\n"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One judged finding."""

    set: str
    document: str
    line: str
    kind: str
    basis: str
    support: str
    level: str
    design: int
    is_blind: bool
    is_real: bool

    @property
    def supports(self) -> frozenset[str]:
        """Why it could be believed; a near miss is one by its slip, which tells nothing more."""
        found = frozenset() if self.support == NONE else frozenset(self.support.split(", "))
        return found - {"slip"} if self.basis == "near miss" else found

    @property
    def is_old(self) -> bool:
        """Whether the newer reasons were not noted for it."""
        return (self.set, self.is_blind) in OLD


def rows(folder: Path = JUDGED) -> Iterator[Row]:
    """Every judged finding."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                yield Row(
                    row["set"],
                    row["document"],
                    row["line"],
                    row["kind"],
                    row["basis"],
                    row.get("support", UNKNOWN),
                    row["level"],
                    int(row["design"]),
                    row["blind"] == "1",
                    row["real"] == "1",
                )


_HELD_OUT = frozenset({"Q"})
"""Sets that measured the levels as they are; they teach when another set has measured the next ones."""


def learnable(judged: Iterable[Row]) -> list[Row]:
    """The rows with known support, one for each place: as it is now rather than as it was."""
    found = {(row.document, row.line): row for row in sorted(judged, key=lambda row: not row.is_blind) if _teaches(row)}
    return list(found.values())


def _teaches(row: Row) -> bool:
    return row.design == 2 and row.support != UNKNOWN and row.kind not in NO_CLASS and row.set not in _HELD_OUT


@dataclass(frozen=True)
class Model:
    """Weights by name: `kind number`, `basis closed`, `support slip`."""

    weights: dict[str, float]

    def score(self, row: Row) -> float:
        """The log-odds that a finding is real; what was not noted counts as on average, which is in the intercept."""
        return sum(self.weights.get(name, 0.0) * value for name, value in self.features(row))

    def features(self, row: Row) -> Iterator[tuple[str, float]]:
        """The names of what is known of a finding, each with 1; of a reason not noted in its set, with its mean."""
        yield "intercept", 1.0
        yield f"kind {row.kind}", 1.0
        yield f"basis {row.basis}", 1.0
        for part in ("support", group(row.basis)):
            yield from ((f"{part} {name}", 1.0) for name in row.supports)
            if row.is_old:
                yield from ((f"{part} {name}", self.weights.get(f"mean {name}", 0.0)) for name in LATER)


def fit(judged: Sequence[Row]) -> Model:
    """The weights that explain the judged findings; many of one class in one document count as their square root."""
    newer = [row for row in judged if not row.is_old]
    means = {f"mean {name}": float(np.mean([name in row.supports for row in newer])) if newer else 0.0 for name in LATER}
    empty = Model(means)
    named = [dict(empty.features(row)) for row in judged]
    names = sorted({name for each in named for name in each})
    x: Array = np.array([[each.get(name, 0.0) for name in names] for each in named])
    real: Array = np.array([float(row.is_real) for row in judged])
    like = Counter((row.document, row.kind, row.basis, row.support) for row in judged)
    count: Array = np.array([like[row.document, row.kind, row.basis, row.support] for row in judged]) ** -0.5
    prior: Array = np.diag([1e-3 if name == "intercept" else RIDGE for name in names])
    w: Array = np.zeros(len(names))
    for _ in range(100):  # Newton
        p = 1 / (1 + np.exp(-x @ w))
        step = np.linalg.solve((x.T * (count * p * (1 - p))) @ x + prior, x.T @ (count * (real - p)) - prior @ w)
        w = w + step
        if np.abs(step).max() < 1e-9:
            break
    return Model({**dict(zip(names, map(float, w), strict=True)), **means})


Scored = list[tuple[float, Row]]
Scorer = Callable[[Row], float]


def left_out(judged: Sequence[Row], learn: Callable[[Sequence[Row]], Scorer]) -> Scored:
    """Each finding with the log-odds that the other sets give it."""
    found: Scored = []
    for name in sorted({row.set for row in judged}):
        score = learn([row for row in judged if row.set != name])
        found += [(score(row), row) for row in judged if row.set == name]
    return found


def class_score(judged: Sequence[Row]) -> Scorer:
    """A plain table: the share of real findings of each class, with half a finding for and one against it."""
    count = Counter((row.kind, row.basis, row.supports - {"document"}) for row in judged)
    real = Counter((row.kind, row.basis, row.supports - {"document"}) for row in judged if row.is_real)

    def score(row: Row) -> float:
        key = row.kind, row.basis, row.supports - {"document"}
        return log((real[key] + 0.5) / (count[key] - real[key] + 1.0))

    return score


def day_score(judged: Sequence[Row]) -> Scorer:
    """The level that a finding had when it was judged."""
    return lambda row: {"error": 9.0, "likely": 1.0}.get(row.level, -9.0)


def compare(judged: Sequence[Row]) -> None:
    """Print what each way to give levels says of sets that it did not learn from: real of all at error, at likely."""
    error, likely = (log(p / (1 - p)) for p in (NEEDED["error"], NEEDED["likely"]))
    for name, learn in (("weights", lambda rest: fit(rest).score), ("classes", class_score), ("that day", day_score)):
        scored, parts = left_out(judged, learn), []
        for chosen in [*sorted({row.set for row in judged}), "all"]:
            mine = [(score, row.is_real) for score, row in scored if chosen in (row.set, "all")]
            top = [real for score, real in mine if score >= error]
            next_ = [real for score, real in mine if likely <= score < error]
            parts.append(f"{chosen}: {sum(top)} of {len(top)}, {sum(next_)} of {len(next_)}")
        print(f"{name:8} {'; '.join(parts)}")


def table(judged: Sequence[Row]) -> str:
    """The weights as TOML."""
    weights = fit(judged).weights
    parts = [HEAD, f"judged = {len(judged)}\nreal = {sum(row.is_real for row in judged)}\n"]
    parts.append(f"intercept = {weights['intercept']:.2f}\n")
    for part in ("kind", "basis", "support", "numbers", "letters"):
        parts.append(f"\n[{part}]\n")
        named = {name.removeprefix(f"{part} "): w for name, w in weights.items() if name.startswith(f"{part} ")}
        parts += [f'"{name}" = {w:.2f}\n' for name, w in sorted(named.items())]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    judged = learnable(rows())
    if parser.parse_args().compare:
        compare(judged)
        return
    temporary = TABLE.with_suffix(".new")
    temporary.write_text(table(judged), encoding="utf-8")
    temporary.replace(TABLE)
    print(f"wrote {TABLE.relative_to(ROOT)} from {len(judged)} judged findings")


if __name__ == "__main__":
    main()
