"""What JSON keeps of a large tensor: its statistics, its SHA-256 and some of its entries.

Read back, it is a tensor without values (on PyTorch's `meta` device) of the same shape and dtype, whose summary is known:
printers show the same line as before, and saving it again writes the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from workings.checksum import sha256
from workings.errors import WorkingsError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.show.write.sparkline import Summary, summary

_SAMPLE = 16
"""Entries of a large tensor that are kept, evenly spaced in row-major order."""
_ATTRIBUTE = "workings_saved"
_NUMBERS = ("low", "high", "mean", "deviation")


@dataclass(frozen=True)
class Saved:
    """A large tensor without its entries; `summary` is None for exact values with letters."""

    summary: Summary | None
    sha256: str
    sample: tuple[Any, ...]
    exact: bool = False


def saved_of(x: Any) -> Saved | None:
    """What was saved of this tensor, if it came from JSON without its values."""
    return getattr(x, _ATTRIBUTE, None) if isinstance(x, Tensor) else None


def without_values(shape: list[int], dtype: torch.dtype, saved: Saved) -> Tensor:
    """A tensor of this shape that knows its summary."""
    empty = torch.empty(shape, dtype=dtype, device="meta")
    setattr(empty, _ATTRIBUTE, saved)
    return empty


def saved_from(x: Tensor, data: bytes) -> Saved:
    """What is kept of a tensor whose bytes are `data`."""
    spaced = torch.linspace(0, x.numel() - 1, _SAMPLE, dtype=torch.float64).long()
    if isinstance(x, ExactTensor):
        elements = x.elements()
        sample: list[Any] = [str(elements[i]) for i in spaced.tolist()]
    else:
        sample = [_number(v) for v in x.flatten()[spaced].tolist()] if not x.is_complex() else []
    return Saved(summary_of(x), sha256(data), tuple(sample), isinstance(x, ExactTensor))


def _number(v: Any) -> Any:
    """A number where JSON has one, else its name: "nan", "inf", "-inf"."""
    return v if not isinstance(v, float) or v - v == 0 else str(v)


def summary_of(x: Tensor) -> Summary | None:
    """The summary of any tensor; None for exact values without decimals."""
    saved = saved_of(x)
    if saved is not None:
        return saved.summary
    try:
        return summary(x.float64() if isinstance(x, ExactTensor) else x)
    except WorkingsError:
        return None


def to_row(saved: Saved) -> dict[str, Any]:
    """As JSON has it."""
    found = saved.summary
    facts = None if found is None else {k: v for k, v in asdict(found).items() if k not in ("shape", "dtype")}
    row = {"summary": facts, "sha256": saved.sha256, "sample": list(saved.sample)}
    return row | ({"exact values": True} if saved.exact else {})


def from_row(row: dict[str, Any]) -> Saved:
    """Read what `to_row` wrote; anything else is a ValueError."""
    facts, sample = row["summary"], row.get("sample", [])
    known = {f.name for f in fields(Summary)} - {"shape", "dtype"}
    if facts is not None and (not isinstance(facts, dict) or set(facts) != known):
        raise ValueError("a summary does not have the facts of one")
    if facts is not None and not all(type(facts[key]) in (int, float) for key in _NUMBERS):
        raise ValueError("a summary does not have numbers")
    if not isinstance(row.get("sha256"), str) or not isinstance(sample, list):
        raise ValueError("a large tensor has no sha256 or no sample")
    found = None if facts is None else Summary(tuple(row["shape"]), row["dtype"], **facts)
    return Saved(found, row["sha256"], tuple(sample), bool(row.get("exact values")))
