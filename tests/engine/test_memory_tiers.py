"""Every tier trains a network to the same bits as tier 0."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from darkpy.cfg.shipped import shipped_folder
from darkpy.cfg.text import parse_sections
from darkpy.layers._base import StepKey
from darkpy.memory.tiers import TieredMemory
from darkpy.network import Network, plan_network, read_blueprint

SQUEEZE_AND_DROP = """
[net]
batch=2
subdivisions=1
width=64
height=64
channels=3
max_batches=10

[convolutional]
batch_normalize=1
filters=16
size=3
stride=2
pad=1
activation=swish

[avgpool]

[convolutional]
filters=8
size=1
activation=swish

[convolutional]
filters=16
size=1
activation=logistic

[scale_channels]
from=0

[dropout]
probability=.2

[convolutional]
batch_normalize=1
filters=16
size=1
activation=linear

[shortcut]
from=0
activation=leaky

[shortcut]
from=-2
weights_type=per_channel
weights_normalization=softmax
activation=linear

[convolutional]
filters=21
size=1
activation=linear

[yolo]
mask=0,1,2
anchors=5,5, 15,15, 40,40
classes=2
num=3
"""


class Ram:
    """Blocks of plain memory."""

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        return torch.empty(nbytes, dtype=torch.uint8)

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


def build(name: str) -> Network:
    torch.manual_seed(3)
    if name == "squeeze and drop":
        path = Path("x.cfg")
        network = Network(plan_network(parse_sections(SQUEEZE_AND_DROP.split("\n"), str(path)), path))
    else:
        network = Network(read_blueprint(shipped_folder("cfg") / name))
    return network.to(memory_format=torch.channels_last)


def trained(name: str, tier: int, *, size: int = 64) -> tuple[dict[str, Tensor], dict[str, Tensor], int]:
    """Return gradients and buffers after three mini-batches, and the bytes that host memory held at most."""
    network = build(name)
    memory = TieredMemory(tier, torch.device("cpu"), blocks=Ram(), window=2**18)
    network.parking = memory.parking
    generator = torch.Generator().manual_seed(5)
    for number in range(3):  # from the second on, the end of forward is known and kept
        images = torch.rand(2, 3, size, size, generator=generator).to(memory_format=torch.channels_last)
        truths = torch.rand(2, 4, 5, generator=generator)
        truths[..., 4] = 1
        network.begin(StepKey(7, number, 0))
        with memory.step():
            network.losses(images, truths)
        assert memory.arena is None or memory.arena.in_use == 0
    peak = memory.arena.peak if memory.arena else 0
    memory.close()
    gradients = {key: one.grad for key, one in network.named_parameters() if one.grad is not None}
    return gradients, dict(network.named_buffers()), peak


NAMES = ["yolov3-tiny.cfg", "yolov4-tiny.cfg", "yolov3-spp.cfg", "yolov4.cfg", "squeeze and drop"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_gradients_and_statistics_of_all_tiers_are_the_same_bits(name: str) -> None:
    gradients, buffers, _ = trained(name, 0)
    assert len(gradients) > 5
    peaks = []
    for tier in (1, 2, 3):
        found, statistics, peak = trained(name, tier)
        assert found.keys() == gradients.keys()
        assert [key for key in found if not torch.equal(found[key], gradients[key])] == []
        assert [key for key in buffers if not torch.equal(statistics[key], buffers[key])] == []
        peaks.append(peak)
    assert peaks[0] == 0
    assert min(peaks[1:]) > 0
