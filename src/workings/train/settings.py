"""The settings of a training run: a dataclass whose fields say what they are, so that help and checks come from it."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, Self

from workings.errors import WorkingsError, did_you_mean


def setting(
    default: Any, help: str, *, among: tuple[str, ...] = (), least: float | None = None, below: float | None = None
) -> Any:
    """A field of a settings class: its default, a line of help, the words or the range of numbers allowed."""
    return field(default=default, metadata={"help": help, "among": among, "least": least, "below": below})


@dataclass(frozen=True)
class Training:
    """What the loop needs to know. Recipes add their own fields.

    >>> Training(steps=10).steps
    10
    >>> Training(schedule="cosin")
    Traceback (most recent call last):
    workings.errors.WorkingsError: schedule is one of constant, linear, cosine; got 'cosin'.
    """

    steps: int = setting(1000, "parameter updates", least=1)
    batch: int = setting(32, "examples per update, over all processes", least=1)
    rate: float = setting(1e-3, "peak learning rate", least=0)
    optimizer: str = setting("adamw", "update rule", among=("adamw", "sgd", "muon"))
    beta1: float = setting(0.9, "decay of the gradient average (momentum for sgd and muon)", least=0, below=1)
    beta2: float = setting(0.99, "decay of the squared-gradient average", least=0, below=1)
    decay: float = setting(0.0, "weight decay", least=0)
    schedule: str = setting("linear", "learning-rate schedule", among=("constant", "linear", "cosine"))
    warmup: int = setting(0, "updates until the peak learning rate", least=0)
    floor: float = setting(0.0, "fraction of the learning rate left at the end", least=0)
    clip: float = setting(0.0, "maximum gradient norm; 0 disables clipping", least=0)
    accumulate: int = setting(1, "parts a batch is split into, to save memory", least=1)
    average: float = setting(0.0, "decay of the weight average; 0 keeps none", least=0, below=1)
    precision: str = setting("float32", "number format of the forward pass", among=("float32", "bfloat16"))
    compile: str = setting("no", "torch.compile: auto measures whether it pays off", among=("no", "auto", "yes"))
    evaluate_every: int = setting(0, "updates between evaluations; 0 is ten in all", least=0)
    sample_every: int = setting(0, "updates between samples; 0 is with each evaluation", least=0)
    save_every: int = setting(0, "updates between checkpoints; 0 is with each evaluation", least=0)
    patience: int = setting(0, "evaluations without improvement before stopping; 0 never stops", least=0)
    seconds: float = setting(0.0, "stop after this much time; 0 is no limit", least=0)
    seed: int = setting(0, "seed of all randomness", least=0, below=2**32)
    threads: int = setting(0, "threads of PyTorch; 0 leaves its choice", least=0)
    shard: bool = setting(False, "shard parameters over the processes (FSDP2) instead of copying them (DDP)")
    tensorboard: bool = setting(False, "log to TensorBoard too, if it is installed")

    def __init_subclass__(cls, **defaults: Any) -> None:
        """`class Mine(Training, steps=500)` has other defaults; what a setting means and may be stays as it is."""
        super().__init_subclass__()
        for name, default in defaults.items():
            known = cls.__dataclass_fields__[name]
            setattr(cls, name, field(default=default, metadata=known.metadata))
            cls.__annotations__ = {**get_annotations(cls), name: known.type}

    def __post_init__(self) -> None:
        types = self.types()
        for known in dataclasses.fields(self):
            _check_value(known, types[known.name], getattr(self, known.name))

    @classmethod
    def types(cls) -> dict[str, Any]:
        """The type of each setting."""
        return typing.get_type_hints(cls)

    def json(self) -> dict[str, Any]:
        """The settings as plain data."""
        return dataclasses.asdict(self)

    def difference(self, other: Mapping[str, Any]) -> str:
        """How these settings differ from plain data, such as those a run began with; nothing where they agree.

        A run may go on with other ones of `_HOW`.

        >>> Training(steps=10).difference(Training(steps=20, rate=0.1).json())
        'steps is 10 here and 20 there, rate is 0.001 here and 0.1 there'
        """
        ours = self.json()
        names = [name for name in {**ours, **other} if ours.get(name) != other.get(name) and name not in _HOW]
        return ", ".join(f"{name} is {ours.get(name)!r} here and {other.get(name)!r} there" for name in names)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Settings from plain data, such as a run's `settings.json`; an unknown name is an error.

        >>> Training.read({"stepz": 3})
        Traceback (most recent call last):
        workings.errors.WorkingsError: Training has no setting 'stepz'. Did you mean steps?
        """
        names = [known.name for known in dataclasses.fields(cls)]
        for name in data:
            if name not in names:
                hint = did_you_mean(name, names, f"It has: {', '.join(names)}.")
                raise WorkingsError(f"{cls.__name__} has no setting {name!r}.{hint}")
        return cls(**data)


_HOW = ("shard",)
"""Settings that say how a run is computed, not what."""


def _check_value(known: dataclasses.Field[Any], kind: Any, value: Any) -> None:
    """Whether a value suits its field; otherwise an error that says what is needed."""
    among, least, below = (known.metadata.get(word) for word in ("among", "least", "below"))
    if kind in WORDS and not (isinstance(value, _ACCEPTED[kind]) and isinstance(value, bool) == (kind is bool)):
        raise WorkingsError(f"{known.name} is {WORDS[kind]}; got {value!r}.")
    if among and value not in among:
        raise WorkingsError(f"{known.name} is one of {', '.join(among)}; got {value!r}.")
    if least is not None and value is not None and not value >= least:
        raise WorkingsError(f"{known.name} is at least {least:g}; got {value!r}.")
    if below is not None and value is not None and not value < below:
        raise WorkingsError(f"{known.name} is less than {below}; got {value!r}.")


WORDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_ACCEPTED: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (bool,), str: (str,)}
