"""A command in two processes that train together, as torchrun starts them; a script, since it forks real processes.

    python tests/train/together.py train tiny --steps 12 --shard --out r

torchrun would import PyTorch in three processes, and watch them. Ends with the larger of the two exit codes.
"""

import os
import sys

import torch.distributed

from tests.train import tiny
from workings.cli import main
from workings.train.recipes import RECIPES

PROCESSES = 2


def start(rank: int, port: int) -> int:
    """A process that runs the command; its id."""
    if child := os.fork():
        return child
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(PROCESSES), "TORCHELASTIC_RUN_ID": "none"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GROUP_WORLD_SIZE": "1"}
    os.environ |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    RECIPES["tiny"] = tiny.Tiny()
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    children = [start(rank, store.port) for rank in range(PROCESSES)]
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
