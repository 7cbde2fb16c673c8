"""More than one process: each takes its slice of the batch, and gradients are averaged.

    torchrun --nproc-per-node 2 -m workings train digits

Process r of R has n_r of a batch's n terms. PyTorch averages over processes, so that with L_r the mean over its own terms,

    L = Σ_r (n_r/n) L_r = 1/R Σ_r (R n_r/n) L_r

and each process goes back from (R n_r/n) L_r. Every process makes the whole batch of a step and cuts its slice; the first
alone writes and prints, and its word counts where all must decide alike.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError


@dataclass(frozen=True)
class World:
    """The processes of a run; alone, every method gives back what it was given."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def total(self, values: list[float]) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(sums)
        return sums.tolist()

    def broadcast(self, value: Any) -> Any:
        """What the first process has: plain data, sent as JSON."""
        if self.size == 1:
            return value
        # PyTorch's own way to send objects pickles them; here whatever one process can send, another may run.
        text = json.dumps(value).encode() if self.first else b""
        length = torch.tensor([len(text)])
        torch.distributed.broadcast(length, 0)
        sent = torch.frombuffer(bytearray(text or bytes(int(length))), dtype=torch.uint8)
        torch.distributed.broadcast(sent, 0)
        return json.loads(bytes(sent.tolist()))


def join() -> World:
    """The processes that torchrun started; one alone otherwise."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return World()
    distributed = torch.distributed
    if not distributed.is_initialized():
        distributed.init_process_group("gloo", **_rendezvous())
    return World(distributed.get_rank(), distributed.get_world_size())


def _rendezvous() -> dict[str, Any]:
    """Where the processes meet: under a name of its own for each restart, on one machine.

    torchrun keeps one store over its restarts (PyTorch issue 135712), where restarted processes would wait for the addresses
    of dead ones. On several machines restarts are counted differently: there torchrun itself must be told to make a
    new store, by TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1.
    """
    given = os.environ
    if given.get("TORCHELASTIC_USE_AGENT_STORE") != "True" or given.get("GROUP_WORLD_SIZE") != "1":
        return {}
    distributed: Any = torch.distributed
    store = distributed.TCPStore(given["MASTER_ADDR"], int(given["MASTER_PORT"]), is_master=False)
    named = distributed.PrefixStore(f"restart {given['TORCHELASTIC_RESTART_COUNT']}", store)
    return {"store": named, "rank": int(given["RANK"]), "world_size": int(given["WORLD_SIZE"])}


def leave() -> None:
    """Part from the other processes."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class Objective(nn.Module):
    """L(batch), as a module: what is copied or sharded, compiled and called, however a recipe's loss uses the model."""

    def __init__(self, model: nn.Module, loss: Any) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, batch: Any) -> Tensor:
        return self.loss(self.model, batch)


def distribute(objective: Objective, shard: bool) -> nn.Module:
    """The objective over all processes: its parameters copied (DDP) or sharded (FSDP2)."""
    # Each process made the model by itself; on different machines the same seed need not give the same bits.
    for t in (*objective.parameters(), *objective.buffers()):
        torch.distributed.broadcast(t.detach(), 0)
    if not shard:
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(objective)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(next(objective.parameters()).device.type, (torch.distributed.get_world_size(),))
    for blocks in [m for m in objective.modules() if isinstance(m, nn.ModuleList)]:
        for block in blocks:  # gathered when its turn comes, so that one block at a time is whole
            if any(True for _ in block.parameters()):
                fully_shard(block, mesh=mesh)
    fully_shard(objective, mesh=mesh)
    return objective


def check_settings(settings: Any, world: World, goes_on: bool = False) -> None:
    """Settings that need other processes, or cannot be had with them. A run that is sharded may go on in one process."""
    if settings.shard and world.size == 1 and not goes_on:
        raise WorkingsError("shard needs several processes: torchrun --nproc-per-node 2 -m workings train …")
    if settings.shard and settings.optimizer == "muon" and world.size > 1:
        raise WorkingsError("muon needs whole matrices, which shard cuts: use optimizer adamw, or leave out shard.")
    if settings.batch < world.size:
        raise WorkingsError(
            f"A batch of {settings.batch} cannot be split over {world.size} processes: batch is at least that."
        )


def gathered(t: Tensor) -> Tensor:
    """A sharded tensor whole, on every process; others as they are."""
    return t.full_tensor() if hasattr(t, "full_tensor") else t


def local_part(t: Tensor) -> Tensor:
    """The part of a sharded tensor that this process holds."""
    return t.to_local() if hasattr(t, "to_local") else t


def sharded_like(model: Any, value: Tensor) -> Tensor:
    """A whole tensor cut as `model` is, where it is sharded and of the same shape."""
    if not hasattr(model, "full_tensor") or value.shape != model.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(model.device), model.device_mesh, model.placements)
