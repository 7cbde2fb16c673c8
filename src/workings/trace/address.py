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
    address_gradients(root)


def _inside(parent: Step, prefix: str, seen: dict[str, int]) -> None:
    for child in parent.children:
        kind, inner = child.kind, prefix
        if kind in _NAMED and child.name:
            child.address = _with_number(f"{prefix}.{child.name}" if prefix else child.name, seen)
        elif kind == "module":
            child.address, inner = _with_number(child.name, seen), child.name
        elif kind == "call":
            inner = f"{prefix}.{child.name}" if prefix else child.name
            child.address = _with_number(inner, seen)
            inner = "" if parent.kind == "root" else inner
        elif kind == "turn":
            child.address = inner = f"{prefix}.turn {child.name}" if prefix else f"turn {child.name}"
        if child.children:
            _inside(child, inner, seen)


def _with_number(address: str, seen: dict[str, int]) -> str:
    if not address:
        return ""
    count = seen[address] = seen.get(address, 0) + 1
    return f"{address}#{count}" if count > 1 else address


def address_gradients(root: Step, prefix: str = "") -> None:
    """Give every gradient its address: the call, module or turn it stands in (the second call of f is `f#2`), then its name.

    Names of values are numbered already, so `∂L/∂h#2` is the gradient of the second h, not the second ∂L/∂h.
    """
    for child in root.children:
        inner = prefix
        if child.kind == "gradient":
            child.address = f"{prefix}.{child.name}" if prefix else child.name
        elif child.kind == "module":
            inner = child.address
        elif child.kind == "call" and root.kind != "root":
            inner = f"{prefix}.{child.name}" if prefix else child.name
            inner += "".join(child.address.rpartition("#")[1:]) if "#" in child.address else ""
        elif child.kind == "turn":
            inner = f"{prefix}.turn {child.name}" if prefix else f"turn {child.name}"
        address_gradients(child, inner)
