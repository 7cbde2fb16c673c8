"""One piece of foreign code, measured: it is run as it is, then shown, and the two are compared.

All is computed in double precision, so that a wrong gradient stands out from rounding. The object and its inputs are made
anew, from the same seed, for each run.
"""

from __future__ import annotations

import functools
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foreign_compare as compare
import numpy as np
import statements
import torch
from foreign_import import check_there, load
from foreign_inputs import arguments, find
from foreign_list import Piece
from torch import nn
from torch.utils._pytree import tree_map

from workings.errors import WorkingsError
from workings.show import Work, show

_SEED = 7


def measure(piece: Piece, foreign: Path, keep: Callable[[str, str], None] | None = None) -> dict[str, Any]:
    """The figures of a piece; `keep` receives its text and its page."""
    check_there(piece, foreign)
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float32 if piece.single else torch.float64)
    home, own = load(piece, foreign)

    def make(vary: Callable[[Any], Any] | None = None) -> tuple[Any, Any]:
        """The call, and the object it is on: made anew from the seed."""
        _seed()
        subject = find(piece.callable, home)
        if piece.new is not None:
            args, named = arguments(piece.new, home)
            subject = subject(*args, **named)
        if isinstance(subject, nn.Module):
            subject.train(piece.train)
        called = getattr(subject, piece.method) if piece.method else subject
        args, named = arguments(piece.inputs, home)
        if vary is not None:
            args, named = tree_map(vary, (args, named))
        _seed()
        return functools.partial(called, *args, **named), subject

    figures: dict[str, Any] = {}
    with torch.set_grad_enabled(piece.backward):
        call, _ = make()
        begun = time.perf_counter()
        call()
        figures["plain_seconds"] = time.perf_counter() - begun
        ran, subject = _plainly(make, own, piece.backward)
    begun = time.perf_counter()
    work, figures["backward_refused"] = _shown(piece, make)
    figures["show_seconds"] = time.perf_counter() - begun
    if work.error is not None:
        figures["stopped"] = f"{type(work.error).__name__}: {work.error}"[:300]
    figures |= compare.compare_statements(work, ran) | compare.compare_values(work, ran)
    figures["false"] = compare.false_equations(work)
    figures["agreement"], figures["notes"] = work.agreement, work.notes
    figures["step_notes"] = sorted(
        {s.note[:160] for s in work.steps() if "not shown" in s.note or "cannot be shown" in s.note}
    )
    figures |= compare.gradient_lines(work)
    parameters = dict(subject.named_parameters()) if isinstance(subject, nn.Module) else {}
    figures |= compare.compare_gradients(work, ran, parameters, own)
    begun = time.perf_counter()
    text, page = work.text(), work.html()
    figures["print_seconds"] = time.perf_counter() - begun
    figures["text_lines"], figures["page_bytes"] = text.count("\n") + 1, len(page.encode())
    figures["longest_line"] = max(map(len, text.split("\n")))
    if keep is not None:
        keep(text, page)
    return figures


def _seed() -> None:
    torch.manual_seed(_SEED)
    np.random.seed(_SEED)
    random.seed(_SEED)


def _plainly(make: Callable[..., tuple[Any, Any]], own: tuple[str, ...], backward: bool) -> tuple[statements.Ran, Any]:
    """The plain run, and the object it is on; on copies of the inputs where the code changes them in place."""
    call, subject = make(_varying if backward else None)
    try:
        return statements.run(call, own), subject
    except RuntimeError as error:
        if "a leaf Variable that requires grad" not in str(error):
            raise
    call, subject = make(lambda value: v.clone() if isinstance(v := _varying(value), torch.Tensor) else v)
    return statements.run(call, own), subject


def _varying(value: Any) -> Any:
    """An input that autograd follows, as `show` follows it."""
    return value.detach().requires_grad_() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _shown(piece: Piece, make: Callable[..., tuple[Any, Any]]) -> tuple[Work, str]:
    """The work with its gradients; without them where `show` refuses, and why."""
    call, _ = make()
    if not piece.backward:
        with torch.no_grad():
            return show(call, depth=piece.depth), ""
    try:
        return show(call, depth=piece.depth, backward=True, loss=piece.loss or None), ""
    except WorkingsError as refused:
        call, _ = make()
        return show(call, depth=piece.depth), str(refused)
