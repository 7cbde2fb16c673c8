"""docs/api.md: every public name with one line.

Example: python tools/api_table.py docs/api.md
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = "workings workings.exact workings.show workings.trace workings.nn workings.models workings.course \
workings.equations workings.train workings.check workings.studies".split()
HEAD = """# Public names

Made by `make docs` from the packages themselves. `help(NAME)` says more; everything else may change without notice.
"""


def public(package: str) -> dict[str, Any]:
    """The names that a package offers."""
    module = import_module(package)
    return {name: getattr(module, name) for name in module.__all__ if not name.startswith("__")}


def summary(value: Any) -> str:
    """The first sentence of the docstring, on one line; of a type that is one of several, these."""
    if isinstance(value, types.UnionType):
        return " or ".join(f"`{one.__name__}`" for one in value.__args__)
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def call(name: str, value: Any) -> str:
    """`attention(Q, K, V, mask)`: the name with the names of its parameters."""
    if inspect.ismodule(value) or not callable(value) or isinstance(value, enum.EnumType):  # Python's versions differ there
        return name
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return name
    shown = [str(p.replace(annotation=p.empty, default=p.empty)) for p in parameters if p.name not in ("self", "cls")]
    return f"{name}({', '.join(shown)})" if len(shown) <= 8 else f"{name}({', '.join(shown[:7])}, …)"


def table() -> str:
    """The whole document."""
    parts = [HEAD]
    for package in PACKAGES:
        parts.append(f"\n## `{package}`\n\n| name | |\n|---|---|\n")
        parts += [f"| `{call(name, value)}` | {summary(value)} |\n" for name, value in sorted(public(package).items())]
    return "".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(table(), encoding="utf-8")
