"""Kill a training process at random moments and let it resume each time; a script, since it forks real processes.

    python tests/train/killing.py FOLDER KILLS SEED

PyTorch is loaded once and each attempt is a fork, so that twenty attempts take seconds. Prints how often a process was
killed, and the step that each attempt began from.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.train.tiny import Settings, Tiny
from workings.train import Run
from workings.train.loop.engine import train

STEPS = 120


def settings() -> Settings:
    """A bit of everything that must be remembered: momentum, the average, dropout, rows between checkpoints."""
    return Settings(steps=STEPS, save_every=1, evaluate_every=7, average=0.9, clip=1.0, pause=0.004)


def attempt(folder: Path) -> None:
    import torch

    torch.manual_seed(0)
    made = settings()
    train(Tiny().task(made), made, Run(folder), name="tiny")


def start(folder: Path) -> int:
    """A process that trains; its id."""
    if (child := os.fork()) == 0:
        try:
            attempt(folder)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return child


def finish(folder: Path) -> None:
    assert os.waitstatus_to_exitcode(os.waitpid(start(folder), 0)[1]) == 0


def main(folder: Path, kills: int, seed: int) -> None:
    attempt(folder / "warm")  # what PyTorch loads when it is first used, it has loaded when the processes begin
    began = time.perf_counter()
    finish(folder / "undisturbed")
    length = time.perf_counter() - began
    moments = random.Random(seed)
    killed, steps = 0, []
    while killed < kills:
        found = Run(folder / "killed").last()[0]
        steps.append(int(found.name[5:]) if found else 0)
        if steps[-1] == STEPS:  # it got through before all the kills: once more from the start
            os.rename(folder / "killed", folder / f"finished-{killed}")
            continue
        child = start(folder / "killed")
        time.sleep(moments.uniform(0, 2 * length / kills))
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    finish(folder / "killed")
    print(killed, *steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
