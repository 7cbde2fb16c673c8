"""How fast exact tensors are: `make bench-exact`; `python bench/exact.py --json` gives our own figures alone.

One run, processor time, medians of `REPEATS`, the three sides interleaved in one table:
    exact     two-head attention, forward, backward and certified decimals, entries in {−1, 0, 1}
    float64   the same code on ordinary tensors
    SymPy     the same equations on NumPy arrays of SymPy expressions (forward, the written-out backward, evalf); given up
              after `PATIENCE` seconds
then a GPT-2 of 26,752 parameters at T = 8, with its peak memory, the time of `import workings` and of a float
that `recover` cannot read.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import resource
import statistics
import subprocess
import sys
from time import process_time as clock
from typing import Any

SIZES = ((4, 4), (8, 8), (16, 16), (32, 16))
HEADS = 2
REPEATS = 5
PATIENCE = 30.0


def problem(n: int, d: int) -> list[Any]:
    """X and the four weights, integers in {−1, 0, 1}."""
    import torch

    torch.manual_seed(0)
    return [torch.randint(-1, 2, shape).double() for shape in ((n, d), *[(d, d)] * 4)]


def attention(leaves: list[Any]) -> Any:
    """Two heads, softmax(QKᵀ/√d)V, and the output projection."""
    X, WQ, WK, WV, WO = leaves
    n, d = X.shape
    Q, K, V = ((X @ W).reshape(n, HEADS, d // HEADS).transpose(0, 1) for W in (WQ, WK, WV))
    A = (Q @ K.mT / (d // HEADS) ** 0.5).softmax(-1)
    return (A @ V).transpose(0, 1).reshape(n, d) @ WO


def timed_torch(n: int, d: int, make: Any) -> tuple[float, float, float, int]:
    """Seconds of forward, backward and decimals, and how many distinct values came out."""
    leaves = [make(t).requires_grad_() for t in problem(n, d)]
    times = [clock()]
    Z = attention(leaves)
    times.append(clock())
    Z.sum().backward()
    times.append(clock())
    results = [Z.detach(), *[t.grad for t in leaves]]
    distinct = 0
    if hasattr(Z, "decimals"):
        for t in results:
            t.decimals(6)
        times.append(clock())
        distinct = len({v for t in results for v in t.elements()})
    else:
        times.append(times[-1])
    forward, backward, decimals = (b - a for a, b in itertools.pairwise(times))
    return forward, backward, decimals, distinct


def sympy_attention(n: int, d: int, channel: Any) -> None:
    """The same with plain SymPy: forward, the gradients by their matrix formulas, then six digits of everything."""
    import numpy as np
    import sympy as sp

    X, WQ, WK, WV, WO = (np.array([[sp.Integer(int(v)) for v in row] for row in t.tolist()], object) for t in problem(n, d))
    begun = clock()
    w = d // HEADS
    root = sp.sqrt(w)
    Z, grads = np.zeros((n, d), object), [np.zeros((d, d), object) for _ in range(3)]
    Q, K, V = X @ WQ, X @ WK, X @ WV
    dO = np.full((n, d), sp.Integer(1)) @ WO.T
    parts = []
    for h in range(HEADS):
        s = slice(h * w, (h + 1) * w)
        E = np.vectorize(sp.exp, otypes=[object])(Q[:, s] @ K[:, s].T / root)
        A = E / E.sum(1, keepdims=True)
        parts.append(A @ V[:, s])
        dA = dO[:, s] @ V[:, s].T
        dS = A * (dA - (A * dA).sum(1, keepdims=True)) / root
        for g, part in zip(grads, (dS @ K[:, s], dS.T @ Q[:, s], A.T @ dO[:, s]), strict=True):
            g[:, s] = X.T @ part
    Z = np.concatenate(parts, 1) @ WO
    for t in (Z, *grads):
        for v in t.ravel():
            sp.N(v, 6)
    channel.put(clock() - begun)


def timed_sympy(n: int, d: int) -> float | None:
    """Seconds, or None when the patience ran out."""
    context = multiprocessing.get_context("spawn")
    channel = context.Queue()
    process = context.Process(target=sympy_attention, args=(n, d, channel))
    process.start()
    process.join(PATIENCE + 5)
    if process.is_alive():
        process.kill()
        return None
    return float(channel.get())


def median(rows: list[tuple[float, float, float, int]]) -> tuple[float, float, float, int]:
    return tuple(statistics.median(column) for column in zip(*rows, strict=True))  # type: ignore[return-value]


def attention_table() -> list[dict[str, Any]]:
    from workings import exact

    timed_torch(4, 4, exact)  # imports and caches
    table = []
    gave_up = False
    for n, d in SIZES:
        exact_rows, float_rows = [], []
        for _ in range(REPEATS):
            exact_rows.append(timed_torch(n, d, exact))
            float_rows.append(timed_torch(n, d, lambda t: t.clone()))
        seconds = None if gave_up else timed_sympy(n, d)
        gave_up = gave_up or seconds is None
        forward, backward, decimals, distinct = median(exact_rows)
        table.append(
            {
                "n": n,
                "d": d,
                "forward": forward,
                "backward": backward,
                "decimals": decimals,
                "total": forward + backward + decimals,
                "distinct": int(distinct),
                "float64": sum(median(float_rows)[:2]),
                "sympy": seconds,
            }
        )
    return table


def gpt2() -> dict[str, float]:
    """A GPT-2 with 26,752 parameters, weights multiples of 1/2, eight tokens."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.utils import logging

    from workings import exact

    logging.set_verbosity_error()
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=32,
        n_positions=8,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    model = GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.copy_(((torch.rand_like(p) - 0.5) * 4).round() / 2)
    exact.exactify(model)
    tokens = torch.arange(8)[None]
    times = [clock()]
    loss = torch.nn.functional.cross_entropy(model(input_ids=tokens).logits[0], tokens[0])
    times.append(clock())
    loss.backward()
    times.append(clock())
    for p in model.parameters():
        p.grad.float64()
    times.append(clock())
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "forward": times[1] - times[0],
        "backward": times[2] - times[1],
        "floats": times[3] - times[2],
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def figures() -> dict[str, float]:
    """Our own seconds, for bench/against.py: the least of many runs, after a first one that fills the caches.

    Other processes, who share the caches and the core's units, only ever add to processor time.
    """
    from workings import exact

    found = {}
    for (n, d), runs in {(8, 8): 20, (32, 16): 8}.items():
        rows = [timed_torch(n, d, exact)[:3] for _ in range(runs + 1)][1:]
        parts = zip(("forward", "backward", "decimals"), map(min, zip(*rows, strict=True)), strict=True)
        found |= {f"attention {n}×{d} {name}": seconds for name, seconds in parts}
    rows = [gpt2() for _ in range(4)][1:]
    found |= {f"GPT-2 {name}": min(row[name] for row in rows) for name in ("forward", "backward", "floats")}
    return found | {"import": min(import_seconds() for _ in range(20))}


def import_seconds() -> float:
    code = "from time import process_time as t; s = t(); import workings; print(t() - s)"
    return float(subprocess.check_output([sys.executable, "-c", code]))


def recover_seconds() -> float:
    """A float that means nothing, told from the numbers people write."""
    from workings.exact.reading.recover import recover

    draw = random.Random(1)
    xs = [draw.uniform(-10, 10) for _ in range(5_000)]
    begun = clock()
    for x in xs:
        recover(x)
    return (clock() - begun) / len(xs)


def in_own_process(name: str) -> Any:
    return json.loads(subprocess.check_output([sys.executable, __file__, name]))


def main() -> None:
    if sys.argv[1:] in (["gpt2"], ["--json"]):
        print(json.dumps(gpt2() if sys.argv[1] == "gpt2" else figures()))
        return
    print("two-head attention, entries in {−1, 0, 1}; seconds, medians")
    print("   n   d  forward  backward  decimals    total  distinct  µs/value    float64    SymPy")
    for row in attention_table():
        sympy = f"{row['sympy']:8.2f}" if row["sympy"] is not None else f"  > {PATIENCE:.0f}"
        print(
            f"{row['n']:4d}{row['d']:4d}{row['forward']:9.3f}{row['backward']:10.3f}{row['decimals']:10.3f}{row['total']:9.3f}"
            f"{row['distinct']:10d}{1e6 * row['total'] / row['distinct']:10.1f}{row['float64']:11.5f} {sympy}"
        )
    runs = [in_own_process("gpt2") for _ in range(3)]
    run = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
    print(
        f"\nGPT-2, {run['parameters']:.0f} parameters, T = 8: forward {run['forward']:.2f} s, "
        f"backward {run['backward']:.2f} s, "
        f"all gradients as floats {run['floats']:.2f} s, peak memory {run['megabytes']:.0f} MB"
    )
    imported = statistics.median(import_seconds() for _ in range(REPEATS))
    print(f"import workings: {imported:.4f} s; a float that no one writes: {1e6 * recover_seconds():.0f} µs")


if __name__ == "__main__":
    main()
