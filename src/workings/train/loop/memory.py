"""What optimizers remember, as named tensors `rule.parameter.slot`, and the running average of the weights.

    θ̄ ← μ θ̄ + (1 − μ) θ,   μ = min(average, (1 + t)/(10 + t)),   t updates so far

The average forgets the first weights quickly, since μ starts at 2/11 and grows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workings.train.process.distributed import gathered, local_part, sharded_like

Rules = list[torch.optim.Optimizer]


def optimizer_state(rules: Rules) -> dict[str, Tensor]:
    """What optimizers remember; the parts that other processes hold are gathered."""
    found = {}
    # Tensors by name, not PyTorch's own dictionary: safetensors holds nothing else, and reading it runs no code.
    for i, rule in enumerate(rules):
        for j, slots in rule.state_dict()["state"].items():
            slots = {name: value for name, value in slots.items() if value is not None}
            found.update({f"{i}.{j}.{name}": gathered(torch.as_tensor(value)) for name, value in slots.items()})
    return found


def load_optimizer_state(rules: Rules, memory: dict[str, Tensor]) -> None:
    """Give optimizers back what they remembered."""
    for i, rule in enumerate(rules):
        state = rule.state_dict()
        parameters = [p for group in rule.param_groups for p in group["params"]]
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in memory.items():
            at, _, rest = key.partition(".")
            if at == str(i):
                j, _, name = rest.partition(".")
                slots.setdefault(int(j), {})[name] = _like_parameter(parameters[int(j)], value)
        rule.load_state_dict({**state, "state": slots})


def _like_parameter(p: Tensor, value: Tensor) -> Tensor:
    """A copy of what was remembered of a parameter, in memory as that is: fused rules go through both in one order."""
    if value.shape != p.shape:
        return value.clone()
    if hasattr(p, "full_tensor"):
        return sharded_like(p, value.clone())
    return torch.empty_like(p, dtype=value.dtype, requires_grad=False).copy_(value)


class Average:
    """The running average of a model's weights."""

    def __init__(self, model: nn.Module, memory: float) -> None:
        self.weights = [p for p in model.parameters() if p.is_floating_point() or p.is_complex()]
        self.means = [p.detach().clone() for p in self.weights]
        self.memory = memory

    @torch.no_grad()
    def update(self, t: int) -> None:
        """After update number `t`, counted from 1."""
        mu = min(self.memory, (1 + t) / (10 + t))
        torch._foreach_lerp_([local_part(m) for m in self.means], [local_part(p) for p in self.weights], 1 - mu)

    def averaged_state(self, model: nn.Module) -> dict[str, Tensor]:
        """The model's state with the averages in place of its weights."""
        means = dict(zip(map(id, self.weights), self.means, strict=True))
        return {name: means.get(id(t), t) for name, t in model.state_dict(keep_vars=True).items()}

    @torch.no_grad()
    def read(self, model: nn.Module, state: dict[str, Tensor]) -> None:
        """Take up the averages that were saved."""
        for name, mean in self.averaged_state(model).items():
            mean.copy_(sharded_like(mean, state[name]))
