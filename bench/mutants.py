"""Do the tests notice mistakes? A sample of small mistakes (mutants), each made in a copy of the sources and tested there.

    make mutants                                       the sample of docs/log.md: 240 mutants of four groups
    python bench/mutants.py --group numbers --count 20 --seed 7
    python bench/mutants.py --again                    only those that survived, after new tests

First each group's tests are run once, to see which of them reach which lines; a mutant is then tested by those that reach
its line, the quickest first, until one fails. The same tests are then run without the mutant: a test that fails there too
noticed nothing, is named and left out. A mutant that no test notices is shown to the type checker, which `make test` runs
too. Results are kept in build/mutants.json, so a run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import py_compile
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covering import MARK, MARKER, FirstFailure, Reached, marked, quiet_run
from mutate import Mutant, mutants

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "mutants.json"
REACHED = ROOT / "build" / "mutants-reached.json"


@dataclass(frozen=True)
class Group:
    """Sources that belong together, and the tests that are theirs; doctests of the sources count too."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def source_files(self) -> list[str]:
        return _matching("src/workings", self.sources)

    def test_files(self) -> list[str]:
        return _matching("tests", self.tests)


def _matching(folder: str, patterns: Iterable[str]) -> list[str]:
    found = {path for pattern in patterns for path in (ROOT / folder).glob(pattern)}
    return sorted(str(path.relative_to(ROOT)) for path in found)


GROUPS = {
    "gradients": Group(
        ("trace/gradient/*.py", "trace/operations/*.py", "trace/tensors/difference.py", "trace/formula/magnitude.py"),
        ("trace/**/test_*.py", "show/**/test_*.py"),
    ),
    "numbers": Group(("exact/numbers/*.py", "exact/reading/*.py"), ("exact/**/test_*.py",)),
    "rounding": Group(("check/**/rounding.py", "check/**/compare.py"), ("check/**/test_*.py",)),
    "checkpoints": Group(
        ("train/run/checkpoint.py", "train/run/run.py", "train/loop/run_writer.py", "atomic.py", "checksum.py"),
        ("train/**/test_*.py", "cli/test_nonsense.py", "cli/test_train.py", "test_atomic.py"),
    ),
}
"""Under src/workings and under tests."""
LOADED = "torch numpy flint sympy hypothesis jaxtyping".split()
"""Loaded once, before the processes that test are split off."""
BUDGET = 20.0
"""Seconds of the tests that a mutant is put to, as they took without it."""
MOST_TESTS = 250
MEMORY = 6 << 30
TYPES = "mypy"
"""What noticed a mutant that no test did."""


class Tree:
    """A copy of the sources and tests, where one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "build", "dist"))
        if (ROOT / ".mypy_cache").is_dir():
            shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")

    def write(self, path: str, source: bytes) -> None:
        """The file, compiled anew: a second is too long a time for Python to see that it changed."""
        (self.folder / path).write_bytes(source)
        with contextlib.suppress(py_compile.PyCompileError):
            py_compile.compile(str(self.folder / path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

    def start(self, work: Callable[[], int]) -> int:
        """A process of its own, in this tree."""
        child = os.fork()
        if child:
            return child
        os.setsid()
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder / "src"))
        os.environ |= {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        with contextlib.suppress(BaseException):
            os._exit(work())
        os._exit(99)


Tests = dict[str, tuple[float, list[str]]]


def reached(name: str, folder: Path) -> Tests:
    """The tests of a group, with their seconds and the places they reach; only files that changed are run again."""
    group = GROUPS[name]
    sources = group.source_files()
    stamp = hashlib.sha256(b"".join((ROOT / path).read_bytes() for path in sources)).hexdigest()
    kept = json.loads(REACHED.read_text()) if REACHED.exists() else {}
    stamps = {path: hashlib.sha256((ROOT / path).read_bytes() + stamp.encode()).hexdigest() for path in group.test_files()}
    stamps |= {path: stamp for path in sources}
    stale = [path for path, value in stamps.items() if kept.get(f"{name} {path}", {}).get("stamp") != value]
    if stale:
        print(f"{name}: which lines the tests of {len(stale)} files reach", flush=True)
        tree = Tree(folder / f"marked-{name}")
        (tree.folder / "src" / f"{MARK}.py").write_text(MARKER)
        for path in sources:
            tree.write(path, marked(path, (ROOT / path).read_bytes()).encode())
        found = _measured(tree, stale)
        for path in stale:
            tests = {test: at for test, at in found.items() if _file(test) == path}
            kept[f"{name} {path}"] = {"stamp": stamps[path], "tests": tests}
        save(REACHED, kept)
    return {test: at for path in stamps for test, at in kept[f"{name} {path}"]["tests"].items()}


def _measured(tree: Tree, files: list[str]) -> Tests:
    out = tree.folder / "reached.json"
    os.environ["MUTANTS_REACHED"] = str(tree.folder / "marks")

    def work() -> int:
        plugin = Reached(tree.folder / "marks")
        code = quiet_run(files, plugin, tree.folder / "log")
        out.write_text(json.dumps(plugin.tests))
        return code

    code = os.waitstatus_to_exitcode(os.waitpid(tree.start(work), 0)[1])
    del os.environ["MUTANTS_REACHED"]
    log = (tree.folder / "log").read_text()
    print("\n".join(f"  {line}" for line in log.splitlines() if re.match("FAILED|ERROR|.* passed", line)), flush=True)
    if code not in (0, 1):  # a test may fail for the marks, and is not used; but they were not all run
        raise SystemExit(f"pytest ended with {code}:\n{log[-3000:]}")
    found: Tests = json.loads(out.read_text())
    return found


def _file(test: str) -> str:
    return test.partition("::")[0]


def chosen(mutant: Mutant, tests: Tests, budget: float) -> tuple[list[str], float]:
    """The tests for a mutant: those that reach its line (or else its file), the quickest of every function first."""
    place, file = f"{mutant.path}:{mutant.reached}", f"{mutant.path}:"
    near = [test for test, (_, places) in tests.items() if place in places]
    if not near:
        # What is made at import may be used where none of the file's lines run: the neighbours of such tests count too.
        beside = {_file(test) for test, (_, places) in tests.items() if any(at.startswith(file) for at in places)}
        near = [test for test in tests if _file(test) in beside]
    turn: dict[str, int] = {}
    order = []
    for test in sorted(near or tests, key=lambda test: tests[test][0]):
        name = test.split("[")[0]
        turn[name] = turn.get(name, -1) + 1
        order.append((turn[name], tests[test][0], test))
    taken, spent, most = [], 0.0, MOST_TESTS if mutant.reached else 8 * MOST_TESTS
    for _, seconds, test in sorted(order):
        if taken and (spent + seconds > budget or len(taken) == most):
            break
        taken.append(test)
        spent += seconds
    return taken, spent


@dataclass
class Job:
    """A mutant that is being tested; or, after a test failed, the same tests without the mutant."""

    name: str
    mutant: Mutant
    tree: Tree
    tests: list[str]
    child: int
    until: float
    noticed: dict[str, Any] | None = None
    """What came of the mutant, if this is the run without it."""
    began: float = field(default_factory=time.monotonic)

    def result(self, status: int | None) -> dict[str, Any]:
        """What came of it; no status is a process that had to be ended."""
        first = self.tree.folder / "first"
        by = first.read_text() if first.exists() else ""
        first.unlink(missing_ok=True)
        what = "timed out" if status is None else "survived" if status == 0 else "killed"
        at = {"group": self.name, "file": self.mutant.path, "line": self.mutant.line}
        return at | {"result": what, "by": by, "seconds": round(time.monotonic() - self.began, 1)}


def begin(name: str, mutant: Mutant, tests: Tests, tree: Tree, budget: float) -> Job:
    names, seconds = chosen(mutant, tests, budget if mutant.reached else 3 * budget)
    tree.write(mutant.path, mutant.applied((ROOT / mutant.path).read_bytes()))
    return Job(name, mutant, tree, names, start_tests(tree, names), time.monotonic() + 60 + 5 * seconds)


def begin_without(job: Job, noticed: dict[str, Any]) -> Job:
    """The tests up to the one that failed, without the mutant."""
    names = job.tests[: job.tests.index(noticed["by"]) + 1]
    return Job(job.name, job.mutant, job.tree, names, start_tests(job.tree, names), time.monotonic() + 600, noticed)


def start_tests(tree: Tree, names: list[str]) -> int:
    plugin = FirstFailure(tree.folder / "first")
    return tree.start(lambda: quiet_run(["-x", *names], plugin, tree.folder / "log"))


def run(
    todo: list[tuple[str, Mutant]], tests: dict[str, Tests], workers: int, budget: float
) -> Iterator[tuple[Mutant, Any]]:
    """Each mutant with its result, as they come."""
    running: list[Job] = []
    with tempfile.TemporaryDirectory() as folder:
        free = [Tree(Path(folder) / f"tree-{k}") for k in range(workers)]
        try:
            while todo or running:
                while todo and free:
                    name, mutant = todo.pop()
                    running.append(begin(name, mutant, tests[name], free.pop(), budget))
                time.sleep(0.02)
                for job in list(running):
                    child, status = os.waitpid(job.child, os.WNOHANG)
                    late = not child and time.monotonic() > job.until
                    if not (child or late):
                        continue
                    running.remove(job)
                    end(job, waited=bool(child))
                    found = job.result(None if late else status)
                    if found["result"] == "survived" and job.noticed is None and is_mistyped(job.tree, job.mutant.path):
                        found |= {"result": "killed", "by": TYPES}
                    job.tree.write(job.mutant.path, (ROOT / job.mutant.path).read_bytes())
                    if job.noticed is None and found["by"] in job.tests:
                        running.append(begin_without(job, found))
                        continue
                    free.append(job.tree)
                    if job.noticed is None or not found["by"]:
                        yield job.mutant, job.noticed or found
                    else:
                        print(f"  fails without a mutant, and is left out: {found['by']}", flush=True)
                        tests[job.name].pop(found["by"], None)
                        todo.append((job.name, job.mutant))
        finally:
            for job in running:
                end(job)


def is_mistyped(tree: Tree, path: str) -> bool:
    """Whether mypy finds a mistake in a file of a tree."""
    return subprocess.run([sys.executable, "-m", "mypy", path], cwd=tree.folder, capture_output=True).returncode == 1


def end(job: Job, waited: bool = False) -> None:
    """End the process of a job, and what its tests have left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.child, signal.SIGKILL)
    if not waited:
        os.waitpid(job.child, 0)


def save(path: Path, what: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(what, indent=1, ensure_ascii=False))


def sample(name: str, count: int, seed: int) -> list[Mutant]:
    group = GROUPS[name]
    found = [mutant for path in group.source_files() for mutant in mutants(path, (ROOT / path).read_bytes())]
    return sorted(found, key=lambda mutant: mutant.rank(seed))[:count]


def table(results: dict[str, dict[str, Any]], picked: dict[str, list[Mutant]]) -> None:
    print(f"\n{'group':14}{'mutants':>9}{'killed':>9}{'survived':>10}{'timed out':>11}{'noticed':>9}")
    total = [0, 0, 0]
    for name, group in [*picked.items(), ("all", [])]:
        kinds = [results[mutant.key]["result"] for mutant in group if mutant.key in results]
        counts = [kinds.count(kind) for kind in ("killed", "survived", "timed out")] if name != "all" else total
        total = [a + b for a, b in zip(total, counts, strict=True)] if name != "all" else total
        noticed = (counts[0] + counts[2]) / max(1, sum(counts))
        print(f"{name:14}{sum(counts):9}{counts[0]:9}{counts[1]:10}{counts[2]:11}{noticed:9.1%}")
    print("\nsurvived")
    for group in picked.values():
        for mutant in sorted(group, key=lambda mutant: (mutant.path, mutant.line)):
            if results.get(mutant.key, {}).get("result") == "survived":
                print(
                    f"  {mutant.path}:{mutant.line}  {' '.join(mutant.before.split())}  →  {' '.join(mutant.after.split())}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", choices=GROUPS, action="append", help="only this group (may be given again)")
    parser.add_argument("--count", type=int, default=240, help="mutants in all, as many of each group (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another sample (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="at the same time (%(default)s)")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests for a mutant (%(default)s)")
    parser.add_argument("--again", action="store_true", help="test those again that survived")
    given = parser.parse_args()
    names = given.group or list(GROUPS)
    picked = {name: sample(name, given.count // len(names), given.seed) for name in names}
    results = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    done = {key for key, found in results.items() if not (given.again and found["result"] == "survived")}
    todo = [(name, mutant) for name in names for mutant in picked[name] if mutant.key not in done]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for module in LOADED:
        importlib.import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        tests = {name: reached(name, Path(folder)) for name in {name for name, _ in todo}}
    total, began = len(todo), time.monotonic()
    for k, (mutant, found) in enumerate(run(todo, tests, given.workers, given.budget), 1):
        results[mutant.key] = found
        save(KEPT, results)
        print(f"{k}/{total} {time.monotonic() - began:5.0f} s  {found['result']:9} {mutant.path}:{mutant.line}", flush=True)
    table(results, picked)


if __name__ == "__main__":
    main()
