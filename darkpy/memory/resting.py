"""Tensors that are seldom needed, such as momentum: they rest in host memory and come to the device for a moment."""

from collections import deque
from typing import Protocol

import torch
from torch import Tensor

from darkpy.memory.arena import Arena
from darkpy.memory.copies import Copies, Ticket, bytes_of

_SENT = 64 * 2**20  # bytes that may be on their way back to the host


class Rest(Protocol):
    """Where a tensor is between its uses."""

    def load(self) -> Tensor:
        """Return the tensor on the device. What is written to it lasts only after ``store``."""

    def store(self, tensor: Tensor) -> None:
        """Take back what ``load`` returned, with what was written to it since; it must not be written to any more."""


class OnDevice:
    """A tensor that stays where it is.

    Args:
        tensor: It.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def load(self) -> Tensor:
        """As in ``Rest``."""
        return self._tensor

    def store(self, tensor: Tensor) -> None:
        """As in ``Rest``: nothing is to be done."""


class Resting:
    """Gives tensors a place in host memory.

    Args:
        arena: The host memory.
        copies: How bytes get there and back.
    """

    def __init__(self, arena: Arena, copies: Copies) -> None:
        self.arena, self.copies = arena, copies
        self._sent: deque[tuple[Tensor, Ticket]] = deque()  # tensors on their way, the oldest first
        self._sent_bytes = 0

    def __call__(self, like: Tensor) -> "InHostMemory":
        """Return the place of a tensor of zeros, with the sizes, type and device of another.

        Raises:
            MemoryPlanError: If there is no host memory for it.
        """
        place = InHostMemory(like, self)
        place.zero()
        return place

    def park(self, tensor: Tensor) -> "ParkedTensor":
        """Send a tensor to host memory for a while; the caller should let go of it.

        Raises:
            MemoryPlanError: If there is no host memory for it.
        """
        return ParkedTensor(tensor, self)

    def send(self, tensor: Tensor, target: list[Tensor], piece: "InHostMemory") -> None:
        """Begin to copy a tensor to the host; it is held until it is there."""
        self._sent.append((tensor, self.copies.out(bytes_of(tensor), target, piece.written)))
        self._sent_bytes += tensor.untyped_storage().nbytes()
        self.settle(at_most=_SENT)

    def settle(self, *, at_most: int = 0) -> None:
        """Hold no more bytes of tensors that are on their way."""
        while self._sent_bytes > at_most:
            oldest, ticket = self._sent.popleft()
            ticket.wait()
            self._sent_bytes -= oldest.untyped_storage().nbytes()


class InHostMemory:
    """A tensor that rests in host memory. On a CPU that memory itself is lent.

    Args:
        like: For sizes, type and device.
        owner: Has the host memory.
    """

    def __init__(self, like: Tensor, owner: Resting) -> None:
        like = like.detach()
        self._like, self._device, self._owner = torch.empty_like(like, device="meta"), like.device, owner
        self._nbytes = self._like.untyped_storage().nbytes()
        self._piece = owner.arena.take(self._nbytes)
        self.written = self._piece.written

    def zero(self) -> None:
        """Write zeros."""
        for part in self._parts():
            part.zero_()
        self.written(0, self._nbytes)

    @property
    def is_lent(self) -> bool:
        """Whether ``load`` returns the host memory itself."""
        return self._device.type == "cpu" and len(self._parts()) == 1

    def load(self) -> Tensor:
        """As in ``Rest``."""
        if self.is_lent:
            flat = self._parts()[0].view(self._like.dtype)
            return flat.as_strided(self._like.size(), self._like.stride(), flat.storage_offset())
        tensor = torch.empty_like(self._like, device=self._device)
        self._owner.copies.back(self._parts(), bytes_of(tensor), self.written).wait()
        return tensor

    def store(self, tensor: Tensor) -> None:
        """As in ``Rest``."""
        if self.is_lent:
            self.written(0, self._nbytes)
        else:
            self._owner.send(tensor, self._parts(), self)

    def _parts(self) -> list[Tensor]:
        return self._piece.parts(self._nbytes)


class ParkedTensor:
    """A tensor that waits in host memory until it is taken.

    Args:
        tensor: It.
        owner: Has the host memory.
    """

    def __init__(self, tensor: Tensor, owner: Resting) -> None:
        self._place = InHostMemory(tensor, owner)
        if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.element_size():
            tensor = torch.empty_like(tensor).copy_(tensor)  # a view of more, or of less
        if self._place.is_lent:
            self._place.load().copy_(tensor)
        self._place.store(tensor)

    def take(self) -> Tensor:
        """Return the tensor on the device; it belongs to the caller."""
        tensor = self._place.load()
        return tensor.clone() if self._place.is_lent else tensor
