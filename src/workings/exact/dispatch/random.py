"""Random operations draw ordinary floats, then lift them as the fractions they are, and say so."""

from __future__ import annotations

from typing import Any

import torch

from workings.exact.dispatch.operation import arguments, call, is_exact, rule, schema_of, wrap
from workings.exact.numbers.assume import assume
from workings.exact.tensor.lift import lift_as_is

RANDOM = frozenset(
    """
    bernoulli_ uniform_ normal_ exponential_ random_ cauchy_ log_normal_ geometric_ bernoulli rand_like randn_like
    randint_like normal normal_functional native_dropout multinomial binomial poisson _standard_gamma
    """.split()
)


def draw(func: Any, args: Any, kwargs: Any) -> Any:
    """Run the real kernel on floats; its draws become exact values."""
    schema = schema_of(func)
    given = {n: x.float64() if is_exact(x) else x for n, x in arguments(func, args, kwargs).items()}
    if schema.name == "native_dropout":
        return _dropout(args[0], given)
    drawn = call(func, given)
    count = drawn.numel()
    assume("random", f"{schema.name} drew {count} number{'s' if count != 1 else ''}")
    if schema.in_place:
        args[0].payload.copy_(lift_as_is(drawn))
        return args[0]
    return wrap(lift_as_is(drawn)) if drawn.is_floating_point() else drawn


def _dropout(x: torch.Tensor, given: dict[str, Any]) -> Any:
    """x·mask/(1 − p) with a drawn mask."""
    p = given["p"]
    if not given.get("train", True) or p == 0:
        return x.clone(), torch.ones(x.shape, dtype=torch.bool)
    mask = torch.rand(x.shape) >= p
    assume("random", f"dropout drew {mask.numel()} times with p = {p}")
    return torch.where(mask, x, torch.zeros_like(x)) / (1 - p) if p < 1 else torch.zeros_like(x), mask


@rule("rrelu_with_noise")
def rrelu(
    x: Any,
    noise: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Leaky ReLU; in training a slope is drawn for each x ≤ 0 (and left in `noise`), else it is the middle of its range."""
    if not training:
        return torch.ops.aten.leaky_relu(x, (lower + upper) / 2)
    drawn = torch.empty(x.shape, dtype=torch.float64).uniform_(lower, upper, generator=generator)
    assume("random", f"rrelu drew {drawn.numel()} slopes")
    slopes = torch.where(x <= 0, wrap(lift_as_is(drawn)), torch.ones_like(x))
    noise.copy_(slopes)
    return x * slopes
