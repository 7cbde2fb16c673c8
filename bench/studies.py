"""Every study with other seeds: how often its claims hold, fail or stay undecided, and what it costs.

    python bench/studies.py [--seeds 100] [--trained 10] [--only NAME …] [--write docs/verdicts.md]

Seeds 1, 2, … are tried, the default 0 is not; a study whose claims are all decided without chance is run with three of them.
Controls are run with the default seed. Rows are kept in build/studies.jsonl, so that a run that was stopped goes on; a row
of other code is made anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
KEPT = ROOT / "build" / "studies.jsonl"
WITHOUT_CHANCE = 3
HEAD = """# Verdicts of the studies

Written by `python bench/studies.py --write docs/verdicts.md`. Each study was run with its defaults and its negative
controls, then with other seeds (the default seed is 0): how many claims it makes, the chance that one of its tests errs
(summed over its claims), how many of its claims held, failed or stayed undecided over all seeds, and the seconds of
processor time of a run without controls. Studies that train are not among them unless they were asked for.

| study | rows | claims | chance to err | seeds | held | failed | undecided | seconds |
|---|---|---|---|---|---|---|---|---|
"""


def one(name: str, seed: int) -> dict[str, Any]:
    """The verdicts of a study for a seed."""
    import torch

    from workings.studies import run
    from workings.studies.index import entry_of

    torch.set_num_threads(1)
    began = process_time()
    made = entry_of(name).load()
    result = run(made, {"seed": seed}, controls=seed == 0)
    verdicts = [str(claim.verdict) for claim in result.claims]
    alpha = sum(claim.alpha or 0 for claim in result.claims)
    return {
        "name": name,
        "seed": seed,
        "code": result.code,
        "verdicts": verdicts,
        "alpha": alpha,
        "wrong": [claim.sentence for claim in result.claims if claim.verdict != "holds"],
        "seconds": process_time() - began,
    }


def main() -> None:
    from workings.studies.index import entries
    from workings.studies.running.code import code_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--trained", type=int, default=10)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    chosen = [entry for name, entry in entries().items() if not options.only or name in options.only]
    codes = {entry.name: code_of(entry.load().function) for entry in chosen}
    rows = {(row["name"], row["seed"]): row for row in kept() if codes.get(row["name"]) == row["code"]}
    KEPT.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(2) as pool, KEPT.open("a", encoding="utf-8") as file:

        def gather(jobs: list[tuple[str, int]]) -> None:
            waiting = {pool.submit(one, *job): job for job in jobs if job not in rows}
            for i, done in enumerate(as_completed(waiting)):
                name, seed = waiting[done]
                rows[name, seed] = done.result()
                file.write(json.dumps(rows[name, seed]) + "\n")
                file.flush()
                print(f"\r{i + 1}/{len(waiting)} {name} {seed}\x1b[K", end="", file=sys.stderr)

        gather([(entry.name, 0) for entry in chosen])
        gather([(e.name, seed) for e in chosen for seed in range(1, _seeds(e, rows[e.name, 0]["alpha"], options) + 1)])
    table = "".join(_row(entry, [row for (name, _), row in sorted(rows.items()) if name == entry.name]) for entry in chosen)
    print(HEAD + table)
    if options.write:
        options.write.write_text(HEAD + table, encoding="utf-8")


def kept() -> list[dict[str, Any]]:
    """What earlier runs wrote."""
    return [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()] if KEPT.is_file() else []


def _seeds(entry: Any, alpha: float, options: argparse.Namespace) -> int:
    return int(options.trained if entry.trains else options.seeds if alpha else WITHOUT_CHANCE)


def _row(entry: Any, rows: list[dict[str, Any]]) -> str:
    counts = Counter(verdict for row in rows for verdict in row["verdicts"])
    others = [row["seconds"] for row in rows if row["seed"]]
    seconds = sum(others) / max(1, len(others))
    cells = [f"`{entry.name}`", " ".join(entry.rows), len(rows[0]["verdicts"]), f"{rows[0]['alpha']:.2g}", len(rows) - 1]
    cells += [counts["holds"], counts["fails"], counts["undecided"], f"{seconds:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |\n"


if __name__ == "__main__":
    main()
