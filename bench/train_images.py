"""The recipes of pictures and short sequences at full length, and the ViT beside others: `python bench/train_images.py`.

    python bench/train_images.py                 the ViT's speed beside timm's and transformers' of the same size
    python bench/train_images.py RECIPE …        full runs of these recipes (`all` is every one), in one thread

The peers have the same patches, width, depth, heads and classes. All learn (forward, backward) and then answer (forward), in
float32, one thread, interleaved: medians, and the median of the ratios to our time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

BATCH, SIDE, PATCH, WIDTH, DEPTH, HEADS, CLASSES = 128, 28, 7, 64, 4, 4, 10
OUT = Path("runs/bench")
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn": ("digits", dict(data="mnist", steps=1500)),
    "street": ("digits", dict(data="mnist", model="street", steps=1500)),
    "vit": ("digits", dict(data="mnist", model="vit")),
    "autoencoder": ("autoencoder", dict(data="mnist")),
    "vae": ("vae", dict(data="mnist")),
    "clip": ("clip", dict(evaluate_every=400)),
    "siglip": ("siglip", dict(evaluate_every=400)),
    "sort": ("sort", {}),
    "sounds": ("seq2seq", dict(data="sounds", evaluate_every=750)),
    "verses": ("seq2seq", dict(data="verses", width=128, batch=48, steps=2000, test=200, evaluate_every=500)),
}


def ours() -> nn.Module:
    from workings.models.vit import ViT

    return ViT(SIDE, PATCH, WIDTH, DEPTH, HEADS, CLASSES, channels=1)


class HuggingFace(nn.Module):
    """transformers' ViT of the same size, for logits."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTForImageClassification

        config = ViTConfig(
            hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS, intermediate_size=4 * WIDTH,
            image_size=SIDE, patch_size=PATCH, num_channels=1, num_labels=CLASSES,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        self.model = ViTForImageClassification(config)

    def forward(self, x: Any) -> Any:
        return self.model(x).logits


def timms() -> nn.Module:
    """timm's ViT of the same size."""
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.timm_here import timm

    model: nn.Module = timm().models.VisionTransformer(
        img_size=SIDE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH, num_heads=HEADS, num_classes=CLASSES, in_chans=1
    )
    return model


VITS: dict[str, Callable[[], nn.Module]] = {"workings": ours, "timm": timms, "transformers": HuggingFace}


def those_here() -> dict[str, nn.Module]:
    """The models whose libraries are installed; what is missing is named."""
    found = {}
    for name, make in VITS.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"(no ViT of {name}: {error}; `make test` installs it)")
    return found


def learning(model: nn.Module) -> Callable[[], None]:
    """A forward and a backward pass of one batch."""
    x, y = torch.rand(BATCH, 1, SIDE, SIDE), torch.randint(0, CLASSES, (BATCH,))

    def step() -> None:
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()

    return step


def answering(model: nn.Module) -> Callable[[], None]:
    """A forward pass of one batch, for its answers only."""
    x = torch.rand(BATCH, 1, SIDE, SIDE)

    def step() -> None:
        with torch.inference_mode():
            model(x)

    return step


def clock(call: Callable[[], None]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def vits(rounds: int = 40) -> None:
    """Pictures per second of CPU time of each, the order turned round in every other round."""
    models = those_here()
    for what, making in {"forward and backward": learning, "forward only": answering}.items():
        steps = {name: making(model.train(making is learning)) for name, model in models.items()}
        times: dict[str, list[float]] = {name: [] for name in steps}
        for turn in range(rounds + 3):
            for name in [*steps][:: 1 if turn % 2 else -1]:
                seconds = clock(steps[name])
                if turn >= 3:
                    times[name].append(seconds)
        print(what)
        for name, model in models.items():
            count = sum(p.numel() for p in model.parameters())
            ratio = statistics.median(b / a for a, b in zip(times["workings"], times[name], strict=True))
            speed = BATCH / statistics.median(times[name])
            print(f"  ViT of {name:14s}{count:9,d} parameters {speed:9,.0f} pictures/s{ratio:8.2f}× our time")


def full(name: str) -> None:
    """One recipe to its end; its figures with the CPU time they took."""
    from workings.train.loop.engine import train
    from workings.train.recipes import recipe
    from workings.train.run.run import Run

    which, given = RUNS[name]
    found = recipe(which)
    settings = found.Settings(**given)
    torch.manual_seed(settings.seed)
    task = found.task(settings)
    begun = time.process_time()
    history = train(task, settings, Run(OUT / name), name=which)
    seconds = time.process_time() - begun
    figures = {key: value for key, value in history.best.items() if key not in ("seconds", "rate", "train")}
    count = sum(p.numel() for p in task.model.parameters())
    print(f"{name}: {count:,} parameters, {settings.steps} steps, {seconds:.0f} s of CPU")
    print("  " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)
    if name == "vae":
        sheets(task)


def sheets(task: Any) -> None:
    """Grids of samples and of lines between pictures, and how many samples a CNN that was trained before reads surely."""
    from workings.train.evaluation.open import open_run
    from workings.train.tasks.drawing import grid, save
    from workings.train.tasks.vae import between, draws

    model = task.model.eval()
    x = task.batches(0)
    made = draws(model, x.shape[1:], 640, seed=0)
    save(grid(made[:64], 16), OUT / "vae" / "samples.png")
    save(grid(between(model, x[:6], x[6:12], 12), 12), OUT / "vae" / "between.png")
    print(f"  {OUT / 'vae' / 'samples.png'}, {OUT / 'vae' / 'between.png'}")
    if (OUT / "cnn").is_dir():
        with torch.no_grad():
            p = open_run(OUT / "cnn").model(made).softmax(dim=1).amax(dim=1)
        print(f"  the CNN reads {(p > 0.9).double().mean():.0%} of 640 samples with more than 90 %")


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    unknown = [name for name in names if name not in (*RUNS, "all")]
    if unknown:
        raise SystemExit(f"{unknown[0]} is none of: {', '.join(RUNS)}, all")
    if not names:
        vits()
    for name in [*RUNS] if "all" in names else names:
        full(name)


if __name__ == "__main__":
    main(sys.argv[1:])
