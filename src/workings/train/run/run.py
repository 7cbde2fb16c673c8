"""A run on disk: its settings, its figures, its checkpoints.

runs/shakespeare-1/
    settings.json       recipe, settings, versions, machine, hashes of the data
    files/              what the model needs beside its weights: the vocabulary …
    metrics.jsonl       one line for each report
    checkpoints/        the last two and the best, each whole or absent
    report.html         made at the end, with loss.svg and loss.png
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workings.atomic import write_text
from workings.errors import WorkingsError
from workings.train.settings import Training
from workings.train.task import Task
from workings.version import __version__


class Run:
    """A directory that holds a training run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.metrics = folder / "metrics.jsonl"

    def exists(self) -> bool:
        return (self.folder / "settings.json").is_file()

    def begin(self, name: str, settings: Training, task: Task) -> None:
        """Write down what is about to happen. `name` is empty where no recipe was followed."""
        path = self.folder / "files" if task.files else self.folder
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkingsError(f"Could not make {path}: {error.strerror or error}.") from None
        for file, text in task.files.items():
            write_text(self.folder / "files" / file, text)
        data = {"recipe": name, "settings": settings.json(), "versions": _versions(), "machine": _machine()}
        data["data"] = task.hashes
        write_text(self.folder / "settings.json", json.dumps(data, indent=1))

    def check_continues(self, name: str, settings: Training, hashes: Mapping[str, str] | None = None) -> None:
        """Going on needs what the run began with: the recipe, every setting, the data (where it was read already)."""
        data = self.read()
        if data["recipe"] != name:
            raise WorkingsError(
                f"{self.folder} is a run of {data['recipe'] or 'fit'}, not of {name or 'fit'}: choose another --out."
            )
        if differs := settings.difference(data["settings"]):
            raise WorkingsError(
                f"{self.folder} was started with other settings: {differs}. Continue it with "
                f"`workings train --resume {self.folder}`, or choose another --out."
            )
        hashes, began = data["data"] if hashes is None else hashes, data["data"]
        if changed := sorted(key for key in {**began, **hashes} if began.get(key) != hashes.get(key)):
            raise WorkingsError(
                f"{self.folder} was started with other data: {', '.join(changed)} changed. Choose another --out."
            )

    def read(self) -> dict[str, Any]:
        """The contents of `settings.json`."""
        path = self.folder / "settings.json"
        if not path.is_file():
            raise WorkingsError(
                f"{self.folder} is not a training run: it has no settings.json. Name a folder written by `workings train`."
            )
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise WorkingsError(f"{path} is damaged: {error}.") from None
        for key, kind in (("recipe", str), ("settings", dict), ("data", dict)):
            if not (isinstance(data, dict) and isinstance(data.get(key), kind)):
                raise WorkingsError(f"{path} is damaged: it needs recipe, settings and data, and {key} is missing or wrong.")
        return data

    def files(self) -> dict[str, str]:
        """What the model needs beside its weights."""
        folder = self.folder / "files"
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())} if folder.is_dir() else {}

    def last(self) -> tuple[Path | None, list[str]]:
        """The newest checkpoint that is whole, and what was wrong with newer ones."""
        from workings.train.run import checkpoint

        problems: list[str] = []
        for path in reversed(checkpoint.checkpoints(self.checkpoints)):
            if not (wrong := checkpoint.problem(path)):
                return path, problems
            problems.append(wrong)
        return None, problems

    def best(self) -> Path:
        """The checkpoint with the best figure; the last where none was judged. Untrained weights are not one to use."""
        from workings.train.run import checkpoint

        found = checkpoint.checkpoints(self.checkpoints)
        problems = {path: wrong for path in found if (wrong := checkpoint.problem(path))}
        whole = [path for path in found if path not in problems]
        if not whole:
            damaged = f"{', '.join(problems.values())}. Put copies of the files back, or train again in another folder."
            raise WorkingsError(f"{self.folder} has no intact checkpoint: {damaged if problems else 'train it first.'}")
        for wrong in problems.values():
            print(f"{wrong}. Using {whole[-1].name} or a better one before it.", file=sys.stderr)
        if whole[-1].name == checkpoint.START:
            raise WorkingsError(
                f"{self.folder} has only the weights it started from: continue with `workings train --resume {self.folder}`."
            )
        return next((p for p in reversed(whole) if checkpoint.read_state(p).get("best")), whole[-1])


def _versions() -> dict[str, str]:
    """What a run depends on to be the same again."""
    import numpy
    import torch

    found = {"workings": __version__, "torch": torch.__version__, "numpy": numpy.__version__}
    return {**found, "python": platform.python_version()}


def _machine() -> dict[str, Any]:
    """Where a run began: another processor or another number of threads may add the same numbers in another order."""
    import torch

    found = {"system": platform.platform(), "machine": platform.machine(), "processor": _processor()}
    return {**found, "processors": os.cpu_count(), "threads": torch.get_num_threads()}


def _processor() -> str:
    """The name of the processor; where the system does not tell, its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def new_folder(name: str, under: Path = Path("runs")) -> Path:
    """A folder of its own for the next run: runs/digits-1, runs/digits-2 …"""
    number = 1
    while True:
        try:
            (made := under / f"{name}-{number}").mkdir(parents=True)
            return made
        except FileExistsError:
            number += 1
        except OSError as error:
            raise WorkingsError(f"Could not make {under / f'{name}-{number}'}: {error.strerror or error}.") from None
