"""Train a network of torchvision, not of darkpy, in the memory tiers 0 to 3.

Any ``nn.Module`` will do: the step's forward and backward run inside ``with memory.step():``, and nothing else changes.
The images are random numbers, and nothing is downloaded. In tiers 2 and 3 a file takes what backward needs; on a GPU
leave it out, and pinned RAM does.

    python scripts/example_torchvision.py [resnet18] [--steps 3]

It prints how much each tier keeps for backward, and how full the file was (tier 3 has gradients there for a while,
too). It ends with 1 unless gradients, weights and statistics are the same bits in all tiers.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
import torchvision
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from darkpy.memory.blocks import blocks_for
from darkpy.memory.saving import SavedActivations
from darkpy.memory.tiers import TIERS, TieredMemory
from darkpy.memory.values import Kept

DEVICE = torch.device("cpu")
CLASSES = 10


def batches(steps: int, images: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images (B, 3, size, size) and their classes (B,), the same in each call."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        yield (
            torch.rand(images, 3, size, size, generator=generator),
            torch.randint(CLASSES, (images,), generator=generator),
        )


def build(name: str) -> nn.Module:
    """Return a network with the same random weights in each call."""
    torch.manual_seed(0)
    return torchvision.models.get_model(name, weights=None, num_classes=CLASSES).to(DEVICE)


def train(name: str, tier: int, file: Path, data: list[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], int]:
    """Return gradients, weights and statistics after the steps, and the bytes that the file held at most."""
    network = build(name)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    blocks = blocks_for(DEVICE, file) if tier >= 2 else None  # on a GPU blocks_for(DEVICE, None): pinned RAM
    memory = TieredMemory(tier, DEVICE, blocks=blocks)
    for images, classes in data:
        optimizer.zero_grad()
        with memory.step():
            F.cross_entropy(network(images.to(DEVICE)), classes.to(DEVICE)).backward()
        optimizer.step()
    nbytes = memory.arena.peak if memory.arena else 0
    memory.close()  # removes the file
    gradients = [one.grad for one in network.parameters() if one.grad is not None]
    return [*gradients, *(one.detach() for one in network.parameters()), *network.buffers()], nbytes


def kept(name: str, tier: int, images: Tensor) -> int:
    """Return the bytes that are kept for backward, wherever they are; each once, weights and statistics left out."""
    network = build(name)
    seen = {one.untyped_storage().data_ptr() for one in (*network.parameters(), *network.buffers())}
    held: list[Tensor] = []  # so that no address comes twice

    def note(tensor: Tensor) -> Tensor:
        address = tensor.untyped_storage().data_ptr()
        if address not in seen:
            seen.add(address)
            held.append(tensor.detach())
        return tensor

    plain = saved_tensors_hooks(note, lambda tensor: tensor)
    with plain if tier == 0 else SavedActivations(lambda tensor: Kept(note(tensor)), recompute_sums=tier >= 3):
        network(images).sum()
    return sum(one.untyped_storage().nbytes() for one in held)


def main() -> int:
    """Train in every tier, and return 0 if all of them end with the same bits."""
    parser = argparse.ArgumentParser(description="Train a network of torchvision in the memory tiers 0 to 3.")
    parser.add_argument("name", nargs="?", default="resnet18", help="of torchvision.models")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--images", type=int, default=8, help="of a step")
    parser.add_argument("--size", type=int, default=96, help="width and height in pixels")
    options = parser.parse_args()
    data = list(batches(options.steps, options.images, options.size))
    print(f"{options.name}, {options.images} images of {options.size}x{options.size}, {options.steps} steps")
    expected: list[Tensor] = []
    all_equal = True
    with tempfile.TemporaryDirectory() as folder:
        for tier in TIERS:
            found, in_file = train(options.name, tier, Path(folder) / "offload.bin", data)
            expected = expected or found
            is_equal = all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
            all_equal &= is_equal
            nbytes = kept(options.name, tier, data[0][0])
            print(
                f"tier {tier}: {nbytes / 1e6:.1f} MB kept for backward, at most {in_file / 1e6:.1f} MB in the file, "
                f"{'the same bits as tier 0' if is_equal else 'OTHER BITS than tier 0'}"
            )
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
