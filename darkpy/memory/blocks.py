"""Blocks of host memory: plain, or pinned, which a GPU copies to and from beside its work."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from darkpy.errors import MemoryPlanError
from darkpy.memory.arena import Blocks
from darkpy.memory.file_blocks import FileBlocks
from darkpy.memory.limits import ADVICE, Limit, check_room, limits, size_text, soft_limit


def plain(nbytes: int) -> Tensor:
    """Return host memory, (nbytes,) uint8; the system gives each page when it is first written to."""
    return torch.empty(nbytes, dtype=torch.uint8, device="cpu")


def pinned(nbytes: int) -> Tensor:
    """Return host memory that stays where it is, (nbytes,) uint8."""
    return torch.empty(nbytes, dtype=torch.uint8, device="cpu", pin_memory=True)


class PlainBlocks:
    """Blocks of plain host memory.

    Args:
        allocate: Gives memory of a size in bytes.
        bounds: Gives what bounds the memory of this process.
    """

    def __init__(
        self, *, allocate: Callable[[int], Tensor] = plain, bounds: Callable[[], Sequence[Limit]] = limits
    ) -> None:
        self._allocate, self._bounds = allocate, bounds
        self._made = 0  # blocks

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        """As in ``Blocks``."""
        asked = _asked("host memory", nbytes, more, self._made)
        check_room(nbytes + more, self._bounds(), asked=asked)
        try:
            block = self._allocate(nbytes)
        except (RuntimeError, MemoryError) as error:
            raise MemoryPlanError(f"{asked} cannot be had: {_first_line(error)}. {ADVICE}") from error
        self._made += 1
        return block

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Do nothing: memory stays."""

    def close(self) -> None:
        """Do nothing: memory goes with whoever holds it."""


class PinnedBlocks:
    """Blocks of pinned host memory.

    Args:
        allocate: Gives pinned memory of a size in bytes.
        bounds: Gives what bounds the memory of this process.
        of_process: Gives a limit of the process by its name.
    """

    def __init__(
        self,
        *,
        allocate: Callable[[int], Tensor] = pinned,
        bounds: Callable[[], Sequence[Limit]] = limits,
        of_process: Callable[[str], int | None] = soft_limit,
    ) -> None:
        self._allocate, self._bounds, self._of_process = allocate, bounds, of_process
        self._made = 0  # blocks

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        """As in ``Blocks``."""
        asked = _asked("pinned host memory", nbytes, more, self._made)
        check_room(nbytes + more, self._bounds(), asked=asked)
        try:
            block = self._allocate(nbytes)
        except (RuntimeError, MemoryError) as error:
            reason = _first_line(error) + self._memlock((self._made + 1) * nbytes)
            raise MemoryPlanError(f"{asked} cannot be had: {reason}. {ADVICE}") from error
        self._made += 1
        return block

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Do nothing: memory stays."""

    def close(self) -> None:
        """Do nothing: memory goes with whoever holds it."""

    def _memlock(self, wanted: int) -> str:
        """Name the limit of locked memory. Many drivers do not ask for it, so it is no reason not to try."""
        value = self._of_process("RLIMIT_MEMLOCK")
        if value is None or value >= wanted:
            return ""
        return f" (the process may lock {size_text(value)}: RLIMIT_MEMLOCK, ulimit -l)"


def blocks_for(device: torch.device, path: Path | None) -> Blocks:
    """Return where the host memory for a device comes from.

    Args:
        device: Where the network is.
        path: A file that takes the place of memory, if one is wished.

    Raises:
        MemoryPlanError: If the file cannot be made.
    """
    if path is not None:
        return FileBlocks(path)
    return PlainBlocks() if device.type in ("cpu", "mps") else PinnedBlocks()


def _asked(kind: str, nbytes: int, more: int, made: int) -> str:
    before = f" beside the {size_text(made * nbytes)} that are in use" if made else ""
    return f"{size_text(nbytes + more)} of {kind} for what backward needs{before}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".") or type(error).__name__
