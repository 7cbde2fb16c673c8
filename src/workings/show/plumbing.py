"""Steps that are no part of the computation: which arguments were given, checks, decorators around a function.

They are recorded like all others (`work.steps()`, JSON) and left out when a work is printed.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

from workings.trace.step import Step

_NO_MATHEMATICS = re.compile(r"\bis (not )?None\b|\bisinstance\(")
_PASSES_ALL_ON = re.compile(r"\b\w+\((self, )?\*args, \*\*\w+\)")
_OUR_OWN = str(Path(__file__).parents[1])


def is_plumbing(step: Step) -> bool:
    """Whether a step only asks which arguments were given: `if mask is not None`."""
    return step.kind == "branch" and bool(_NO_MATHEMATICS.search(step.source or step.name)) and not step.children


def is_check(step: Step) -> bool:
    """Whether this is a call by which a function of this library looks at its arguments: its value is no tensor."""
    if step.kind != "call" or isinstance(step.result, torch.Tensor | tuple | list | dict) or has_error(step):
        return False
    places = [s.where.file for s in step.walk() if s.where is not None]
    return bool(places) and all(file.startswith(_OUR_OWN) for file in places)


def inside_of(step: Step) -> list[Step]:
    """What a reader wants to see inside a step: of a decorator around a function, what the function did.

    A decorator passes all arguments on, `output = func(self, *args, **kwargs)`, and does its own work around that.
    """
    if step.kind in ("call", "module"):
        for child in step.children:
            if child.children and _PASSES_ALL_ON.search(child.source) and not has_error(step):
                inputs = [c for c in step.children if c.kind == "input"]
                around = len(step.children) - len(inputs) - 1
                note = f"a decorator around {step.name or step.source}: {around} steps are not shown"
                inner = child.children[0] if [c.kind for c in child.children] == ["call"] else child
                inputs = inputs if inner is child else []
                return [*inputs, *([Step("folded", note=note)] if around else []), *inner.children]
    return step.children


def has_error(step: Step) -> bool:
    """Whether the code failed in it."""
    return any(s.kind == "error" for s in step.walk())
