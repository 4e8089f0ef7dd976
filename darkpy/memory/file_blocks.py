"""Blocks in a file on disk: a machine with little memory can train what does not fit.

The file is mapped, so that its blocks are tensors like others. What was written leaves the process's memory at once;
the system writes it to the disk when it likes. A file that a killed run left behind is recognised by its first bytes
and taken over; any other file is refused.
"""

import errno
import mmap
import os
import shutil
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from darkpy.errors import MemoryPlanError
from darkpy.memory.limits import RESERVE, size_text

MAGIC = b"darkpy offload_file\n"
_HEADER = mmap.ALLOCATIONGRANULARITY  # bytes before the first block; each block must begin at a multiple of it
_ZEROS = 2**20  # bytes that are written at once where a file cannot be extended otherwise
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_REMOVED_BY_SYSTEM = getattr(os, "O_TEMPORARY", 0)  # Windows cannot remove a file that is mapped, but does it later


class FileBlocks:
    """Blocks in a file, which is removed when this is closed or forgotten, or the process ends.

    Blocks that were made can be used as long as anybody holds them.

    Args:
        path: The file; none may be there, but one that a killed run left.

    Raises:
        MemoryPlanError: If there is such a file, or it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _create(path)
        self._end = _HEADER
        self._maps: dict[int, mmap.mmap] = {}  # by address
        self._remove = weakref.finalize(self, _remove, self._file, path, os.getpid())

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        """As in ``Blocks``; the disk's room is taken now, so that it cannot be short later."""
        if not self._remove.alive:
            raise ValueError("the file is closed")
        free = _free(self.path)
        if free is not None and nbytes + more > free - RESERVE:
            there = f"the disk has {size_text(free)} free, {size_text(RESERVE)} of which are left alone"
            raise MemoryPlanError(self._cannot(nbytes + more, there))
        start = self._end
        try:
            _extend(self._file, start, nbytes)
            mapped = mmap.mmap(self._file, nbytes, access=mmap.ACCESS_WRITE, offset=start)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, start)  # what was had of it
            raise MemoryPlanError(self._cannot(nbytes + more, _reason(error))) from error
        self._end += -(-nbytes // _HEADER) * _HEADER
        block = torch.frombuffer(mapped, dtype=torch.uint8)  # keeps the map, which is never closed by hand: under
        self._maps[block.data_ptr()] = mapped  # a living tensor that would be a crash
        return block

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Let a range leave the process's memory, where the system can; it stays in the file."""
        mapped = self._maps.get(block.data_ptr())
        if mapped is None or not hasattr(mapped, "madvise"):
            return
        low = start // mmap.PAGESIZE * mmap.PAGESIZE  # a neighbour's bytes on the same page only have to be read again
        with suppress(OSError):
            mapped.madvise(mmap.MADV_DONTNEED, low, stop - low)

    def close(self) -> None:
        """Remove the file; more blocks cannot be made."""
        self._maps.clear()
        self._remove()

    def _cannot(self, nbytes: int, reason: str) -> str:
        return (
            f"offload_file={self.path}: {size_text(nbytes)} more for what backward needs, beside "
            f"{size_text(self._end - _HEADER)} in use, cannot be had: {reason}. Name a file on a disk with more room, "
            "or set a larger subdivisions= (a smaller mini-batch)."
        )


def _create(path: Path) -> int:
    """Return the descriptor of a new file, or of one that a killed run left."""
    try:
        try:
            file = os.open(path, _FLAGS | _REMOVED_BY_SYSTEM | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _take_over(path)
        with suppress(OSError):  # a disk without locks: then nobody takes it over either
            _lock(file)
        try:
            os.write(file, MAGIC)
        except OSError:  # a full disk
            _remove(file, path, os.getpid())
            raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        mend = "Name a file in a folder that is there and can be written to, on a disk with room."
        raise MemoryPlanError(f"offload_file={path}: cannot be made: {_reason(error)}. {mend}") from error
    return file


def _take_over(path: Path) -> int:
    """Open a file that a killed run left; nobody holds its lock any more.

    Raises:
        MemoryPlanError: If it is something else, or in use.
    """
    mend = "It is never written over: remove it, or name another file."
    if not path.is_file() or path.is_symlink():
        raise MemoryPlanError(f"offload_file={path}: is there already, and no file of its own. {mend}")
    file = os.open(path, _FLAGS)
    try:
        if os.read(file, len(MAGIC)) != MAGIC:
            raise MemoryPlanError(f"offload_file={path}: is there already, and not from an earlier run. {mend}")
        _lock(file)
        os.ftruncate(file, _HEADER)
    except OSError as error:
        os.close(file)
        reason = f"is there already, and another run may be using it ({_reason(error)})"
        raise MemoryPlanError(f"offload_file={path}: {reason}. Name another file, or remove it if none is.") from error
    except MemoryPlanError:
        os.close(file)
        raise
    return file


def _lock(file: int) -> None:
    """Hold a file as long as it is open.

    Raises:
        OSError: If another process holds it, or there are no locks.
    """
    if sys.platform == "win32":
        raise OSError("no locks")
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _extend(file: int, start: int, nbytes: int) -> None:
    """Extend a file by bytes that the disk really has; a mapped hole on a full disk would kill the process.

    Raises:
        OSError: If the disk has not so many.
    """
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, start, nbytes)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # those: this kind of disk cannot
                raise
    zeros = bytes(_ZEROS)
    os.lseek(file, start, os.SEEK_SET)
    left = nbytes
    while left:
        left -= os.write(file, zeros[: min(left, _ZEROS)])


def _free(path: Path) -> int | None:
    """Return the bytes that a disk has free; None if it does not tell."""
    try:
        usage = shutil.disk_usage(path.parent)
    except OSError:
        return None
    return usage.free if usage.total else None


def _remove(file: int, path: Path, owner: int) -> None:
    """Close the file and remove it, if it is still the one at its path, and this process made it."""
    if os.getpid() != owner:  # a fork
        return
    with suppress(OSError):
        if os.path.samestat(os.fstat(file), os.stat(path)):
            path.unlink()
    os.close(file)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return "the process has no addresses left for it (RLIMIT_AS, ulimit -v)"
    return getattr(error, "strerror", None) or str(error)
