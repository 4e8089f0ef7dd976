"""Files that are replaced whole or not at all."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path``; put it in ``path``'s place once it is complete and on disk."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def is_among(path: Path, others: Iterable[str | Path]) -> bool:
    """Return whether a path is one of the others, however they are spelled: through links, or in another letter case.

    Args:
        path: It need not exist.
        others: They need not exist.
    """
    own, name, place = file_id(path), path.name.lower(), os.path.normcase(os.path.realpath(path))
    for other in others:
        if own is not None and own == file_id(other):
            return True
        if os.path.basename(other).lower() == name and os.path.normcase(os.path.realpath(other)) == place:
            return True
    return False


def file_id(path: str | Path) -> tuple[int, int] | None:
    """Return what is equal for two names of one file or folder; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    return found.st_dev, found.st_ino


def free_name(path: Path) -> Path:
    """Return the first of ``NAME.1.SUFFIX``, ``NAME.2.SUFFIX``, ... that is not taken."""
    number = 1
    while (free := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return free
