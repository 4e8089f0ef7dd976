"""Copies between a device's tensors and host memory, beside the computation.

A ticket stands for one copy. On a CPU a thread copies, and whoever needs the result waits for it. On a GPU two streams
copy, one for each direction, and the computing stream waits for an event, never the host. Nothing uses record_stream:
a tensor is let go only after the computing stream waits for its copy.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import torch
from torch import Tensor

CHUNK = 8 * 2**20  # bytes that one call copies on a CPU: of a file, so much is in memory at a time


Done = Callable[[int, int], None]  # first byte, and behind the last one, of what was copied


class Ticket(Protocol):
    """One copy."""

    def wait(self) -> None:
        """Let what is computed from now on come after the copy."""


class Copies(Protocol):
    """How bytes get from the device to the host and back."""

    def out(self, source: Tensor, target: Sequence[Tensor], done: Done) -> Ticket:
        """Begin to copy bytes of the device to parts of host memory.

        The source must stay as it is, and be referred to, until the ticket was waited for.

        Args:
            source: (N,) uint8.
            target: Parts that are N bytes together.
            done: Told of each range that host memory is not needed for any more for now, if the host copies.
        """

    def back(self, source: Sequence[Tensor], target: Tensor, done: Done) -> Ticket:
        """Begin to copy parts of host memory to bytes of the device; arguments as those of ``out``."""

    def close(self) -> None:
        """End threads."""


class _Future:
    """A copy that a thread makes."""

    __slots__ = ("_future",)

    def __init__(self, future: "Future[None]") -> None:
        self._future = future

    def wait(self) -> None:
        self._future.result()


class ThreadCopies:
    """Copies in one thread, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "darkpy-copies")

    def out(self, source: Tensor, target: Sequence[Tensor], done: Done) -> Ticket:
        """As in ``Copies``."""
        return _Future(self._pool.submit(_scatter, [source], target, done))

    def back(self, source: Sequence[Tensor], target: Tensor, done: Done) -> Ticket:
        """As in ``Copies``."""
        return _Future(self._pool.submit(_gather, source, [target], done))

    def close(self) -> None:
        """End the thread, after the copies that it still has."""
        self._pool.shutdown()


@torch.no_grad()
def _scatter(held: list[Tensor], target: Sequence[Tensor], done: Done) -> None:
    source = held.pop()  # let go before the ticket tells, while the pool still holds its arguments
    offset = 0
    for part in target:
        for start in range(0, part.numel(), CHUNK):
            piece = part[start : start + CHUNK]
            piece.copy_(source[offset : offset + piece.numel()])
            offset += piece.numel()
            done(offset - piece.numel(), offset)


@torch.no_grad()
def _gather(source: Sequence[Tensor], held: list[Tensor], done: Done) -> None:
    target = held.pop()
    offset = 0
    for part in source:
        for start in range(0, part.numel(), CHUNK):
            piece = part[start : start + CHUNK]
            target[offset : offset + piece.numel()].copy_(piece)
            offset += piece.numel()
            done(offset - piece.numel(), offset)


class _Event:
    """A copy that a stream makes; the computing stream is that of whoever waits."""

    __slots__ = ("_event",)

    def __init__(self, event: Any) -> None:
        self._event = event

    def wait(self) -> None:
        torch.accelerator.current_stream().wait_event(self._event)


class StreamCopies:
    """Copies in two streams of an accelerator, one for each direction; host memory must be pinned.

    Args:
        device: The accelerator's.
    """

    def __init__(self, device: torch.device) -> None:
        self._out, self._back = torch.Stream(device), torch.Stream(device)
        self._last_back: Any = None

    def out(self, source: Tensor, target: Sequence[Tensor], done: Done) -> Ticket:
        """As in ``Copies``; it begins when what was computed so far is done."""
        self._out.wait_stream(torch.accelerator.current_stream())
        if self._last_back is not None:  # what is written over may still be read by it
            self._out.wait_event(self._last_back)
        with self._out:
            offset = 0
            for part in target:
                part.copy_(source[offset : offset + part.numel()], non_blocking=True)
                offset += part.numel()
            return _Event(self._out.record_event())

    def back(self, source: Sequence[Tensor], target: Tensor, done: Done) -> Ticket:
        """As in ``Copies``; the target's memory belongs to the computing stream."""
        self._back.wait_stream(torch.accelerator.current_stream())
        self._back.wait_stream(self._out)  # what is read must have arrived
        with self._back:
            offset = 0
            for part in source:
                target[offset : offset + part.numel()].copy_(part, non_blocking=True)
                offset += part.numel()
            self._last_back = self._back.record_event()
        return _Event(self._last_back)

    def close(self) -> None:
        """Do nothing: streams need no end."""


def copies_for(device: torch.device) -> Copies:
    """Return what copies between a device and the host."""
    return ThreadCopies() if device.type in ("cpu", "mps") else StreamCopies(device)


def bytes_of(tensor: Tensor) -> Tensor:
    """Return the (N,) bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, 0, (storage.nbytes(),), (1,))
