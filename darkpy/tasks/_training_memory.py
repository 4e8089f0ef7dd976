"""The memory tier that a training runs in: ``optimized_memory`` of [net]."""

from pathlib import Path

import torch

from darkpy.cfg.net import NetSpec
from darkpy.memory.blocks import blocks_for
from darkpy.memory.tiers import TieredMemory
from darkpy.tasks._say import say

_OFFLOADING = 2  # the lowest tier that uses host memory
_WHAT = {
    1: "batch norm, activations and pooling are computed again in backward",
    2: "batch norm, activations and pooling are computed again in backward, the rest waits in {place}",
    3: "all but convolutions is computed again in backward, and what they gave waits in {place}",
}


def training_memory(net: NetSpec, device: torch.device) -> TieredMemory:
    """Return the context of a run's steps, and say on stderr what it does.

    Args:
        net: Its tier, and the file that takes the place of RAM.
        device: Where the network is.

    Raises:
        MemoryPlanError: If the file cannot be made.
    """
    tier = net.optimized_memory
    if tier == 0:
        if net.offload_file:
            say(f"[net] offload_file={net.offload_file}: has no effect without optimized_memory=2 or 3.")
        return TieredMemory(0, device)
    place = net.offload_file or "RAM"
    say(f"[net] optimized_memory={tier}: {_WHAT[tier].format(place=place)}; the weights stay the same, bit for bit.")
    if tier < _OFFLOADING:
        return TieredMemory(tier, device)
    if device.type in ("cpu", "mps") and not net.offload_file:
        say("The network is in RAM itself, so that keeping tensors there frees none: offload_file=PATH uses the disk.")
    blocks = blocks_for(device, Path(net.offload_file) if net.offload_file else None)
    return TieredMemory(tier, device, blocks=blocks, say=lambda line: print(f"\n{line}", flush=True))
