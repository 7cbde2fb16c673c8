"""The plan of the house: which package may import which, and what each file really imports.

`FLOORS` is read from the bottom up. Inside a package, `ROOMS` gives the order of its rooms (sub-packages, or single files);
a room imports only from rooms to its left. Imports inside functions count like those at the top of a file.

Example: python tools/plan.py          prints the rooms that break the plan, and the cycles
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
ROOF = frozenset({"__init__", "__main__", "front"})
"""The front door may name every floor."""

FLOORS = [
    "errors",
    "atomic checksum control lazy own_code precedence shape_check version written_out",
    "fused",
    "page",
    "equations",
    "exact",
    "trace",
    "nn",
    "models show",
    "course",
    "check train",
    "studies",
    "cli",
]
GROUND = 3
"""The lowest floors are single files."""
ROOMS = {
    "equations": "layers losses norms recurrent transformer windows",
    "exact": "numbers typeset reading tensor dispatch ops",
    "trace": "formula step address record assumed first_bad tensors code definitions shapes operations optimizer replay "
    "capture follow gradient",
    "show": "options write formula value outline printers ask work",
    "nn": "fits activations temperature norms transformer vision recurrent objectives update",
    "models": "autoencoder smoothing ngrams mlp averaging bigram cnn vae vectors vit clip transformer bert language_model "
    "character character_transformer decoding weights",
    "course": "constructions conv_heads convention counts dedupe_task dedupe discrete logistic penalty perturbation "
    "scalar_rnn selection temporal examples",
    "check": "document latex value extract argument claims knowledge prose report run",
    "cli": "arguments command output study_help train_help evaluate_errors show_run check data demo evaluate exact generate "
    "neighbors shapes show study systems train",
    "studies": "claim parameters pictures parts decide outcome report result definition running families index",
    "train": "settings task process data run recipe loop forward_pass text capabilities tasks recipes evaluation",
}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(SOURCES.glob("workings/**/*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(module: str) -> set[str]:
    """The modules of the package that a module imports, at its top or inside a function."""
    path = modules()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return set(imports_of(path.read_text(encoding="utf-8"), package)) - {module}


def imports_of(source: str, package: str) -> Iterator[str]:
    """The modules of the package that `source`, a file in `package`, imports."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (found for alias in names if (found := _known(alias.name)))
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package.rsplit(".", level - 1)[0] if level else ""
                home = ".".join(filter(None, [base, module]))
                yield from (found for alias in names if (found := _known(f"{home}.{alias.name}")))


def _known(name: str) -> str:
    """The module that a dotted name belongs to, or nothing where it is not of this package."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name


def floor_of(module: str) -> int | None:
    """How high a module stands; None for the roof."""
    part = module.split(".")[1] if "." in module else "__init__"
    if part in ROOF:
        return None
    return next(height for height, floor in enumerate(FLOORS) if part in floor.split())


def room_of(module: str) -> tuple[str, str]:
    """The package and the room in it: ("trace", "gradient") for `workings.trace.gradient.adjoint`."""
    parts = module.split(".")[1:]
    return parts[0], parts[1] if len(parts) > 1 else ""


def wrong_floors() -> list[tuple[str, str]]:
    """Imports of a floor that is not below."""
    return [(a, b) for a, b in edges() if (high := floor_of(a)) is not None and _is_wrong_floor(a, b, high)]


def _is_wrong_floor(a: str, b: str, high: int) -> bool:
    low = floor_of(b)
    return (low is None and b != "workings") or (low is not None and room_of(a)[0] != room_of(b)[0] and low >= high)


def wrong_rooms() -> list[tuple[str, str]]:
    """Imports, inside one package, of a room that is not to the left."""
    found = []
    for a, b in edges():
        (package, room), (other, wanted) = room_of(a) if "." in a else ("", ""), room_of(b) if "." in b else ("", "")
        if package == other and room != wanted and package in ROOMS and room:
            order = ROOMS[package].split()
            if wanted not in order or room not in order or order.index(wanted) > order.index(room):
                found.append((a, b))
    return found


@cache
def edges() -> list[tuple[str, str]]:
    """Every import of one module of the package by another."""
    return [(module, other) for module in modules() for other in sorted(imported(module))]


def cycles() -> list[list[str]]:
    """Modules that import each other in a ring (Tarjan 1972), the largest first."""
    graph: dict[str, list[str]] = {module: [] for module in modules()}
    for a, b in edges():
        graph[a].append(b)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in graph[module]:
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            ring = []
            while module not in ring:
                ring.append(stack.pop())
            if len(ring) > 1:
                found.append(sorted(ring))

    sys.setrecursionlimit(10_000)
    for module in graph:
        if module not in index:
            visit(module)
    return sorted(found, key=len, reverse=True)


def main() -> None:
    for a, b in wrong_floors():
        print("floor:", a, "→", b)
    for a, b in wrong_rooms():
        print("room: ", a, "→", b)
    for ring in cycles():
        print("cycle:", len(ring), *ring)


if __name__ == "__main__":
    main()
