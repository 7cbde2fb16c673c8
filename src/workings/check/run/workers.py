"""Documents are checked in processes of their own, each with a limit of time and memory.

A document that takes too long or needs too much is reported as far as it was checked, with a message; one that makes its
process crash ends in a message; the others go on. Work and results pass as JSON. A worker begins with `ready`, then answers
each job. At the limit of time it is woken by its own alarm and hands over what it has; if it does not, it is ended.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from workings.check.document.finding import Results
from workings.check.document.options import Options
from workings.check.document.report_data import to_row
from workings.check.report.report import Report
from workings.errors import WorkingsError

TIMEOUT = 60.0
"""Seconds a document may take."""
_MEMORY = 2 << 30
"""Bytes a worker may add to what it starts with."""
_START = 60.0
"""Seconds a worker may take to start."""
GRACE = 2.0
"""Seconds after the limit in which a worker may hand over what it has."""
_PAUSE = 2.0
"""Seconds after which an idle worker looks whether it is still wanted."""


@dataclass(frozen=True)
class Job:
    """A document to check: the name it goes by, and the file it is in."""

    name: str
    path: Path


Work = Callable[[Job, Options, "Progress"], Report]


class Progress:
    """A job that is still going on."""

    def __init__(self) -> None:
        self.so_far: Callable[[], Report] | None = None
        """What was found so far; none before the checking begins."""

    def stopped(self, job: Job, reason: str, nothing: str = "") -> Report:
        """What there is so far and why there is no more; without anything yet, a failure, which `nothing` adds to."""
        try:
            result = self.so_far() if self.so_far is not None else None
        except Exception:  # it stopped in the middle of something
            result = None
        if result is None:
            return Report(job.name, failure=f"{reason}{nothing}")
        return replace(result, unfinished=f"{reason} What was found until then is listed.")


def check_job(job: Job, options: Options, progress: Progress) -> Report:
    """Read and check one document, here and now."""
    from workings.check.extract import read
    from workings.check.run.checker import check_document

    document = read(job.path)
    document.name = job.name

    def watch(so_far: Callable[[], Results]) -> None:
        progress.so_far = lambda: Report(job.name, document, so_far())

    return Report(job.name, document, check_document(document, options, watch))


def result_or_failure(work: Work, job: Job, options: Options, progress: Progress) -> Report:
    """The result, or a message in its place."""
    try:
        return work(job, options, progress)
    except WorkingsError as error:
        said = str(error).replace(str(job.path), job.name)
        reason = said if job.name in said else f"{job.name}: {said}"
    except OSError as error:
        reason = f"{job.name} cannot be read: {error.strerror or error}."
    except MemoryError:
        reason = f"{job.name} needs more than {_MEMORY >> 30} GB of memory."
    except RecursionError:
        reason = f"{job.name} is nested too deeply."
    except Exception as error:
        what = f"{type(error).__name__}: {error}".rstrip(".")
        reason = f"{job.name}: the checker failed, which is a bug in the checker: {what}{_where(error)}."
    return progress.stopped(job, reason)


def _where(error: Exception) -> str:
    """The last line of the package that an error came from."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        found = f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


# ---------------------------------------------------------------------------------------------- in the worker


def _serve(pipe: Connection, work: Work, run_code: bool) -> None:
    """Answer jobs until an empty one comes, or until nobody is there to send one."""
    parent = os.getppid()
    _isolate()
    _limit_memory()
    options = Options(run_code)
    pipe.send_bytes(b"ready")
    while True:
        while not pipe.poll(_PAUSE):
            if os.getppid() != parent:
                return
        message = pipe.recv_bytes()
        if not message:
            return
        name, path, timeout = json.loads(message)
        _answer(pipe, work, Job(name, Path(path)), options, timeout)


def _answer(pipe: Connection, work: Work, job: Job, options: Options, timeout: float) -> None:
    """Do one job and send its result; at the limit of time, send what there is and end."""
    progress = Progress()
    with _alarm(
        timeout, lambda: _send(pipe, progress.stopped(job, _too_long(job.name, timeout), _NOTHING_YET), is_last=True)
    ):
        result = result_or_failure(work, job, options, progress)
    _send(pipe, result)


_NOTHING_YET = " It was still being read: no claim was reached."


def _too_long(name: str, timeout: float) -> str:
    """The message at the limit of time."""
    return f"{name}: it takes longer than {timeout:g} s, the limit (--timeout)."


def _send(pipe: Connection, result: Report, is_last: bool = False) -> None:
    """A result, and whether the worker ends with it."""
    pipe.send_bytes(json.dumps([to_row(result), is_last]).encode())


@contextmanager
def _alarm(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """After so long, do something and end this process, whatever it is at; on systems without alarms, nothing happens."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: object) -> None:
        action()
        os._exit(0)

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _isolate() -> None:
    """A group of its own, so that what it starts ends with it; silent, so that only reports are printed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _limit_memory() -> None:
    """Only the soft limit is set: a sandbox for code listings may set its own."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    except (ImportError, OSError, ValueError):
        pass  # such a system has the limit of time alone


# ---------------------------------------------------------------------------------------------- outside


class _Worker:
    """A process that checks one document at a time."""

    def __init__(self, work: Work, options: Options) -> None:
        context: Any = multiprocessing.get_context(start_method())
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=_serve, args=(end, work, options.run_code))
        self.process.start()
        end.close()
        self.ready = False
        self.at: int | None = None
        """The number of the job it is at."""
        self.deadline = time.monotonic() + _START

    def give(self, at: int, job: Job, timeout: float) -> None:
        """Begin a job; a worker that is gone is noticed when its answer is awaited."""
        self.at, self.deadline = at, time.monotonic() + timeout + GRACE
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(json.dumps([job.name, str(job.path), timeout]).encode())

    def end(self) -> str:
        """Stop it and all that it started; says how it ended, if it ended before."""
        code = self.process.exitcode
        with contextlib.suppress(OSError, AttributeError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.process.close()
        self.pipe.close()
        return _ending(code)


def _ending(code: int | None) -> str:
    """How a process ended by itself.

    >>> _ending(-11), _ending(3)
    ('by signal SIGSEGV', 'with status 3')
    """
    if code is None:
        return "without a word"
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"


def start_method() -> str:
    """A copy of this process is quick to make, but not safe where PyTorch has started threads."""
    return "fork" if sys.platform == "linux" and "torch" not in sys.modules else "spawn"


def check_with_workers(
    jobs: list[Job], options: Options, workers: int, timeout: float = TIMEOUT, work: Work = check_job
) -> Iterator[tuple[int, Report]]:
    """Each result with the number of its job, as they come."""
    waiting = deque(range(len(jobs)))
    if waiting and work is check_job and start_method() == "fork":
        _preload()
    crew: list[_Worker] = []
    try:
        while waiting or any(worker.at is not None for worker in crew):
            while len(crew) < workers and len(crew) < len(waiting) + sum(worker.at is not None for worker in crew):
                crew.append(_Worker(work, options))
            for worker in crew:
                if worker.ready and worker.at is None and waiting:
                    at = waiting.popleft()
                    worker.give(at, jobs[at], timeout)
            yield from _answers(crew, jobs, timeout)
    finally:
        for worker in crew:
            worker.end()


def _preload() -> None:
    """Import what every worker needs, once, before they are copied."""
    import workings.check.extract
    import workings.check.run.checker  # noqa: F401


def _answers(crew: list[_Worker], jobs: list[Job], timeout: float) -> Iterator[tuple[int, Report]]:
    """Wait until workers answer or their time is over; those that are of no more use leave the crew."""
    active = [worker for worker in crew if worker.at is not None or not worker.ready]
    nearest = min(worker.deadline for worker in active)
    wait([worker.pipe for worker in active], max(0.0, nearest - time.monotonic()))
    for worker in active:
        at = worker.at
        if worker.pipe.poll():
            try:
                message = worker.pipe.recv_bytes()
            except (EOFError, OSError):
                worker.process.join(5)
                how = _remove(crew, worker)
                reason = "" if at is None else f"{jobs[at].name}: the process that checked it ended {how}."
            else:
                worker.ready, worker.at = True, None
                if at is not None:
                    row, is_last = json.loads(message)
                    if is_last:
                        _remove(crew, worker)
                    yield at, Report.from_row(jobs[at].name, row)
                continue
        elif time.monotonic() >= worker.deadline:
            _remove(crew, worker)
            reason = "" if at is None else _too_long(jobs[at].name, timeout)
        else:
            continue
        if at is None:
            raise WorkingsError("A worker process could not start.")
        yield at, Report(jobs[at].name, failure=reason)


def _remove(crew: list[_Worker], worker: _Worker) -> str:
    """Take a worker out of the crew; says how it ended."""
    crew.remove(worker)
    return worker.end()
