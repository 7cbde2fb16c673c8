"""The command line in this process: a process of its own would only import PyTorch once more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from workings import cli


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class _Screen(io.StringIO):
    """What is printed, and whether it goes to a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def workings(*arguments: str, cwd: str | os.PathLike[str] = ".", terminal: bool = False) -> Done:
    """Run `workings ARGUMENTS` in a folder. An error that the user would see as a traceback is raised."""
    out, errors, path = _Screen(terminal), _Screen(terminal), [*sys.path]
    with (
        mock.patch.object(sys, "argv", ["workings", *arguments]),
        mock.patch.object(cli, "collect_garbage_seldom"),  # meant for a process that ends with its command
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.path[:] = path
            forget_modules(Path.cwd())
    return Done(code, out.getvalue(), errors.getvalue())


def forget_modules(folder: Path) -> None:
    """Another test has another file of this name."""
    for name, module in [*sys.modules.items()]:
        if Path(getattr(module, "__file__", None) or "/").parent == folder:
            del sys.modules[name]
