"""How many bytes does autograd keep for one image, by tier, beside PyTorch without darkpy's hooks?

Counted with saved_tensors_hooks over forward and loss of a real step: each storage once, the picture included, weights
and running statistics not. The baseline is yolov3-spp at 416 x 416: 382 MB at most in tier 0, 228 in tiers 1 and 2, 165
in tier 3. Beside them stand activations that do not write over their input, and torch's save_on_cpu, which copies a
tensor as often as it is saved (and the weights too, which are not counted here).

    python scripts/bench_memory.py [cfg/yolov3-spp.cfg]
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import click
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from darkpy.blueprint import read_blueprint
from darkpy.layers._base import StepKey
from darkpy.layers.convolutional import Convolution
from darkpy.memory.saving import SavedActivations
from darkpy.memory.values import Kept
from darkpy.network import Network

ROOT = Path(__file__).resolve().parents[1]
BOUNDS = {0: 382, 1: 228, 2: 228, 3: 165}  # MB an image, of yolov3-spp at 416
TRUTHS = 32


class Counter:
    """Counts what is kept.

    Args:
        resident: Tensors that do not count.
        each_time: Whether a storage counts as often as it is saved.
    """

    def __init__(self, resident: list[Tensor], *, each_time: bool = False) -> None:
        self.resident = {tensor.untyped_storage().data_ptr() for tensor in resident}
        self.each_time = each_time
        self.kept: list[Tensor] = []  # held, so that no address comes twice
        self.nbytes = 0

    def note(self, tensor: Tensor) -> Tensor:
        """Count a tensor that autograd saves."""
        storage = tensor.untyped_storage()
        if isinstance(tensor, torch.nn.Parameter):
            return tensor
        if self.each_time:
            self.nbytes += tensor.numel() * tensor.element_size()
        elif storage.data_ptr() not in self.resident:
            self.resident.add(storage.data_ptr())
            self.kept.append(tensor.detach())
            self.nbytes += storage.nbytes()
        return tensor

    def hooks(self) -> AbstractContextManager[object]:
        """Count what autograd itself keeps."""
        return saved_tensors_hooks(self.note, lambda tensor: tensor)

    def tier(self, number: int) -> AbstractContextManager[object]:
        """Count what a tier keeps."""
        if number == 0:
            return self.hooks()
        return SavedActivations(lambda tensor: Kept(self.note(tensor)), recompute_sums=number >= 3)


def saved(network: Network, images: int, size: int, around: AbstractContextManager[object]) -> None:
    """Run forward and the loss."""
    pictures = torch.rand(images, network.net.channels, size, size)
    truths = torch.rand(images, TRUTHS, 5) * torch.tensor([1, 1, 0.4, 0.4, 0])
    network.begin(StepKey(0, 0, 0))
    with around:
        outputs = network(pictures)
        network.head_losses(outputs, truths, (size, size))


def without_in_place(network: Network) -> None:
    """Let leaky activations make new tensors."""
    for module in network.modules():
        if isinstance(module, Convolution) and module.activation(torch.tensor(-1.0)) == torch.tensor(-0.1):
            module.activation = lambda x: F.leaky_relu(x, 0.1)


def measure(
    cfg: Path, images: int, size: int, count: Callable[[Counter], AbstractContextManager[object]], **how: bool
) -> float:
    """Return MB an image."""
    network = Network(read_blueprint(cfg))
    if how.get("fresh"):
        without_in_place(network)
    counter = Counter([*network.parameters(), *network.buffers()], each_time=how.get("each_time", False))
    saved(network, images, size, count(counter))
    return counter.nbytes / 1e6 / images


@click.command()
@click.argument("cfg", type=click.Path(path_type=Path), default=ROOT / "cfg/yolov3-spp.cfg")
@click.option("--size", default=416, show_default=True)
@click.option("--images", default=2, show_default=True)
def main(cfg: Path, size: int, images: int) -> None:
    """Print the table; exit with 1 if a bound of yolov3-spp at 416 does not hold."""
    is_baseline = cfg.name == "yolov3-spp.cfg" and size == 416
    print(f"{cfg.name} at {size}: MB an image that are kept for backward")
    fresh = measure(cfg, images, size, Counter.hooks, fresh=True)
    copied = measure(cfg, images, size, Counter.hooks, each_time=True)
    print(f"  PyTorch, not in place  {fresh:7.1f}")
    print(f"  save_on_cpu            {copied:7.1f}")
    failed = False
    for tier, bound in BOUNDS.items():
        found = measure(cfg, images, size, lambda counter, tier=tier: counter.tier(tier))
        holds = found <= bound
        failed |= is_baseline and not holds
        print(f"  tier {tier}                 {found:7.1f}" + (f"  at most {bound}: {holds}" if is_baseline else ""))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
