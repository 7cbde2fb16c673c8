"""Which models may decode by steps, and when.

`STEPS` has, for a class of models, how the scores of the next token come from a lean computation of one token
(`transformer_steps.py`). Decoding takes that way only where it makes no visible difference: the model's parts are the
library's own, its weights are ordinary numbers, and no hook, capture or PyTorch mode counts, reads or changes its passes.
In every other case each token is an ordinary call of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules import module as modules

from workings.models.character_transformer import CharacterTransformer
from workings.models.decoding.character_transformer_steps import character_step
from workings.models.decoding.language_model_steps import language_step
from workings.models.decoding.transformer_steps import Step
from workings.models.language_model import LanguageModel
from workings.trace.capture.substitute import is_replaced

STEPS: dict[type, Callable[[Any, Any], Step | None]] = {LanguageModel: language_step, CharacterTransformer: character_step}
"""By the very class: a subclass may compute something else."""
TRAINING = attrgetter("training")
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
GLOBAL = (modules._global_forward_hooks, modules._global_forward_pre_hooks)


class Stepper:
    """Steps of a model while nothing observes it; `step` is None where the model has none."""

    def __init__(self, decoder: Any, cache: Any) -> None:
        offers = cache is not None and isinstance(decoder, nn.Module) and ordinary(decoder)
        offer = STEPS.get(type(decoder)) if offers else None
        self.step: Step | None = None if offer is None else offer(decoder, cache)
        self.cache = cache
        self.parts = [*decoder.modules()] if self.step is not None else []
        self.hooks = [*GLOBAL, *(getattr(part, hooks) for part in self.parts for hooks in HOOKS)]

    def ready(self, new: int) -> bool:
        """Whether the next token may be a step: one behind others, nothing observes the model or is dropped at random."""
        return (
            self.step is not None
            and new == 1
            and self.cache.length > 0
            and not any(map(TRAINING, self.parts))
            and not any(self.hooks)
            and not is_observed()
        )

    def __call__(self, tokens: list[int]) -> Float[Tensor, "b v"]:
        assert self.step is not None
        with torch.inference_mode():
            return self.step(tokens)


def ordinary(model: nn.Module) -> bool:
    """Whether the weights are ordinary floats, and every part runs the forward of its class."""
    numbers = all(type(p) in (nn.Parameter, Tensor) and p.is_floating_point() for p in model.parameters())
    return numbers and not any("forward" in vars(part) or part._compiled_call_impl for part in model.modules())


def is_observed() -> bool:
    """Whether a capture is open, a mode of PyTorch that sees every operation, or one that changes precision."""
    captured = is_replaced(nn.Module._call_impl)
    modes = torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack()
    return captured or bool(modes) or any(map(torch.is_autocast_enabled, ("cpu", "cuda")))
