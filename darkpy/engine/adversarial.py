"""``adversarial_lr``: pictures that are changed against what the network finds in them, before it trains on them.

Half of the mini-batches get an extra pass without truths whose delta at the picture is added to it, times
adversarial_lr and the share of the run that is done. No parameter takes a gradient from that pass; in darknet the
biases of convolutions without batch norm do, an accident.
Source: darknet src/network_kernels.cu, train_network_datum_gpu, backward_network_gpu.
"""

import numpy as np
import torch
from torch import Tensor

from darkpy.events import Line, Sink
from darkpy.layers._base import StepKey
from darkpy.layers._batch_norm import Normalized
from darkpy.layers._guard import drop
from darkpy.layers._head import DeltaFilter
from darkpy.network import Network

_ADVERSARIAL_DRAW = 4  # tag of the random draws


class Adversary:
    """Changes the pictures of mini-batches.

    Args:
        network: That is trained.
        emit: Gets darknet's lines.
    """

    def __init__(self, network: Network, emit: Sink) -> None:
        self.network = network
        self.net = network.net
        self.emit = emit

    def chooses(self, key: StepKey) -> bool:
        """Return whether a mini-batch is changed: one in two, after burn_in."""
        if not self.net.adversarial_lr or key.iteration <= self.net.burn_in:
            return False
        if self.network.stopped_at(key.iteration) >= 0:  # no gradient gets to the picture
            return False
        draw = np.random.default_rng([key.seed, _ADVERSARIAL_DRAW, key.iteration, key.first_row])
        return bool(draw.random() < 0.5)

    def images(self, images: Tensor, key: StepKey, *, keep: DeltaFilter | None = None) -> Tensor:
        """Return the images to train on.

        Args:
            images: (B, C, H, W) float32, 0..1.
            key: Names the mini-batch.
            keep: Outlier filter of the heads' deltas.
        """
        if not self.chooses(key):
            return images
        rate = self.net.adversarial_lr * key.iteration / self.net.max_batches
        without_truth = images.new_zeros(images.shape[0], 1, 5)
        for module in self.network.layers:  # batch norm by its running statistics, which stay
            if isinstance(module, Normalized):
                module.eval()
        try:
            delta = self.network.image_delta(images, without_truth, keep=keep)
        finally:
            self.network.train()
        if delta is None:
            return images
        self.emit(Line(f"\n adversarial training, adversarial_lr = {rate:f} "))
        return torch.clamp(images + rate * drop(delta), 0, 1)
