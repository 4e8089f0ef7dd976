"""Host memory in blocks of one GiB, from which pieces of any size are taken and given back.

The blocks form one row of addresses: a piece may begin in one block and end in the next, so no block has a rest that
nothing fits into. A block is made when the first piece reaches it. PyTorch rounds pinned memory up to powers of two,
so a block is exactly 2**30 bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Protocol

from torch import Tensor

from darkpy.memory.free_ranges import FreeRanges

BLOCK = 2**30  # bytes
PAGE = 4096  # bytes: pieces begin and end at multiples of it


class Blocks(Protocol):
    """Where blocks come from: pinned memory, plain memory or a file."""

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        """Return a new block, (nbytes,) uint8; its bytes may be anything.

        Args:
            nbytes: Size of the block.
            more: Bytes of further blocks that are wanted next; if they cannot be had, this one is not made either.

        Raises:
            MemoryPlanError: If it cannot be had.
        """

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Take note that a range of a block was written, or given back, and is not needed soon.

        Args:
            block: That this has made.
            start: First byte of the range.
            stop: Behind its last byte.
        """

    def close(self) -> None:
        """Give back what outlives the process's memory, such as a file."""


class Piece:
    """A range of addresses that belongs to whoever holds this; it is given back when nobody does.

    Args:
        arena: Which it is of.
        start: First byte.
        stop: Behind the last byte; a multiple of a page.
    """

    __slots__ = ("__weakref__", "_arena", "start", "stop")

    def __init__(self, arena: "Arena", start: int, stop: int) -> None:
        self._arena, self.start, self.stop = arena, start, stop

    def parts(self, nbytes: int) -> list[Tensor]:
        """Return views of the blocks, uint8, that together are the first ``nbytes`` of the piece.

        Raises:
            ValueError: If the piece is smaller.
        """
        blocks = self._arena._blocks
        return [blocks[block][low:high] for block, low, high in self._ranges(0, nbytes)]

    def written(self, first: int, last: int) -> None:
        """Take note that bytes ``first`` up to ``last`` were written or read, and are not needed soon.

        Raises:
            ValueError: If the piece is smaller.
        """
        for block, low, high in self._ranges(first, last):
            self._arena._source.written(self._arena._blocks[block], low, high)

    def _ranges(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield block, first byte in it, behind the last byte in it."""
        if not 0 <= first <= last <= self.stop - self.start:
            raise ValueError(f"bytes {first} to {last}: the piece has {self.stop - self.start}")
        start, stop, size = self.start + first, self.start + last, self._arena.block_bytes
        while start < stop:
            block, offset = divmod(start, size)
            length = min(stop - start, size - offset)
            yield block, offset, offset + length
            start += length

    def __del__(self) -> None:
        self.written(0, self.stop - self.start)
        self._arena._returned.append((self.start, self.stop))  # in any thread, at any moment: taken back later


class Arena:
    """Pieces of host memory: first fit, neighbours join again. Several threads may take and give back.

    Args:
        blocks: Makes the blocks.
        block_bytes: Size of a block; a multiple of a page.
        say: Gets a line whenever a block is full and the next one begins, as darknet prints it.

    Raises:
        ValueError: If the size of a block is no multiple of a page.

    Source: darknet src/dark_cuda.c, cuda_make_array_pinned_preallocated (the block and its line, nothing else).
    """

    def __init__(self, blocks: Blocks, *, block_bytes: int = BLOCK, say: Callable[[str], None] | None = None) -> None:
        if block_bytes < PAGE or block_bytes % PAGE:
            raise ValueError(f"block_bytes={block_bytes}: must be a multiple of {PAGE}")
        self._source = blocks
        self.block_bytes = block_bytes
        self._say = say
        self._blocks: list[Tensor] = []
        self._free = FreeRanges()
        self._returned: deque[tuple[int, int]] = deque()  # by pieces that died, not yet free
        self._lock = Lock()  # never held while a piece dies: that only adds to the deque
        self._in_use = 0
        self._reached = 0
        self._told = 0  # blocks whose last line was said

    @property
    def blocks(self) -> int:
        """Blocks that were made."""
        return len(self._blocks)

    @property
    def in_use(self) -> int:
        """Bytes of the pieces that somebody holds, in whole pages."""
        self.collect()
        return self._in_use

    @property
    def peak(self) -> int:
        """Bytes from the first address to the highest that was ever in use."""
        return self._reached

    def take(self, nbytes: int) -> Piece:
        """Return a piece of at least ``nbytes``, at the lowest address where it fits.

        Raises:
            MemoryPlanError: If a block that it needs cannot be had; nothing is taken then.
            ValueError: If ``nbytes`` is negative.
        """
        if nbytes < 0:
            raise ValueError(f"nbytes={nbytes}: must not be negative")
        size = max(-(-nbytes // PAGE), 1) * PAGE
        with self._lock:
            self._collect()
            start = self._free.find(size)
            self._reach(start + size)
            self._free.remove(start, size)
            self._in_use += size
        return Piece(self, start, start + size)

    def collect(self) -> None:
        """Take back the pieces that nobody holds any more."""
        with self._lock:
            self._collect()

    def tell_last(self) -> None:
        """Say how full the last block was at most, unless that was said."""
        if self._say is not None and self._told < len(self._blocks):
            self._told = len(self._blocks)
            self._tell(self._told - 1, self._reached - (self._told - 1) * self.block_bytes)

    def _collect(self) -> None:
        while self._returned:
            start, stop = self._returned.popleft()
            self._in_use -= stop - start
            self._free.add(start, stop)

    def _reach(self, address: int) -> None:
        """Make the blocks below an address."""
        while (missing := address - len(self._blocks) * self.block_bytes) > 0:
            further = -(-missing // self.block_bytes) - 1
            block = self._source.make(self.block_bytes, more=further * self.block_bytes)
            if self._blocks and self._say is not None:
                left = len(self._blocks) - 1
                self._tell(left, self.block_bytes - self._holes(left))
            self._blocks.append(block)
        self._reached = max(self._reached, address)

    def _holes(self, block: int) -> int:
        """Return the free bytes of a block, beside those that are about to be taken: the row's free end."""
        low, high = block * self.block_bytes, (block + 1) * self.block_bytes
        return sum(max(min(stop, high) - max(start, low), 0) for start, stop in self._free if start < self._free.rest)

    def _tell(self, block: int, filled: int) -> None:
        if self._say is not None:
            self._say(f" Pinned block_id = {block}, filled = {100 * filled / self.block_bytes:f} % ")
