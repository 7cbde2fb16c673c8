"""The author's own backward: what a `torch.autograd.Function` adds to a gradient is what its `backward` returns.

∂L/∂x = Spike.backward(∂L/∂y)      and the statements of that method, with their values
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workings.trace.capture.capture import capture
from workings.trace.formula.evaluate import Recomputed, evaluate
from workings.trace.formula.tree import Call, Formula, walk
from workings.trace.operations.graph.inputs import Node
from workings.trace.step import Step


@dataclass(frozen=True)
class OwnBackward(Recomputed):
    """The backward of a function's node in autograd's graph, which is the `ctx` that its forward kept things in."""

    node: Node

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs that vary; one alone as it is."""
        with torch.no_grad():
            given = self.node.apply(*gradients)
        given = given if isinstance(given, tuple) else (given,)
        found = [one for one, wanted in zip(given, self.node.needs_input_grad, strict=False) if wanted]
        return found[0] if len(found) == 1 else found

    def steps(self, *gradients: Any) -> list[Step]:
        """What the method does, statement by statement."""
        own = self.node._forward_cls
        with torch.no_grad():
            trace = capture(own.backward, self.node, *gradients, replay=False)
        for step in trace.root.children:
            step.name = f"{own.__name__}.backward"
        return [] if trace.error is not None else trace.root.children


def own_steps(formulas: list[Formula], known: dict[str, Any]) -> list[Step]:
    """The statements of the author's own backward methods that a rule calls, each call once."""
    calls = dict.fromkeys(part for formula in formulas for part in walk(formula) if isinstance(part, Call))
    found = list[Step]()
    for call in calls:
        own = known.get(call.name)
        if isinstance(own, OwnBackward):
            gradients = [evaluate(part, known) for part in call.args]
            found += own.steps(*(one if isinstance(one, Tensor) else torch.tensor(one) for one in gradients))
    return found
