"""``weights_reject_freq``: of the two most alike filters of a convolution, the first one starts anew.

Source: darknet src/network.c, reject_similar_weights; src/blas.c, cosine_similarity.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from darkpy.events import Line, Sink
from darkpy.layers.convolutional import Convolution, ConvolutionalSpec
from darkpy.network import Network

_MOST_ALIKE = 0.4  # cosine
_FILTER_DRAW = 3  # tag of the random draws
_WITHOUT_PAIR = -1000.0  # darknet's figure for a single filter
_NEAR_HEAD = 3  # a convolution with a head among so many layers after it is left alone


class SimilarFilters:
    """Looks for similar filters every so many iterations, in the first three quarters of a run.

    Args:
        network: Its convolutions are changed.
        emit: Gets darknet's lines.
        seed: Key of the new weights, with iteration and layer.
    """

    def __init__(self, network: Network, emit: Sink, *, seed: int) -> None:
        self.every = network.net.weights_reject_freq
        self.stop = network.net.max_batches * 3 // 4
        self.emit = emit
        self.seed = seed
        self._convolutions = list(_convolutions(network)) if self.every else []

    @torch.no_grad()
    def after_update(self, iteration: int) -> None:
        """Act after update ``iteration``, counted from 1. Waits for the device once a layer."""
        if not self.every or iteration >= self.stop or iteration % self.every:
            return
        for index, module in self._convolutions:
            first, second, likeness = most_alike(module.weight)
            filters = module.weight.shape[0]
            self.emit(
                Line(
                    f" reject_similar_weights: i = {index}, l.n = {filters}, w1 = {first}, w2 = {second}, "
                    f"sim = {likeness:f}, thresh = {_MOST_ALIKE:f} "
                )
            )
            if likeness > _MOST_ALIKE:
                self.emit(Line(" rejecting... "))
                _renew(module, first, np.random.default_rng([self.seed, _FILTER_DRAW, iteration, index]))


def _convolutions(network: Network) -> Iterator[tuple[int, Convolution]]:
    """Yield the convolutions that are looked at, with their indices."""
    for plan, module in zip(network.blueprint.layers, network.layers, strict=True):
        near_head = any(plan.index < head <= plan.index + _NEAR_HEAD for head in network.head_indices)
        if plan.index == 0 or near_head or not isinstance(plan.spec, ConvolutionalSpec):
            continue
        if plan.spec.activation != "linear":
            assert isinstance(module, Convolution)
            yield plan.index, module


def most_alike(weight: Tensor) -> tuple[int, int, float]:
    """Return the two filters with the largest cosine, the lower one first, and that cosine.

    Args:
        weight: (filters, ...). With groups, each filter's own values are compared.
    """
    rows = weight.detach().flatten(1)
    length = rows.norm(dim=1)
    divisor = length.unsqueeze(1) * length
    cosine = torch.where(divisor > 0, rows @ rows.T / divisor, torch.zeros_like(divisor))
    is_pair = torch.ones_like(cosine, dtype=torch.bool).triu(1)
    best = torch.where(is_pair, cosine, _WITHOUT_PAIR).flatten().max(0)
    likeness, place = torch.stack([best.values.double(), best.indices.double()]).tolist()
    return int(place) // rows.shape[0], int(place) % rows.shape[0], likeness


def _renew(module: Convolution, number: int, generator: np.random.Generator) -> None:
    """Draw a filter as at the start of a run; its momentum stays."""
    row = module.weight[number]
    bound = math.sqrt(2 / row.numel())
    row.copy_(torch.from_numpy(generator.uniform(-bound, bound, tuple(row.shape)).astype(np.float32)))
    module.bias[number] = 0
    if module.is_normalized:
        module.scale[number] = 1
