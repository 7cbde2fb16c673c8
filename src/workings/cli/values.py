"""Arguments on the command line: numbers, matrices, JSON and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workings.errors import WorkingsError


def read_values(texts: list[str], *, exact: bool = True) -> tuple[list[Any], dict[str, Any]]:
    """`Q="1 0; 0 1"` as keyword, `"1 0; 0 1"` as positional arguments."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.strip().isidentifier():
            kwargs[name.strip()] = read_value(value.strip(), exact=exact)
        elif kwargs:
            raise WorkingsError(f"{text!r} stands after a NAME=VALUE; give it a name too, or put it first.")
        else:
            args.append(read_value(text, exact=exact))
    return args, kwargs


def read_value(text: str, *, exact: bool = True) -> Any:
    """One value: a Python number for a plain integer, a tensor otherwise."""
    suffix = Path(text).suffix
    if suffix in _FILES:
        return _tensor(_from_file(Path(text)), exact)
    if text in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text]
    if text.lstrip("-").isdigit():
        return int(text)
    if text.startswith("["):
        return _tensor(_from_json(text), exact)
    from workings.exact import exact as exact_tensor

    made = exact_tensor(text)
    return made if exact else made.float64()


def _tensor(data: Any, exact: bool) -> Any:
    import torch

    from workings.exact import exact as exact_tensor

    if isinstance(data, torch.Tensor) and not (exact and data.is_floating_point() and data.numel() <= 4096):
        return data
    made = exact_tensor(data, recover=True)
    return made if exact else made.float64()


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        from workings.errors import ParseError

        raise ParseError(f"This JSON cannot be read: {error.msg}.", text, error.pos) from None


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise WorkingsError(f"There is no file {path}.")
    try:
        return _FILES[path.suffix](path)
    except Exception as error:
        raise WorkingsError(f"{path} could not be read as {path.suffix}: {error}") from None


def _npy(path: Path) -> Any:
    import numpy as np
    import torch

    return torch.from_numpy(np.load(path, allow_pickle=False))


def _csv(path: Path) -> Any:
    import csv

    with path.open(newline="", encoding="utf-8") as file:
        return [[cell.strip() for cell in row] for row in csv.reader(file) if row]


def _pt(path: Path) -> Any:
    import torch

    return torch.load(path, weights_only=True)


_FILES: dict[str, Callable[[Path], Any]] = {
    ".npy": _npy,
    ".csv": _csv,
    ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
    ".pt": _pt,
}


def random_input(text: str) -> Any:
    """`1x3x8` as a random tensor of this size, `2x5:int` as tokens."""
    import torch

    size, _, kind = text.partition(":")
    try:
        shape = [int(n) for n in size.lower().split("x")]
        if min(shape) < 0:
            raise ValueError(size)
    except ValueError:
        raise WorkingsError(f"--input takes a size such as 1x3x32x32 or 2x5:int, not {text!r}.") from None
    return torch.randint(0, 2, shape) if kind == "int" else torch.randn(shape)
