"""timm, from a folder of its own, on a PyTorch with or without CUDA.

timm imports torchvision, whose ordinary wheel has a compiled part for CUDA. On a PyTorch without CUDA that part does not
load, and then `import torchvision` fails, because it describes two operators that nobody declared. They are for detecting
objects: no model of timm's calls them. So where the compiled part does not load, they are declared here, without any code.

transformers imports torchvision wherever it finds it, and would fail alike; so the two lie where only this file looks for
them, in `.venv/peers`.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch

PEERS = Path(sys.prefix) / "peers" / "site-packages"
OPERATORS = ("nms", "qnms")


def timm() -> ModuleType:
    """timm, or ImportError where it or torchvision is not installed."""
    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    declare()
    import timm

    return timm


def declare() -> None:
    """See to it that torchvision finds its operators: its own, or else mere declarations of them."""
    found = find_spec("torchvision")
    if found is None or found.origin is None:
        raise ImportError("torchvision is not installed")
    try:
        torch.ops.load_library(next(Path(found.origin).parent.glob("_C.*")))
    except (OSError, StopIteration):  # it needs CUDA, or there is none
        for name in OPERATORS:
            if not hasattr(torch.ops.torchvision, name):
                torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
