"""How the names of letters are written: in a formula, in a list, in a call."""

from __future__ import annotations

import re

MOST_NAMED = 6


def spelling(name: str) -> str:
    """The name of a letter as it is written: a subscript with a comma needs braces, W_{1,2}."""
    return re.sub(r"_([^_]*,[^_]*)", r"_{\1}", name)


def name_list(names: list[str]) -> list[str]:
    """At most six of the names as they are written, then …"""
    return [spelling(name) for name in names[:MOST_NAMED]] + ["…"] * (len(names) > MOST_NAMED)


def keywords(names: list[str], value: str) -> str:
    """Letters given values in a call: w=0.5, or **{"W_{1,2}": 0.5} where a name is none of Python's."""
    shown = name_list(names)
    if all(name.isidentifier() for name in shown if name != "…"):
        return ", ".join(name if name == "…" else f"{name}={value}" for name in shown)
    return "**{" + ", ".join(name if name == "…" else f'"{name}": {value}' for name in shown) + "}"
