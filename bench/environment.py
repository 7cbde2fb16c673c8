"""A peer in an environment of its own, so that what it needs disturbs nothing: pip installs it there once.

The environment sees the packages of the one that runs the benchmark, PyTorch among them; what the peer needs in another
version is installed beside them and comes first.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path


def environment(folder: Path, requirement: str) -> Path:
    """The Python of the environment for a requirement, made below a folder; RuntimeError where pip fails."""
    home = folder.resolve() / "".join(c if c.isalnum() or c in "-." else "_" for c in requirement)
    python, done = home / "bin" / "python", home / "installed"
    if done.exists():
        return python
    print(f"installing {requirement} into {home}", file=sys.stderr, flush=True)
    venv.create(home, with_pip=True, clear=True)
    own = sysconfig.get_path("purelib", vars={"base": str(home)})
    (Path(own) / "benchmark.pth").write_text(sysconfig.get_path("purelib") + "\n")
    ran = subprocess.run([python, "-m", "pip", "install", "-q", requirement], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "pip failed")
    done.touch()
    return python
