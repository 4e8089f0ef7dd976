"""Tells what a training takes: after the first iteration, and after the first of a size that took more."""

import torch

from darkpy.events import Event, IterationTrained, MemoryUsed, NetworkResized, Sink
from darkpy.memory.tiers import TieredMemory
from darkpy.memory.usage import Usage, usage
from darkpy.network import Network


class MemoryTeller:
    """A sink that makes events of its own.

    Args:
        network: For its weights and first size.
        memory: The run's.
        device: Where the network is.
        emit: Gets the events.
    """

    def __init__(self, network: Network, memory: TieredMemory, device: torch.device, emit: Sink) -> None:
        self._network, self._memory, self._device, self._emit = network, memory, device, emit
        self.size = (network.net.width, network.net.height)  # that is trained
        self._is_new_size = True
        self._told: Usage | None = None

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case NetworkResized():
                self.size, self._is_new_size = (event.width, event.height), True
            case IterationTrained() if self._is_new_size:
                self._is_new_size = False
                self._tell(event.iteration)

    def _tell(self, iteration: int) -> None:
        found = usage(self._memory, self._device)
        if found == self._told:
            return
        self._told = found
        weights = sum(one.numel() * one.element_size() for one in self._network.parameters())
        self._emit(
            MemoryUsed(
                iteration=iteration,
                width=self.size[0],
                height=self.size[1],
                tier=self._memory.tier,
                weights=weights,
                momentum=weights if self._memory.rest is None else 0,  # else it is in the arena
                device_peak=found.device,
                of_process=self._device.type == "cpu",
                arena=found.arena,
                blocks=found.blocks,
            )
        )
