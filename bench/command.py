"""What a command costs: seconds of the processor with the start of Python, in all its processes."""

from __future__ import annotations

import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage


def command_seconds(*words: str) -> float:
    """Run `workings …` in a process of its own. Status 1 is an answer (`workings check` found something), 2 a mistake."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "workings", *words], capture_output=True, text=True)
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"workings {' '.join(words)}: {done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
