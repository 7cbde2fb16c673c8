"""PyTorch's own operator database (OpInfo) on exact tensors, forward and backward.

Protocol: sample inputs are snapped to multiples of 1/16, so that they are exact; samples of at most 64 elements,
at most 30 an entry (entries whose samples are all larger: 2,000 elements, 6 samples). The same call runs in float64
and on exact tensors; results must agree to 1e-7 and gradients to 1e-6. An entry passes when all its samples do. Random
operations are not counted, nor
entries without a real floating-point sample.
"""

from __future__ import annotations

import contextlib
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

from workings import exact
from workings.errors import DomainError, WorkingsError
from workings.exact import ExactTensor

FORWARD, BACKWARD = 1e-7, 1e-6
SECONDS = 40
RANDOM = frozenset(
    """
    bernoulli cauchy exponential geometric log_normal normal multinomial rand_like randint randint_like randn randn_like
    uniform nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout
    nn.functional.feature_alpha_dropout nn.functional.rrelu pca_lowrank svd_lowrank nn.functional.fractional_max_pool2d
    nn.functional.fractional_max_pool3d empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_
    resize_as_
    """.split()
)


class Timeout(Exception):
    """A sample took too long."""


class Skip(Exception):
    """A sample that says nothing about exact tensors."""


@dataclass
class Outcome:
    """What came of one entry: `status` is pass, differs, unsupported, error, timeout, random or untestable."""

    name: str
    status: str
    reason: str = ""
    samples: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def entries() -> list[Any]:
    """The entries that have a float64 form."""
    return [op for op in op_db if torch.float64 in op.dtypes]


def name_of(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def check(op: Any, most: int = 30) -> Outcome:
    """Run one entry."""
    if op.name in RANDOM or op.name.startswith("jiterator"):
        return Outcome(name_of(op), "random")
    outcome = _check(op, size=64, most=most)
    return outcome if outcome.status != "untestable" else _check(op, size=2000, most=min(most, 6))


def _check(op: Any, size: int, most: int) -> Outcome:
    outcome = Outcome(name_of(op), "untestable")
    begun = time.monotonic()
    for sample in _samples(op, outcome):
        if sum(n for status, n in outcome.samples.items() if status != "skip") >= most or time.monotonic() - begun > 60:
            break
        status, reason = _attempt(op, sample, size)
        outcome.samples[status] += 1
        if status not in ("pass", "skip") and not outcome.reason:
            outcome.status, outcome.reason = status, reason
        elif status == "pass" and outcome.status == "untestable":
            outcome.status = "pass"
    outcome.seconds = round(time.monotonic() - begun, 2)
    return outcome


def _samples(op: Any, outcome: Outcome) -> Iterator[Any]:
    torch.manual_seed(1)
    try:
        yield from op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)
    except Exception as reason:  # the database itself cannot make a sample here
        outcome.reason = f"no sample: {reason}"[:160]


def _attempt(op: Any, sample: Any, size: int) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _time_limit(SECONDS):
                return _compare(op, sample, size)
        except Skip as reason:
            return "skip", str(reason)
        except Timeout:
            return "timeout", f"a sample took over {SECONDS} s"
        except (DomainError, NotImplementedError) as reason:
            return "unsupported", _line(reason)
        except (WorkingsError, Exception) as reason:
            return "error", f"{type(reason).__name__}: {_line(reason)}"


def _line(reason: BaseException) -> str:
    return " ".join(str(reason).split())[:200]


@contextlib.contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise Timeout

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _compare(op: Any, sample: Any, size: int) -> tuple[str, str]:
    call = (sample.input, sample.args, sample.kwargs)
    tensors = [t for t in tree_flatten(call)[0] if isinstance(t, torch.Tensor)]
    _worth_running(op, sample, tensors, size)
    wants_grad = [t.requires_grad for t in tensors]
    plain = tree_map(_snapped, call)
    torch.manual_seed(0)
    try:
        expected, expected_grads = _run(op, plain, wants_grad, lambda t: t.clone())
    except Timeout:
        raise
    except Exception as reason:
        raise Skip(f"PyTorch itself: {reason}") from None
    if any(isinstance(t, torch.Tensor) and (t.is_complex() or t.layout != torch.strided) for t in expected):
        raise Skip("complex or sparse result")
    torch.manual_seed(0)
    with exact.mode():
        found, found_grads = _run(op, plain, wants_grad, _exact)
    return _verdict(tensors, expected, expected_grads, found, found_grads)


def _worth_running(op: Any, sample: Any, tensors: list[torch.Tensor], size: int) -> None:
    if not tensors:
        raise Skip("no tensor")
    if any(t.numel() > size for t in tensors):
        raise Skip("large")
    if any(t.is_complex() or t.layout != torch.strided for t in tensors):
        raise Skip("complex or sparse")
    attention = op.name == "nn.functional.multi_head_attention_forward"
    dropout = (
        attention and sample.kwargs.get("training", True) and any(a in (0.5, 0.2) for a in sample.args if type(a) is float)
    )
    if sample.kwargs.get("dropout_p") or dropout:
        raise Skip("random")


def _snapped(t: Any) -> Any:
    if not isinstance(t, torch.Tensor):
        return t
    t = t.detach().clone()
    return torch.where(t.isfinite(), (t * 16).round() / 16, t) if t.dtype == torch.float64 else t


def _exact(t: torch.Tensor) -> torch.Tensor:
    return exact(t) if t.dtype == torch.float64 else t.clone()


def _run(op: Any, call: Any, wants_grad: list[bool], make: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    wants = iter(wants_grad)
    leaves: list[torch.Tensor] = []

    def leaf(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        made = make(t)
        if next(wants):
            made.requires_grad_()
            leaves.append(made)
        return made

    first, args, kwargs = tree_map(leaf, call)
    results = [r for r in tree_flatten(op.op(first, *args, **kwargs))[0] if isinstance(r, (torch.Tensor, int, float, bool))]
    heads = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad and r.is_floating_point()]
    if not (op.supports_autograd and leaves and heads):
        return results, []
    return results, list(torch.autograd.grad(heads, leaves, [_cotangent(h) for h in heads], allow_unused=True))


def _cotangent(head: torch.Tensor) -> torch.Tensor:
    plain = torch.tensor([(i % 5) - 1.5 for i in range(head.numel())], dtype=torch.float64).reshape(head.shape)
    return exact(plain).to(head.dtype) if isinstance(head, ExactTensor) else plain.to(head.dtype)


def _verdict(tensors: Any, expected: Any, expected_grads: Any, found: Any, found_grads: Any) -> tuple[str, str]:
    if len(found) != len(expected):
        return "differs", f"{len(found)} results, not {len(expected)}"
    narrow = {t.dtype for t in expected if isinstance(t, torch.Tensor) and t.is_floating_point()}
    tolerance = 2e-2 if narrow & {torch.float16, torch.bfloat16} else 1e-4 if torch.float32 in narrow else FORWARD
    for a, b in zip(found, expected, strict=True):
        if not _close(a, b, tolerance):
            return "differs", f"forward {_short(a)} instead of {_short(b)}"
    if any(t.dtype == torch.float64 for t in tensors) and any(_fell_out(a) for a in found):
        return "differs", "the result is not exact"
    for a, b in zip(found_grads, expected_grads, strict=True):
        one = a if b is None else b
        if (a is None) != (b is None):
            if not _close(one, torch.zeros(one.shape), BACKWARD):
                return "differs", "a gradient is missing"
        elif a is not None and not _close(a, b, BACKWARD):
            return "differs", f"backward {_short(a)} instead of {_short(b)}"
    return "pass", ""


def _plain(a: Any) -> Any:
    return a.detach().float64() if isinstance(a, ExactTensor) else a.detach() if isinstance(a, torch.Tensor) else a


def _close(a: Any, b: Any, tolerance: float) -> bool:
    a, b = _plain(a), _plain(b)
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return bool(a == b or (a != a and b != b) or abs(a - b) <= tolerance * (1 + abs(b)))
    if a.shape != b.shape:
        return False
    return torch.allclose(a.to(torch.float64), b.to(torch.float64), rtol=tolerance, atol=tolerance, equal_nan=True)


def _fell_out(a: Any) -> bool:
    """Whether a result is an ordinary float tensor with fractions: then something left the exact domain."""
    if type(a) is not torch.Tensor or not a.is_floating_point():
        return False
    return bool((a != a.round()).any())


def _short(a: Any) -> str:
    return " ".join(str(_plain(a)).split())[:100]
