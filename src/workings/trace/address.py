"""Addresses such as `S`, `blocks.1.attn.S` or `turn 2.h`: the modules, calls and turns a step stands in, then its name."""

from __future__ import annotations

from workings.trace.step import Step

_NAMED = frozenset(("assign", "input", "gradient", "update", "operation", "error"))


def address(root: Step) -> None:
    """Give every step its address.

    The statements of the function that was shown have no prefix; what comes again (a name that is assigned twice, a module
    that is called twice) gets a number, `h#2`.
    """
    _inside(root, "", {})


def _inside(parent: Step, prefix: str, seen: dict[str, int]) -> None:
    for child in parent.children:
        _one(parent, child, prefix, seen)


def _one(parent: Step, child: Step, prefix: str, seen: dict[str, int]) -> None:
    inner = prefix
    if child.kind in _NAMED and child.name:
        child.address = _numbered(_joined(prefix, child.name), seen)
    elif child.kind == "module":
        child.address, inner = _numbered(child.name, seen), child.name
    elif child.kind == "call":
        inner = _joined(prefix, child.name)
        child.address = _numbered(inner, seen)
        inner = "" if parent.kind == "root" else inner
    elif child.kind == "turn":
        child.address = inner = _joined(prefix, f"turn {child.name}")
    _inside(child, prefix if child.kind in ("loop", "branch") else inner, seen)


def _numbered(address: str, seen: dict[str, int]) -> str:
    if not address:
        return ""
    count = seen[address] = seen.get(address, 0) + 1
    return f"{address}#{count}" if count > 1 else address


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)
