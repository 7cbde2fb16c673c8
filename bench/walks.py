"""How far a reader walks through the code: files, functions and file switches of four walks.

    python bench/walks.py                          the sources of this checkout
    python bench/walks.py --src ../old/src         those of another one beside them

The walks: `show(attention)` from call to text; its gradient from loss to text; a document from command to findings; `train
shakespeare` from command to checkpoint. Counted are calls of functions of this package (`sys.setprofile`): how many files
and functions are entered (a comprehension is part of its function), and how often a call enters another file than the call
before it. Each walk has a process of its own and is walked once before it is counted; what an import runs is no part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SRC = Path(__file__).resolve().parents[1] / "src"
DOCUMENT = r"""
The scores are $S = Q K^\top$ with
$$Q = \begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}, \quad K = \begin{pmatrix} 1 & 1 \\ 1 & 0 \end{pmatrix}.$$
So
$$S = \begin{pmatrix} 1 & 1 \\ 2 & 0 \end{pmatrix}, \qquad \frac{1}{2} + \frac{1}{3} = \frac{4}{6}.$$
"""
TEXT = "to be, or not to be: that is the question\n" * 60
TINY = "--steps 10 --batch 4 --evaluate-every 5 --warmup 0 --judges 1000 --width 16 --depth 1 --window 32 --threads 1"


# ------------------------------------------------------------------------------------------------------- the walks


def show_forward() -> None:
    assert "softmax" in shown().text()


def show_gradient() -> None:
    assert "∂L/∂" in shown(backward=True).text()


def check_document() -> None:
    Path("small.md").write_text(DOCUMENT)
    assert "5/6" in command("check", "small.md", "--no-cache", "--jobs", "1")


def train_shakespeare() -> None:
    Path("own.txt").write_text(TEXT)
    run = tempfile.mkdtemp(dir=".")
    command("train", "shakespeare", "--text", "own.txt", "--out", run, *TINY.split())
    assert list(Path(run).rglob("*.safetensors"))


WALKS = {
    "show(attention), text": show_forward,
    "its gradient, text": show_gradient,
    "check a document": check_document,
    "train shakespeare, 10 steps": train_shakespeare,
}


def shown(**options: Any) -> Any:
    import torch

    import workings
    from workings.nn import attention

    Q, K, V = (torch.tensor(rows) for rows in ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]))
    return workings.show(attention, Q, K, V, **options)


def command(*words: str) -> str:
    """What a command prints, in this process: `workings …`."""
    from workings.cli import main

    printed = io.StringIO()
    sys.argv = ["workings", *words]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        main()
    return printed.getvalue()


# -------------------------------------------------------------------------------------------------------- counting


def count(walk: Callable[[], None]) -> dict[str, int]:
    """Walk once for the imports and caches, then once counted."""
    walk()
    with tempfile.TemporaryFile() as log:
        with profiled(log.fileno()):
            walk()
        log.seek(0)
        calls = [line.split("\t") for line in log.read().decode().splitlines()]
    files = {file for _, file, _ in calls}
    last: dict[str, str] = {}
    switches = 0
    for thread, file, _ in calls:
        switches += last.get(thread, file) != file
        last[thread] = file
    return {"files": len(files), "functions": len({(file, name) for _, file, name in calls}), "switches": switches}


def is_function(code: Any) -> bool:
    return not code.co_name.startswith("<") or code.co_name == "<lambda>"


@contextlib.contextmanager
def profiled(log: int) -> Iterator[None]:
    """Write every call of a function of the package to a file, also those of other threads and of forked processes."""
    import workings

    package = str(Path(workings.__file__).parent) + os.sep
    importing: dict[int, int] = {}

    def on_event(frame: Any, event: str, _: Any) -> None:
        code, thread = frame.f_code, threading.get_ident()
        if code.co_name == "_find_and_load":
            importing[thread] = importing.get(thread, 0) + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and code.co_filename.startswith(package) and is_function(code) and not importing.get(thread):
            place = f"{code.co_qualname}:{code.co_firstlineno}"
            os.write(log, f"{os.getpid()}.{thread}\t{code.co_filename}\t{place}\n".encode())

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# -------------------------------------------------------------------------------------------------------- printing


def counted_apart(name: str, src: Path) -> dict[str, int]:
    """The figures of a walk in a fresh process, with the sources in `src`."""
    environment = {**os.environ, "PYTHONPATH": str(src.resolve()), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, str(Path(__file__).resolve()), "--walk", name]
        return json.loads(subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, help="the sources of another checkout, to print beside those of this one")
    parser.add_argument("--walk", choices=WALKS, help="count this walk here, and print JSON")
    options = parser.parse_args()
    if options.walk:
        print(json.dumps(count(WALKS[options.walk])))
        return
    sides = [options.src, SRC] if options.src else [SRC]
    print(f"{'':28}" + "".join(f"{str(side)[-32:]:>34}" for side in sides))
    print(f"{'':28}" + f"{'files':>14}{'functions':>10}{'switches':>10}" * len(sides))
    for name in WALKS:
        found = [counted_apart(name, side) for side in sides]
        cells = "".join(f"{f['files']:14,}{f['functions']:10,}{f['switches']:10,}" for f in found)
        print(f"{name:28}{cells}", flush=True)


if __name__ == "__main__":
    main()
