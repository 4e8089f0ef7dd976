"""Which files have the same bytes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_CHUNK_BYTES = 2**20
MapPaths = Callable[[Callable[[Path], str], Sequence[Path]], Iterable[str]]


def content_keys(paths: Sequence[Path], each: MapPaths) -> list[str]:
    """Return a key for each file; files with the same bytes have the same key. A missing file has one of its own.

    Only files of the same length are read.

    Args:
        paths: The files.
        each: Calls a function for each path and returns the results in order, as ``map`` does.
    """
    lengths = [_length(path) for path in paths]
    often = Counter(lengths)
    doubtful = [path for path, length in zip(paths, lengths, strict=True) if length >= 0 and often[length] > 1]
    digests = dict(zip(doubtful, each(_digest, doubtful), strict=True))
    return [digests.get(path, f"alone {number}") for number, path in enumerate(paths)]


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return -1


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return f"unreadable {path}"
    return digest.hexdigest()
