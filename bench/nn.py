"""What the layers cost beside PyTorch's own: `make bench-nn`; `python bench/nn.py --json` gives a few of the ratios.

One run, one thread, processor time, the two sides interleaved, medians and their ratio: `workings.nn.attention` beside the
fused kernel it calls, and a `Block` beside `nn.TransformerEncoderLayer`, forward and backward in training. Then the memory
of attention over n: the fused kernel keeps no n × n scores, so twice the tokens take twice the memory, not four times.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

HEADS, WIDTH = 4, 64
TOKENS = (64, 128, 256, 512, 1024, 2048, 4096)
BLOCKS = ((64, 64), (128, 64), (128, 256), (256, 128), (512, 128))
"""Width and tokens of a block."""


def medians(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float = 1.5) -> tuple[float, float, float]:
    """Median seconds of each, and the median ratio of neighbours in time; who goes first alternates."""
    ours(), theirs()
    pairs: list[tuple[float, float]] = []
    begun = time.perf_counter()
    while len(pairs) < 10 or (time.perf_counter() - begun < seconds and len(pairs) < 400):
        if len(pairs) % 2:
            second = clock(theirs)
            pairs.append((clock(ours), second))
        else:
            pairs.append((clock(ours), clock(theirs)))
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def clock(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def row(name: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    a, b, ratio = medians(ours, theirs)
    print(f"{name:34s}{1e3 * a:10.3f} ms {1e3 * b:10.3f} ms {ratio:8.3f}×", flush=True)


def attention_pair(n: int, causal: bool) -> tuple[str, Callable[[], Any], Callable[[], Any]]:
    """The name of a row, our call and PyTorch's."""
    from workings.nn import attention

    Q, K, V = torch.randn(3, 1, HEADS, n, WIDTH)
    ours = partial(attention, Q, K, V, causal=causal)
    theirs = partial(F.scaled_dot_product_attention, Q, K, V, is_causal=causal)
    return f"{'causal ' if causal else ''}attention, n = {n}", ours, theirs


def block_pair(width: int, n: int, norm: str) -> tuple[str, Callable[[], Any], Callable[[], Any]]:
    from workings.nn import Block

    X = torch.randn(8, n, width)
    ours = Block(width, HEADS, norm=norm)
    theirs = nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    return f"{norm}-norm block, d = {width}, n = {n}", partial(step, ours, X), partial(step, theirs, X)


def step(model: nn.Module, X: Any) -> None:
    """Forward and backward, as in training."""
    model.zero_grad()
    model(X).square().mean().backward()


def grown(n: int) -> float:
    """Megabytes that attention over n tokens takes at its peak in a fresh process, beyond Q, K and V."""
    command = [sys.executable, __file__, "memory", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def memory(n: int) -> float:
    from workings.nn import attention

    with torch.no_grad():
        attention(*torch.randn(3, 1, HEADS, 64, WIDTH))
        Q, K, V = torch.randn(3, 1, HEADS, n, WIDTH)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
        before = peak()
        attention(Q, K, V, causal=True)
        return peak() - before


def peak() -> float:
    """The largest resident memory so far, in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def memory_rows() -> None:
    print(f"\n{'peak memory of attention':34s}{'workings':>13s} {'n × n scores':>14s}")
    if not Path("/proc/self/clear_refs").exists():
        print("(measured on Linux only)")
        return
    for n in (2048, 4096, 8192):
        print(f"n = {n:<30d}{grown(n):10.1f} MB {HEADS * n * n * 4 / 2**20:11.1f} MB", flush=True)


def figures() -> dict[str, float]:
    """Our time divided by PyTorch's, for bench/against.py."""
    attentions = [attention_pair(n, causal) for n in (64, 512) for causal in (False, True)]
    blocks = [block_pair(width, n, norm) for width, n in BLOCKS[:2] for norm in ("pre", "post")]
    found = {}
    for with_gradients, pairs in ((False, attentions), (True, blocks)):
        with torch.set_grad_enabled(with_gradients):
            found |= {f"{name} / torch": medians(ours, theirs, seconds=0.4)[2] for name, ours, theirs in pairs}
    return found


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if sys.argv[1:2] == ["memory"]:
        print(memory(int(sys.argv[2])))
    elif sys.argv[1:] == ["--json"]:
        print(json.dumps(figures()))
    else:
        print_tables()


def print_tables() -> None:
    print(f"{'':34s}{'workings':>13s} {'torch':>13s} {'ratio':>9s}")
    for causal in (False, True):
        for n in TOKENS:
            with torch.no_grad():
                row(*attention_pair(n, causal))
    for norm in ("pre", "post"):
        for width, n in BLOCKS:
            row(*block_pair(width, n, norm))
    memory_rows()


if __name__ == "__main__":
    main()
