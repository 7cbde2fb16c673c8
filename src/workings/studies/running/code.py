"""The code that a study depends on: its own file, and every module of the package that it imports, directly or not.

Imports are read from the sources, those inside functions too, and names of packages that load lazily are followed to the
files that hold them. A changed file anywhere among them is another checksum.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from workings.checksum import sha256

_ROOT = Path(__file__).parents[2]
_PACKAGE = "workings"


def code_of(function: Callable[..., Any]) -> str:
    """The checksum of all code that a function depends on."""
    file = Path(function.__code__.co_filename)
    files = sorted(used_files(file))
    return sha256(b"\0".join(_name(path).encode() + b"\0" + path.read_bytes() for path in files))


def used_files(first: Path) -> set[Path]:
    """A file, and all files of the package, or beside it, that it uses."""
    found: set[Path] = set()
    waiting = [first.resolve()]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += _imports(path)
    return found | {data for path in found if path.is_relative_to(_ROOT) for data in _data_beside(path)}


def _name(path: Path) -> str:
    return str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else path.name


@cache
def _imports(path: Path) -> list[Path]:
    """The files that one file imports."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return []
    return [file for name in _imported_names(tree) for file in _files_of(name, path.parent)]


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="workings"), attr=package), attr=name):
                yield f"workings.{package}.{name}"  # workings.nn.softmax, after `import workings`


def _files_of(name: str, beside: Path) -> list[Path]:
    """The files behind a dotted name: of this package (through its lazy names), or of a module beside the file."""
    parts = name.split(".")
    if parts[0] != _PACKAGE:
        return [path for path in (beside / f"{parts[0]}.py",) if path.is_file() and not path.is_relative_to(_ROOT)]
    place = _ROOT
    files = []
    for part in parts[1:]:
        if (place / part).is_dir():
            place = place / part
            files.append((place / "__init__").with_suffix(".py"))
        elif (place / f"{part}.py").is_file():
            return [*files, place / f"{part}.py"]
        else:
            return [*files, *_lazy_file(place, part)]
    return files


def _lazy_file(package: Path, name: str) -> list[Path]:
    """The file that a package's stub says a name is in."""
    stub = package / "__init__.pyi"
    if not stub.is_file():
        return []
    found = re.search(rf"^from ([\w.]+) import {re.escape(name)} as", stub.read_text(encoding="utf-8"), re.MULTILINE)
    return [_ROOT.joinpath(*found[1].split(".")[1:]).with_suffix(".py")] if found else []


def _data_beside(path: Path) -> list[Path]:
    """Tables that a module reads: of its own name, or named in it."""
    text = path.read_text(encoding="utf-8")
    return [data for data in path.parent.glob("*.toml") if data.name in text or data.stem == path.stem]


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    from importlib.metadata import version

    from workings.version import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    return {"workings": __version__, "python": python, "torch": version("torch"), "numpy": version("numpy")}
