"""The recipes for text beside others: `make bench-train`, or `python bench/train.py sentiment bigram …` for some rows.

One thread, CPU time, both sides in one run. Peers that are not installed (transformers, LitGPT, fastText …) are left out and
named. The texts come by the user's package client; `--text FILE` takes another one for the language models.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from train_peers import (
    BATCH,
    BLOCK,
    PlainGPT,
    TorchEncoder,
    adamw,
    hugging_face,
    lit_gpt,
    lit_tokens,
    nanogpt,
    numpy_bigram,
    x_transformers,
)

TINY = 1_115_394
"""Characters of the plays that are read: as many as the usual small Shakespeare file has."""


def row(name: str, figure: str, seconds: float | None = None) -> None:
    spent = "" if seconds is None else f"{seconds:8.1f} s CPU"
    print(f"  {name:52s}{figure:>24s}{spent}", flush=True)


@contextmanager
def plays(text: str) -> Iterator[str]:
    """The text file of the language models."""
    if text:
        yield text
        return
    from workings.train.data.texts import text as read

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plays.txt"
        path.write_text(read("shakespeare")[:TINY], encoding="utf-8")
        yield str(path)


def trained(name: str, report: Callable[[Any], None] | None = None, **given: Any) -> tuple[Any, Any, float]:
    """A recipe carried out: its task with the trained model, what happened, CPU seconds with reading the data."""
    from workings.train.loop.engine import train
    from workings.train.recipes import recipe

    found = recipe(name)
    settings = found.Settings(threads=1, **given)
    torch.manual_seed(settings.seed)
    began = time.process_time()
    task = found.task(settings)
    history = train(task, settings, name=name, report=report)
    return task, history, time.process_time() - began


def bench_shakespeare(text: str) -> None:
    """nanoGPT's configuration for a CPU beside our default, and both again for less time."""
    with plays(text) as path:
        size = len(Path(path).read_text(encoding="utf-8"))
        print(f"\ncharacters: {size:,} of text, loss on {102400:,} of the last tenth in windows of {BLOCK}")
        nano, ours = beside(path, 2000, None)
        for seconds in BUDGETS:
            beside(path, max(100, round(seconds / nano)), max(100, round(seconds / ours)))


BUDGETS = [int(s) for s in os.environ.get("BUDGETS", "30 90").split()]
"""CPU seconds. 600 belongs here too, and takes twenty minutes."""


def beside(path: str, plain_steps: int, steps: int | None) -> tuple[float, float]:
    """Both trained, a tenth of each in turn, and judged by the same windows; CPU seconds of a step of each."""
    from workings.train.recipes.shakespeare import ShakespeareSettings
    from workings.train.tasks.shakespeare import figures, split
    from workings.train.text.vocabulary import Alphabet

    whole = Path(path).read_text(encoding="utf-8")
    train, held_out = split(Alphabet.of(whole).encode(whole), BLOCK)
    torch.manual_seed(0)
    plain = PlainGPT(len(Alphabet.of(whole)))
    updates, spent = nanogpt(plain, train, plain_steps), 0.0

    def turn(_: Any) -> None:
        nonlocal spent
        began = time.process_time()
        for _ in zip(range(plain_steps // 10), updates, strict=False):
            pass
        spent += time.process_time() - began

    given = {} if steps is None else {"steps": steps}
    task, history, both = trained("shakespeare", turn, text=path, **given)
    own = both - spent
    while next(updates, "over") != "over":  # what is left of the other's steps
        turn(None)
    with torch.no_grad():
        L = figures(plain, held_out[:102400], BLOCK)["loss"]
        long = figures(task.model.eval(), held_out[:102400], 4 * BLOCK)["loss"]
    count = ShakespeareSettings().steps if steps is None else steps
    row(f"nanoGPT's CPU configuration, {plain_steps} steps, {size(plain)} parameters", f"{L:.3f}", spent)
    row(f"workings train shakespeare, {count} steps, {size(task.model)}", f"{history.rows[-1]['loss']:.3f}", own)
    row("  the same weights, reading on for 256 characters", f"{long:.3f}")
    return spent / plain_steps, own / count


def bench_throughput(text: str) -> None:
    """Training steps of nanoGPT's architecture, in turn."""
    from workings.models.language_model import LanguageModel

    print("\nnanoGPT's architecture, characters learned from in a second of CPU time")
    tokens = torch.randint(65, (BATCH, BLOCK + 1))
    torch.manual_seed(0)
    models: dict[str, nn.Module] = {
        "nanoGPT's, in plain PyTorch": PlainGPT(65),
        "workings LanguageModel": LanguageModel(65, 128, 4, 4, positions="learned", context=BLOCK, bias=False),
    }
    losses: dict[str, Callable[[], Tensor]] = {name: lambda m=m: m.loss(tokens) for name, m in models.items()}  # type: ignore[misc]
    if (gpt2 := hugging_face(BLOCK)) is not None:
        models["Hugging Face GPT-2"] = gpt2
        losses["Hugging Face GPT-2"] = lambda: gpt2(tokens[:, :-1], labels=tokens[:, :-1]).loss
    others = {"x-transformers": x_transformers(), "LitGPT": lit_gpt(BLOCK), "nn.TransformerEncoder": TorchEncoder(65)}
    for name, peer in others.items():
        if peer is not None:
            models[name] = peer
            losses[name] = lambda m=peer: F.cross_entropy(m(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())  # type: ignore[misc]
    rules = {name: adamw(m) for name, m in models.items()}

    def step(name: str) -> None:
        rules[name].zero_grad()
        losses[name]().backward()
        rules[name].step()

    for name, seconds in in_turn({name: lambda name=name: step(name) for name in models}, 30).items():  # type: ignore[misc]
        row(name, f"{BATCH * BLOCK / seconds:,.0f} a second")


def bench_steps(text: str) -> None:
    """What `fit` adds to a step of a bare loop, in turn: the model is so small that the loop itself shows."""
    from workings.train import Training, fit

    x, steps = torch.randn(16, 8), 400

    def bare() -> None:
        model = nn.Linear(8, 8)
        groups = [{"params": [model.weight]}, {"params": [model.bias]}]
        rule = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0, fused=True)
        for _ in range(steps):
            L = model(x).square().mean()
            L.backward()
            rule.step()
            rule.zero_grad()
            L.item()

    def ours() -> None:
        fit(nn.Linear(8, 8), lambda step: x, lambda m, b: m(b).square().mean(), settings=Training(steps=steps))

    print("\na step of AdamW on a layer of 8 × 8, CPU time")
    for name, seconds in in_turn({"a bare loop": bare, "workings fit": ours}, 7).items():
        row(name, f"{1e6 * seconds / steps:.0f} µs a step")


def bench_generation(text: str) -> None:
    """Writing token by token with a cache, in turn; greedy with and without cache must agree."""
    from workings.models.character_transformer import CharacterTransformer
    from workings.models.decoding.search import greedy, sample
    from workings.models.language_model import LanguageModel

    print("\ntokens drawn in a second of CPU time, 200 from the first, with a cache")
    torch.manual_seed(0)
    same, ours = LanguageModel(65, 128, 4, 4, positions="learned", context=256).eval(), CharacterTransformer(65).eval()
    nn.init.normal_(ours.W)
    calls: dict[str, Callable[[], Any]] = {
        "workings LanguageModel, 4 layers of width 128": lambda: list(sample(same, [1], 200)),
        "workings CharacterTransformer, the recipe's default": lambda: list(sample(ours, [1], 200)),
    }
    for model in (same, ours):
        assert list(greedy(model, [1], 200)) == list(greedy(model, [1], 200, cache=False))
    if (gpt2 := hugging_face(256)) is not None:
        start, how = torch.tensor([[1]]), {"do_sample": True, "top_k": 0, "use_cache": True}
        calls["Hugging Face GPT-2, 4 layers of width 128"] = lambda: gpt2.generate(start, max_new_tokens=200, **how)
    if (lit := lit_gpt(256)) is not None:
        lit.eval().set_kv_cache(1)
        calls["LitGPT, 4 layers of width 128"] = lambda: lit_tokens(lit, 200)
    with torch.no_grad():
        found = in_turn(calls, 8)
    slowest = max(found.values())
    for name, seconds in found.items():
        row(name, f"{200 / seconds:,.0f} a second ({slowest / seconds:.1f}×)")


def bench_bigram(text: str, dev: str = "") -> None:
    """Dev perplexity of words: counts, our network, the classic NumPy network."""
    from workings.train.tasks.bigram import encode, sentences, vocabulary

    task, history, seconds = trained("bigram", dev=dev, **({"text": text} if text else {}))
    last = history.rows[-1]
    judge, unknown = dev or "the last tenth of the lines", last["unknown_share"]
    print(f"\nwords: {len(task.model.E):,}, perplexity on {judge} ({unknown:.1%} unknown)")
    row("interpolated Kneser–Ney counts", f"{last['kneser_ney_perplexity']:.2f}")
    row("workings train bigram", f"{last['perplexity']:.2f}", seconds)
    train, dev, _ = sentences(text or "shakespeare", dev)
    words = vocabulary(train, 2000)
    tokens, judges = (encode(part, words).numpy() for part in (train, dev))
    v, count = np.unique(judges[:-1] * len(words) + judges[1:], return_counts=True)
    for name, spread in (("unit-normal", lambda n: 1.0), ("small", lambda n: n**-0.5)):
        began = time.process_time()
        network = numpy_bigram(vectors(words.words), tokens, spread)
        spent = time.process_time() - began
        log_p = np.log(network(np.arange(len(words)))[v // len(words), v % len(words)])
        row(f"classic NumPy network, {name} weights", f"{exp(-(log_p * count).sum() / count.sum()):.2f}", spent)


def vectors(words: list[str]) -> np.ndarray:
    """GloVe, or random vectors where it cannot be read."""
    from workings.errors import WorkingsError
    from workings.train.text.vectors import vectors as named

    try:
        return named("glove").table(words).double().numpy()
    except WorkingsError as error:
        print(f"  (random vectors: {error})")
        return np.random.default_rng(1).standard_normal((len(words), 50))


def bench_sentiment(text: str) -> None:
    """Film reviews: accuracy on 5,000, the same for all."""
    from workings.train.data.reviews import reviews

    data = reviews()
    print(f"\nfilm reviews: {len(data.train):,} to learn from, accuracy on {len(data.test):,} others, after the last step")
    for n in (1, 2):
        _, history, seconds = trained("sentiment", ngrams=n)
        row(f"workings train sentiment --ngrams {n}", f"{history.rows[-1]['accuracy']:.1%}", seconds)
    texts, y = [t for t, _ in data.train], [c for _, c in data.train]
    for n in (1, 2):
        began = time.process_time()
        accuracy = tf_idf(texts, y, n, data)
        row(f"TF-IDF + logistic regression, n-grams up to {n}", f"{accuracy:.1%}", time.process_time() - began)
    for n in (1, 2):
        fast_text(data, n)


def tf_idf(texts: list[str], y: list[int], n: int, data: Any) -> float:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(ngram_range=(1, n), min_df=2, sublinear_tf=True), LogisticRegression(C=10))
    model.fit(texts, y)
    return float(model.score([t for t, _ in data.test], [c for _, c in data.test]))


def fast_text(data: Any, n: int) -> None:
    try:
        import fasttext
    except ImportError:
        return print("  (fastText is not installed: pip install fasttext-wheel)")
    from workings.train.text.vocabulary import cut

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("train", "test")]
        for path, rows in zip(paths, (data.train, data.test), strict=True):
            Path(path).write_text("".join(f"__label__{c} {' '.join(cut(t))}\n" for t, c in rows), encoding="utf-8")
        began = time.process_time()
        model = fasttext.train_supervised(paths[0], wordNgrams=n, epoch=10, lr=0.5, dim=50, thread=1, verbose=0)
        row(f"fastText, n-grams up to {n}", f"{model.test(paths[1])[1]:.1%}", time.process_time() - began)


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median CPU seconds of each, one after the other in every round, after a round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            began = time.process_time()
            call()
            times[name].append(time.process_time() - began)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def size(model: nn.Module) -> str:
    return f"{sum(p.numel() for p in model.parameters()) / 1e3:,.0f} k"


BENCHES: dict[str, Callable[..., None]] = {
    "sentiment": bench_sentiment,
    "bigram": bench_bigram,
    "throughput": bench_throughput,
    "steps": bench_steps,
    "generation": bench_generation,
    "shakespeare": bench_shakespeare,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", help=f"some of: {', '.join(BENCHES)}")
    parser.add_argument("--text", default="", help="a text file for the language models")
    parser.add_argument("--dev", default="", help="a text file that bigrams are judged by, such as ptb.valid.txt")
    given = parser.parse_args()
    if unknown := [name for name in given.which if name not in BENCHES]:
        parser.error(f"{unknown[0]} is not one of {', '.join(BENCHES)}")
    torch.set_num_threads(1)
    for name in given.which or BENCHES:
        BENCHES[name](given.text, *([given.dev] if name == "bigram" else []))


if __name__ == "__main__":
    main()
