"""What showing costs: `make bench-show`; `python bench/show.py --json` gives our own figures alone, for bench/against.py.

One thread on one core, processor time: a GPT of 4 layers, width 128, 64 tokens. Each measurement stands between two plain
forwards, and its ratio is taken to these, so that a machine that slows down slows both; the table has the medians. The
sides: full capture (every statement of the author's modules with operands and results), capture of one name, the plain
forward after a capture, and torch's DebugMode on the same model. `--environments FOLDER` measures TorchLens, TransformerLens
and nnsight too, each installed by pip into an environment of its own below the folder, and run in a process of its own
(TorchLens wraps PyTorch's functions for good). Then GPT-2 of 124 million parameters, shown to depth 3 with its replay, and
its page; the 2×2 attention with its gradients as text, 500 steps as HTML, and two commands with their start-up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from command import command_seconds
from torch import nn

ROUNDS = 40
WIDTH, HEADS, LAYERS, TOKENS, VOCABULARY = 128, 4, 4, 64, 256


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        S = q @ k.mT / math.sqrt(d // HEADS)
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        S = S.masked_fill(~mask, -math.inf)
        A = S.softmax(dim=-1)
        z = (A @ v).transpose(1, 2).reshape(b, t, d)
        return self.out(z)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.randn(TOKENS, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens) + self.position[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


def ours(model: GPT, tokens: Any) -> dict[str, Callable[[], Any]]:
    from workings.trace import capture

    return {
        "full capture": lambda: capture(model, tokens, replay=False),
        "capture of A": lambda: capture(model, tokens, replay=False, names={"A"}),
        "plain forward (capture off)": lambda: model(tokens),
    }


def example() -> tuple[GPT, Any]:
    """The model and its tokens, the same in every process."""
    torch.manual_seed(0)
    return GPT().eval(), torch.randint(0, VOCABULARY, (1, TOKENS))


def debug_mode(model: GPT, tokens: Any) -> dict[str, Callable[[], Any]]:
    with contextlib.suppress(ImportError):
        from torch.utils._debug_mode import DebugMode

        def debug() -> Any:
            with DebugMode():
                return model(tokens)

        return {"torch DebugMode": debug}
    return {}


def peers(folder: Path | None) -> dict[str, tuple[float, float]]:
    """The peers with an environment of their own, each in a process of its own."""
    from environment import environment
    from show_peers import PEERS

    if folder is None:
        print(f"{', '.join(PEERS)}: not measured; --environments FOLDER installs each in an environment of its own")
        return {}
    table: dict[str, tuple[float, float]] = {}
    for name, requirement in PEERS.items():
        try:
            python = environment(folder, requirement)
            ran = subprocess.run([python, Path(__file__).with_name("show_peers.py"), name], capture_output=True, text=True)
            ran.check_returncode()
            table |= json.loads(ran.stdout.splitlines()[-1])
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            said = ran.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
            print(f"{name}: does not run here ({said.strip().splitlines()[-1][:120]})")
    return table


def gpt2(rounds: int = 5) -> dict[str, float]:
    """GPT-2 of 124 million parameters with random weights, 128 tokens: how many forwards showing it takes, and its page."""
    from transformers import GPT2Config, GPT2LMHeadModel

    import workings

    model, tokens = GPT2LMHeadModel(GPT2Config()).eval(), torch.randint(0, 50257, (1, 128))
    with torch.no_grad():
        plain = partial(model, tokens)
        shown = ratios({"show": lambda: workings.show(model, tokens, depth=3)}, plain, rounds)["show"][1]
        page = workings.show(model, tokens, depth=3).html()
    return {"GPT-2 124 M, depth 3, with replay / forward": shown, "its page in MB": len(page.encode()) / 1e6}


def ratios(
    calls: dict[str, Callable[[], Any]], plain: Callable[[], Any], rounds: int = ROUNDS
) -> dict[str, tuple[float, float]]:
    """The median seconds of each, and the median of its ratio to the plain forwards before and after it."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, call in calls.items():
        try:
            call()
        except Exception as error:
            print(f"{name}: does not run here ({type(error).__name__}: {str(error)[:80]})")
        else:
            found[name] = []
    for _ in range(rounds):
        for name, measured in found.items():
            plain()  # what the last one left in the caches is not counted
            before, seconds, _, after = (seconds_of(call) for call in (plain, calls[name], plain, plain))
            measured.append((seconds, 2 * seconds / (before + after)))
    return {name: (median(s for s, _ in m), median(r for _, r in m)) for name, m in found.items()}


def seconds_of(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def timed(repeats: int) -> dict[str, float]:
    """Median seconds of what is shown, by name."""
    attention = ("show", "attention", "Q=1 0; 0 1", "K=1 1; 1 0", "V=2 0; 0 1")
    calls = {
        "2×2 attention with gradients as text": text_seconds,
        "500 steps as HTML": html_seconds,
        "workings show attention, 2×2": lambda: command_seconds(*attention),
        "workings --help": lambda: command_seconds("--help"),
    }
    text_seconds()  # imports
    return {name: median(call() for _ in range(repeats)) for name, call in calls.items()}


def text_seconds() -> float:
    import workings
    from workings.nn import attention

    Q, K, V = (workings.exact(torch.tensor(rows)) for rows in ([[1, 0], [0, 1]], [[1, 1], [1, 0]], [[2, 0], [0, 1]]))
    return seconds_of(lambda: [workings.show(attention, Q, K, V, backward=True).text() for _ in range(5)]) / 5


def html_seconds() -> float:
    """500 steps with 8×8 matrices as one page."""
    import workings

    def many(x: Any) -> Any:
        for _ in range(10):
            for _ in range(50):
                x = x @ x / 8
        return x

    work = workings.show(many, torch.randn(8, 8) / 8)
    return seconds_of(lambda: work.html(depth=4))


def main() -> None:
    parser = argparse.ArgumentParser(description="What showing costs, beside the peers.")
    parser.add_argument("--json", action="store_true", help="our own figures alone")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where peers get environments of their own")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    model, tokens = example()
    plain = partial(model, tokens)
    if options.json:
        with torch.no_grad():
            table = ratios(ours(model, tokens), plain, rounds=20)
        print(json.dumps({f"{name} / plain forward": ratio for name, (_, ratio) in table.items()} | timed(repeats=1)))
        return
    with torch.no_grad():
        table = ratios(ours(model, tokens), plain) | ratios(debug_mode(model, tokens), plain)
    for name, (seconds, ratio) in (table | peers(options.environments)).items():
        print(f"{name:48s}{1e3 * seconds:9.2f} ms {ratio:8.2f}×")
    for name, value in gpt2().items():
        print(f"{name:48s}{value:9.2f}")
    for name, seconds in timed(repeats=5).items():
        print(f"{name:48s}{seconds:9.3f} s")


if __name__ == "__main__":
    main()
