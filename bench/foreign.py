"""Showing the code of others: `make bench-foreign FOREIGN=folder` runs every piece of `bench/foreign.toml`.

FOREIGN holds the code, which is no part of this project: a clone of each repository of the list as FOREIGN/owner+name, at
the commit of the list, and the packages in FOREIGN/site-packages (pip install --no-deps --target FOREIGN/site-packages
package==version) or in the environment. What is not there is named. `--missing` only lists it.

Each piece runs in a process of its own, with a limit of time and memory and without a network. The table has, for models and
functions: statements that ran (counted by a tracer of its own, `bench/statements.py`), those with a line, and those recorded
and not printed; values and gradients compared with a plain run in double precision, and wrong ones; formulas that are false;
the share of gradient lines with a rule that was checked; the size of the page, median and largest. Then the worst pieces,
and what gradients lack most often.

    python bench/foreign.py FOREIGN --only nanoGPT        the pieces whose name has this in it
    python bench/foreign.py FOREIGN --report found.md     what each piece lacks, statement by statement
    python bench/foreign.py FOREIGN --keep folder         the text and the page of each piece
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import resource
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from foreign_import import MissingError, check_there, refuse_network
from foreign_list import Piece, read
from foreign_report import report, table

SECONDS, GIGABYTES = 240, 16
FIGURES = Path("build/foreign.json")


def main() -> None:
    options = _options()
    foreign = options.foreign.resolve()
    pieces = [piece for piece in read() if re.search(options.only, piece.title)]
    if options.missing:
        for piece in pieces:
            try:
                check_there(piece, foreign)
            except MissingError as missing:
                print(f"{piece.title}: {missing}")
        return
    torch.set_num_threads(1)
    import foreign_piece  # noqa: F401  loaded once, before the processes are split off

    figures: dict[str, dict[str, Any]] = {}
    for number, piece in enumerate(pieces, 1):
        figures[piece.title] = {"kind": piece.kind, "source": str(piece.source)} | _in_a_process(
            piece, foreign, options.keep
        )
        print(f"{number}/{len(pieces)} {_brief(piece, figures[piece.title])}", file=sys.stderr, flush=True)
    if not options.only:
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(figures, indent=1))
    print(table(figures))
    if options.report:
        options.report.write_text(report(figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Show foreign code and compare it with a plain run.")
    parser.add_argument("foreign", type=Path, nargs="?", help="the folder with the repositories and packages of the list")
    parser.add_argument("--only", default="", metavar="PATTERN", help="pieces whose name matches")
    parser.add_argument("--missing", action="store_true", help="list what FOREIGN lacks, run nothing")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write what each piece lacks, as Markdown")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the text and the page of each piece")
    options = parser.parse_args()
    if options.foreign is None or not options.foreign.is_dir():
        parser.error("needs the folder of foreign code: make bench-foreign FOREIGN=folder (see the top of bench/foreign.py)")
    return options


def _brief(piece: Piece, found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"{piece.title}: {found['failed'].splitlines()[-1]}"
    missing, wrong = found["expected"] - found["recorded"], len(found["wrong"]) + len(found["gradients_wrong"])
    return (
        f"{piece.title}: {found['recorded']} of {found['expected']} statements, {missing} missing, {wrong} wrong, "
        f"{found['checked']}/{found['lines']} rules, {found['page_bytes'] / 1e6:.2f} MB, {found['show_seconds']:.1f} s"
    )


def _in_a_process(piece: Piece, foreign: Path, folder: Path | None) -> dict[str, Any]:
    """The figures of a piece, measured where it can break nothing else."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(theirs, piece, foreign, folder))
    worker.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(SECONDS) else {"failed": f"took more than {SECONDS} s"}
    except EOFError:
        worker.join()
        return {"failed": f"its process ended with status {worker.exitcode}"}
    finally:
        worker.kill()
        worker.join()


def _work(result: Connection, piece: Piece, foreign: Path, folder: Path | None) -> None:
    from foreign_piece import measure

    refuse_network()
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        found = measure(piece, foreign, _keeper(piece, folder))
    except MissingError as missing:
        found = {"failed": str(missing), "missing_code": True}
    except BaseException:
        found = {"failed": traceback.format_exc(limit=-4)}
    result.send(found)
    os._exit(0)


def _keeper(piece: Piece, folder: Path | None) -> Callable[[str, str], None] | None:
    if folder is None:
        return None

    def keep(text: str, page: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{piece.title}.txt").write_text(text, encoding="utf-8")
        (folder / f"{piece.title}.html").write_text(page, encoding="utf-8")

    return keep


if __name__ == "__main__":
    main()
