"""One real step in a process of its own: prints its memory before and at the peak, in bytes, as JSON.

Run as ``python -m darkpy.tasks._memory_child CFG WIDTH HEIGHT MINI_BATCH TIER TRUTHS OFFLOAD_FILE``.
"""

import json
import sys
from pathlib import Path

import torch

from darkpy.blueprint import read_blueprint
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.layers._base import StepKey
from darkpy.memory.blocks import blocks_for
from darkpy.memory.tiers import OFFLOADING, TieredMemory
from darkpy.memory.usage import of_process
from darkpy.tasks._network import build_network


def main(arguments: list[str]) -> None:
    """Run the step that the words ask for, twice: the second one knows what the first kept."""
    cfg, *numbers, file = arguments
    width, height, mini_batch, tier, objects = map(int, numbers)
    blueprint = read_blueprint(Path(cfg))
    device = torch.device("cpu")
    base = of_process("VmRSS")
    network = build_network(blueprint, device)
    memory = TieredMemory(tier, device, blocks=blocks_for(device, Path(file)) if tier in OFFLOADING else None)
    network.parking = memory.parking
    update = DarknetUpdate(network, rest=memory.rest)
    if memory.rest is None:
        for tensor in update.state().values():
            tensor.fill_(0)  # zeros take no memory before they are written
    images = torch.rand(mini_batch, blueprint.net.channels, height, width)
    images = images.to(memory_format=torch.channels_last)
    truths = torch.rand(mini_batch, objects, 5) * torch.tensor([1, 1, 0.4, 0.4, 0])
    for _ in range(2):
        network.begin(StepKey(0, 0, 0))
        with memory.step():
            network.losses(images, truths)
    memory.close()
    print(json.dumps({"base": base, "peak": of_process("VmHWM")}))


if __name__ == "__main__":
    main(sys.argv[1:])
