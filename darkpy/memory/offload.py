"""Stores tensors in host memory: written while forward goes on, fetched ahead while backward comes back.

Two windows, in bytes, make the peak on the device certain: so much may wait to be written, and so much may be fetched
before it is needed. A tight one never holds a tensor that is larger than half of the step's largest one. Backward asks
in reverse order, so what was stored before the tensor that it asks for comes next. What still waits in the first window
when forward ends is used as it is.
"""

import weakref
from collections import deque

import torch
from torch import Tensor

from darkpy.memory.arena import Arena, Piece
from darkpy.memory.copies import Copies, Ticket, bytes_of

WINDOW = 64 * 2**20  # bytes of each window at least


def ahead_of(largest: int, *, tight: bool, least: int = WINDOW) -> int:
    """Return the bytes that may be fetched ahead in a step whose largest tensor has so many."""
    return max(least, largest // 2 if tight else largest)


class Slot:
    """A tensor in host memory, or on its way there or back.

    Args:
        tensor: With its whole storage, and without history.
        piece: Of host memory, for its bytes.
        offload: Which windows it counts in.
        place: In the order of storing.
    """

    def __init__(self, tensor: Tensor, piece: Piece, offload: "Offload", *, place: int) -> None:
        self.piece, self._offload, self.place = piece, offload, place
        self.size, self.stride = tensor.size(), tensor.stride()
        self.dtype, self.device = tensor.dtype, tensor.device
        self.nbytes = tensor.untyped_storage().nbytes()
        self.is_near = tensor.device.type == "cpu"
        self.tensor: Tensor | None = tensor  # until it is written
        self.written: Ticket = offload.copies.out(bytes_of(tensor), piece.parts(self.nbytes), piece.written)
        self.fetched: tuple[Tensor, Ticket] | None = None

    def load(self, *, is_turn: bool) -> Tensor:
        """Return the tensor, and begin to fetch those that come next if it is its turn."""
        return self._offload.load(self, is_turn=is_turn)

    def let_go(self) -> None:
        """Let the device's memory go, once the tensor is written."""
        if self.tensor is not None:
            self.written.wait()
            self.tensor = None

    def fetch(self) -> None:
        """Begin to fetch the tensor, if it is not on the device or on its way there."""
        if self.tensor is None and self.fetched is None:
            fresh = torch.empty_strided(self.size, self.stride, dtype=self.dtype, device=self.device)
            self.fetched = fresh, self._begin_fetch(fresh)

    def _begin_fetch(self, fresh: Tensor) -> Ticket:
        return self._offload.copies.back(self.piece.parts(self.nbytes), bytes_of(fresh), self.piece.written)

    def __del__(self) -> None:
        for ticket in (self.written, *(() if self.fetched is None else (self.fetched[1],))):
            ticket.wait()  # else the piece, or the memory, would get another owner while it is written


class Offload:
    """Gives tensors a place in host memory: a store for ``SavedActivations``.

    Args:
        arena: The host memory.
        copies: How bytes get there and back.
        tight: As of ``ahead_of``.
        writing: Bytes that may wait on the device to be written, but one tensor always may.
        ahead: Bytes that may be fetched before they are needed, at least.
    """

    def __init__(
        self, arena: Arena, copies: Copies, *, tight: bool = False, writing: int = WINDOW, ahead: int = WINDOW
    ) -> None:
        self.arena, self.copies, self.tight = arena, copies, tight
        self.writing, self.ahead = writing, ahead
        self._largest = 0  # bytes of a tensor of this step
        self._waiting: deque[tuple[weakref.ref[Slot], int]] = deque()  # on the device, with bytes; the oldest first
        self._waiting_bytes = 0
        self._order: list[weakref.ref[Slot]] = []  # as stored

    def __call__(self, tensor: Tensor) -> Slot:
        """Return the slot of a tensor, which is written from now on.

        Raises:
            MemoryPlanError: If there is no host memory for it.
        """
        slot = Slot(tensor, self.arena.take(tensor.untyped_storage().nbytes()), self, place=len(self._order))
        self._order.append(weakref.ref(slot))
        self._largest = max(self._largest, slot.nbytes)
        self._waiting.append((weakref.ref(slot), slot.nbytes))
        self._waiting_bytes += slot.nbytes
        while self._waiting_bytes > self.writing and len(self._waiting) > 1:
            oldest, nbytes = self._waiting.popleft()
            self._waiting_bytes -= nbytes
            written = oldest()
            if written is not None:
                written.let_go()
        return slot

    def load(self, slot: Slot, *, is_turn: bool) -> Tensor:
        """Return a slot's tensor, and begin to fetch those that were stored before it if it is its turn."""
        if slot.tensor is not None:
            if is_turn:
                self._fetch_before(slot)
            return slot.tensor
        slot.fetch()
        assert slot.fetched is not None
        tensor, ticket = slot.fetched
        if is_turn:
            self._fetch_before(slot)
        ticket.wait()
        slot.fetched = None
        return tensor

    def end(self) -> None:
        """Forget the order of a step: the next one begins."""
        self._order.clear()
        self._waiting.clear()
        self._waiting_bytes = self._largest = 0
        self.arena.collect()

    def _fetch_before(self, slot: Slot) -> None:
        """Begin to fetch what was stored before, up to the window."""
        left = ahead_of(self._largest, tight=self.tight, least=self.ahead)
        for place in range(slot.place - 1, -1, -1):
            before = self._order[place]() if place < len(self._order) else None
            if before is None or before.tensor is not None:
                continue
            left -= before.nbytes
            if left < 0:
                return
            before.fetch()
