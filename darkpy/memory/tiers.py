"""The tiers: how much of what backward needs stays on the device."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from darkpy.memory.arena import Arena, Blocks
from darkpy.memory.copies import Copies, copies_for
from darkpy.memory.offload import WINDOW, Offload
from darkpy.memory.parking import Parking
from darkpy.memory.resting import Rest, Resting
from darkpy.memory.saving import SavedActivations
from darkpy.memory.suffix import Suffix

TIERS = (0, 1, 2, 3)
OFFLOADING = (2, 3)  # those that use host memory
RESTING = 3  # the lowest that has momentum there, where memory is tight


class TieredMemory:
    """Hands out the context that each step of a training runs in.

    Tier 0 changes nothing. Tier 1 computes batch norm, activations and pooling again in backward. Tier 2 puts what
    is left of the saved tensors into host memory. Tier 3 computes sums and concatenations again, too, and has
    momentum, and gradients that wait long, in host memory where memory is tight.

    Args:
        tier: 0 to 3.
        device: Where the network is.
        blocks: Host memory, for tiers 2 and 3.
        say: Gets a line when a block is full, and for the last one at the end of a step that made one.
        tight: Whether memory at the peak matters more than time: a tensor larger than half of the largest one is not
            fetched ahead then, and loaded or computed twice where it is used twice. In RAM that costs little, so a
            CPU does it anyway.
        window: Bytes of each of the windows of ``Offload``, at least.

    Raises:
        ValueError: If there is no such tier, or it needs host memory and there is none.
    """

    def __init__(
        self,
        tier: int,
        device: torch.device,
        *,
        blocks: Blocks | None = None,
        say: Callable[[str], None] | None = None,
        tight: bool = False,
        window: int = WINDOW,
    ) -> None:
        if tier not in TIERS:
            raise ValueError(f"tier={tier}: must be one of {TIERS}")
        if tier >= 2 and blocks is None:
            raise ValueError(f"tier={tier}: needs blocks of host memory")
        self.tier, self.tight = tier, tight or device.type == "cpu"
        self._suffix = Suffix(tight=self.tight)
        self._blocks = blocks
        self.arena: Arena | None = None
        self._offload: Offload | None = None
        self._copies: Copies | None = None
        self._resting: Resting | None = None
        if tier >= 2 and blocks is not None:
            self.arena = Arena(blocks, say=say)
            self._copies = copies_for(device)
            self._offload = Offload(self.arena, self._copies, tight=self.tight, writing=window, ahead=window)
            if tier >= RESTING and self.tight:
                self._resting = Resting(self.arena, self._copies)

    @property
    def rest(self) -> Callable[[Tensor], Rest] | None:
        """Gives a place in host memory to a tensor that is seldom needed; None where those stay on the device."""
        return self._resting

    @property
    def parking(self) -> Parking | None:
        """Takes gradients of a tensor that wait long for its other readers'; None where they stay on the device."""
        return None if self._resting is None else Parking(self._resting.park)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Run forward and backward of one mini-batch in this context.

        Raises:
            MemoryPlanError: If host memory is short.
        """
        if self.tier == 0:
            yield
            return
        try:
            with self._saving():
                yield
        finally:
            if self._resting is not None:
                self._resting.settle()
            if self._offload is not None:
                self._offload.end()
        if self.arena is not None:
            self.arena.tell_last()

    def _saving(self) -> SavedActivations:
        suffix = None if self.tier == 1 else self._suffix  # there the peak is where forward ends
        return SavedActivations(self._offload, recompute_sums=self.tier >= 3, tight=self.tight, suffix=suffix)

    def close(self) -> None:
        """End what copies, and let the host memory go."""
        if self._copies is not None:
            self._copies.close()
        if self._blocks is not None:
            self._blocks.close()
        self.arena = self._offload = self._blocks = self._resting = None
